"""Acts of operators, as attributes of the items that they changed."""

from __future__ import annotations

from cronce.aws.attributes import FREE_TEXT, INSTANT, Form, Forms, encode, member, read_map
from cronce.core.acts import Act, What

ACT_FORMS: Forms = {"what": member(What), "at": INSTANT, "by": FREE_TEXT, "why": FREE_TEXT}
ACT = Form(
    tag="M",
    write=lambda act: encode(ACT_FORMS, act),
    read=lambda values: Act(**read_map(ACT_FORMS, values)),
)
