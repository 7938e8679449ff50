"""Tells people: one message on the topic for each notice."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

from cronce.aws.clients import FAILURES, told
from cronce.core.alerts import SUBJECT_LIMIT, NoticeText
from cronce.core.errors import NotifyError

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

BODY_LIMIT = 250_000
"""Bytes of a body. SNS takes 256 KB with the attributes; mail servers and people take far less."""
CUT = "..."
ATTRIBUTES = ("stack", "scope", "trouble", "kind", "id")
"""Fields of a notice that its message carries as attributes too."""


class SnsNotifier:
    """`Notifier` on SNS.

    Each message carries the attributes `stack`, `scope` (the job, or SCHEDULER), `trouble` (missed, failed,
    late, ...) and `kind` (opened, reminder, closed) for filter policies, and `id` for recognising a notice
    that comes twice.

    Args:
        client: gives a client made by `cronce.aws.clients.bounded_client("sns")`; asked when it is needed.
        topic_arn: a standard topic.
    """

    def __init__(self, client: Callable[[], SNSClient], topic_arn: str) -> None:
        self._client = client
        self._topic_arn = topic_arn

    def publish(self, notice: NoticeText) -> None:
        """Publish a notice.

        Raises:
            NotifyError: SNS did not say that it accepted.
        """
        values = {name: getattr(notice, name) for name in ATTRIBUTES}
        try:
            self._client().publish(
                TopicArn=self._topic_arn,
                Subject=subject_line(notice.subject),
                Message=body_text(notice.body),
                MessageAttributes={
                    name: {"DataType": "String", "StringValue": value} for name, value in values.items()
                },
            )
        except FAILURES as error:
            raise NotifyError(f"notice {notice.id} was not published: {told(error)}") from error


def subject_line(text: str) -> str:
    """The text as a subject that SNS takes: one line of printable ASCII, not empty, cut if it is too long."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in plain).split())
    if len(line) > SUBJECT_LIMIT:
        line = line[: SUBJECT_LIMIT - len(CUT)] + CUT
    return line or "cronce"


def body_text(text: str) -> str:
    """The text as a body that SNS takes: not empty, cut if it is too long."""
    whole = text.encode()
    if len(whole) > BODY_LIMIT:
        return whole[: BODY_LIMIT - len(CUT)].decode(errors="ignore") + CUT
    return text or "cronce"
