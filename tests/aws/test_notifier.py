"""Notices on a topic.

Invariants:
- what people get is what was said, with the attributes that a filter policy or a deduplication needs;
- no text makes SNS refuse a notice: the subject is fitted to its rules, the body to its limit;
- whatever keeps SNS from accepting is a `NotifyError` that names notice and cause.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from botocore.session import get_session
from moto import mock_aws

from cronce.aws.clients import bounded_client
from cronce.aws.notifier import BODY_LIMIT, SnsNotifier, body_text, subject_line
from cronce.core.alerts import NoticeText
from cronce.core.errors import NotifyError
from tests.aws.silence import silent_endpoint

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

NOTICE = NoticeText(
    id="daily-menu/2026-03-08T11:15:00Z/opened",
    subject="daily-menu missed 2026-03-08 06:00 America/New_York",
    body="Job daily-menu did not succeed for 2026-03-08T11:00:00Z.\n\nLook at it: cronce show daily-menu",
    scope="daily-menu",
    kind="opened",
    stack="shop-prod",
    trouble="missed",
)
KEYS: dict[str, Any] = {
    "aws_access_key_id": "testing",
    "aws_secret_access_key": "testing",
    "region_name": "eu-central-1",
}


class Mailbox:
    """A topic with a subscriber."""

    def __init__(self) -> None:
        self.client: SNSClient = bounded_client("sns", **KEYS)
        self._queue = cast("SQSClient", get_session().create_client("sqs", **KEYS))
        self.topic = self.client.create_topic(Name="notices")["TopicArn"]
        self._url = self._queue.create_queue(QueueName="inbox")["QueueUrl"]
        self.client.subscribe(
            TopicArn=self.topic, Protocol="sqs", Endpoint="arn:aws:sqs:eu-central-1:123456789012:inbox"
        )

    def letters(self) -> list[dict[str, Any]]:
        answer = self._queue.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mock_aws():
        yield Mailbox()


def test_p12_a_notice_arrives_with_subject_body_and_attributes(mailbox: Mailbox) -> None:
    SnsNotifier(lambda: mailbox.client, mailbox.topic).publish(NOTICE)

    (letter,) = mailbox.letters()
    assert (letter["Subject"], letter["Message"]) == (NOTICE.subject, NOTICE.body)
    assert {name: value["Value"] for name, value in letter["MessageAttributes"].items()} == {
        "stack": "shop-prod",
        "scope": "daily-menu",
        "trouble": "missed",
        "kind": "opened",
        "id": NOTICE.id,
    }


def test_i49_a_notice_published_twice_carries_the_same_id(mailbox: Mailbox) -> None:
    notifier = SnsNotifier(lambda: mailbox.client, mailbox.topic)
    notifier.publish(NOTICE)
    notifier.publish(NOTICE)

    assert [letter["MessageAttributes"]["id"]["Value"] for letter in mailbox.letters()] == [NOTICE.id] * 2


@pytest.mark.parametrize(
    "subject, line",
    [
        ("plain", "plain"),
        ("  two\nlines\tand a bell\a ", "two lines and a bell"),
        ("Menü für São Paulo", "Menu fur Sao Paulo"),
        ("daily-menu – missed", "daily-menu missed"),
        ("日本", "cronce"),
        ("", "cronce"),
        ("x" * 99, "x" * 99),
        ("x" * 100, "x" * 96 + "..."),
        ("x" * 5000, "x" * 96 + "..."),
    ],
    ids=["plain", "lines", "accents", "dash", "no ascii", "empty", "99", "100", "5000"],
)
def test_a_subject_is_one_line_of_ascii_under_a_hundred_characters(
    mailbox: Mailbox, subject: str, line: str
) -> None:
    assert subject_line(subject) == line

    SnsNotifier(lambda: mailbox.client, mailbox.topic).publish(replace(NOTICE, subject=subject))
    assert mailbox.letters()[0]["Subject"] == line


@pytest.mark.parametrize(
    "body",
    ["x" * (BODY_LIMIT + 1), "ü" * BODY_LIMIT, "x" + "ü" * BODY_LIMIT],
    ids=["ascii", "two bytes", "cut between"],
)
def test_a_body_that_is_too_long_is_cut_at_a_whole_letter(mailbox: Mailbox, body: str) -> None:
    cut = body_text(body)
    assert BODY_LIMIT - 2 <= len(cut.encode()) <= BODY_LIMIT
    assert (body.startswith(cut.removesuffix("...")), cut.endswith("...")) == (True, True)

    SnsNotifier(lambda: mailbox.client, mailbox.topic).publish(replace(NOTICE, body=body))
    assert mailbox.letters()[0]["Message"] == cut


def test_an_empty_body_is_not_sent_empty(mailbox: Mailbox) -> None:
    SnsNotifier(lambda: mailbox.client, mailbox.topic).publish(replace(NOTICE, body=""))

    assert mailbox.letters()[0]["Message"] == "cronce"


def test_a_topic_that_is_gone_names_notice_and_cause(mailbox: Mailbox) -> None:
    mailbox.client.delete_topic(TopicArn=mailbox.topic)

    with pytest.raises(NotifyError) as raised:
        SnsNotifier(lambda: mailbox.client, mailbox.topic).publish(NOTICE)

    assert NOTICE.id in str(raised.value)
    assert "NotFound" in str(raised.value)


def test_p14_an_sns_that_never_answers_fails_in_bounded_time() -> None:
    with silent_endpoint() as url:
        client = bounded_client(
            "sns", connect_timeout=0.05, read_timeout=0.05, attempts=1, endpoint_url=url, **KEYS
        )

        with pytest.raises(NotifyError, match="ReadTimeoutError"):
            SnsNotifier(lambda: client, "arn:aws:sns:eu-central-1:123456789012:notices").publish(NOTICE)
