"""Alerts as items, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cronce.aws.attributes import (
    COUNT,
    EPOCH,
    FREE_TEXT,
    INSTANT,
    TEXT,
    Form,
    Forms,
    Item,
    decode,
    encode,
    member,
    optional,
    read_attribute,
    read_map,
)
from cronce.aws.items_act import ACT
from cronce.aws.items_run import due_place
from cronce.aws.keys import SHAPED, alert_key
from cronce.core.alerts import SCHEDULER, Alert, Trouble, TroubledTime
from cronce.core.run import DueKind

TIME_FORMS: Forms = {
    "scheduled_at": INSTANT,
    "trouble": member(Trouble),
    "detail": FREE_TEXT,
    "job": FREE_TEXT,
    "suffix": FREE_TEXT,
    "ended_at": optional(INSTANT),
}
TIMES = Form(
    tag="L",
    write=lambda times: [{"M": encode(TIME_FORMS, time)} for time in times],
    read=lambda times: tuple(TroubledTime(**read_map(TIME_FORMS, time["M"])) for time in times),
)
ALERT_FORMS: Forms = {
    "since": INSTANT,
    "times": TIMES,
    "count": COUNT,
    "closed_at": optional(INSTANT),
    "closed_because": optional(TEXT),
    "act": optional(ACT),
    "notified_at": optional(INSTANT),
    "sending_until": optional(INSTANT),
    "reminders": COUNT,
    "due_at": optional(INSTANT),
    "forget_at": optional(EPOCH),
    "rev": COUNT,
}
"""Every field of `Alert` but its scope, which is the key."""


def alert_item(alert: Alert, rev: int) -> Item:
    """An alert as it is stored.

    Args:
        alert: the alert.
        rev: the number of its writes, this one included.
    """
    item = encode(ALERT_FORMS, replace(alert, rev=rev))
    return {**alert_key(alert.scope), **SHAPED, **item, **due_place(DueKind.ALERT, item.get("due_at"))}


def read_alert(item: Mapping[str, Any]) -> Alert:
    """An alert.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    pk = read_attribute(item, "pk", TEXT)
    scope = SCHEDULER if pk == SCHEDULER else pk.removeprefix("JOB#")
    return Alert(scope=scope, **decode(ALERT_FORMS, item))
