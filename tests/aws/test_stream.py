"""Stream events of the Runs table.

Invariants:
- every run that became PENDING with dispatch = stream is returned once, in order, with its sequence number;
- a record that asks for nothing starts nothing, also when the mapping's filter let it through;
- a malformed record takes no other record with it, and says what is wrong.
"""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

from cronce.aws.stream import MalformedRecord, StreamBatch, StreamedRun, in_stream_order, read_batch
from cronce.core.errors import EventError
from cronce.core.records import RunRef

RUN = RunRef("daily-menu", datetime(2026, 3, 8, 11, tzinfo=UTC))


def record(
    number: int = 1, *, pk: str = "JOB#daily-menu", sk: str = "RUN#2026-03-08T11:00:00Z", **image: str
) -> dict[str, Any]:
    """A record as Lambda hands it over: a run that became PENDING."""
    shown = {"status": "PENDING", "dispatch": "stream", **image}
    keys = {"pk": {"S": pk}, "sk": {"S": sk}}
    return {
        "eventID": f"event-{number}",
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-central-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1772967600,
            "Keys": keys,
            "NewImage": {**keys, **{name: {"S": value} for name, value in shown.items()}, "rev": {"N": "1"}},
            "SequenceNumber": f"1000{number}",
            "SizeBytes": 412,
            "StreamViewType": "NEW_IMAGE",
        },
        "eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/Runs/stream/1",
    }


def event(*records: Any) -> dict[str, Any]:
    """What Lambda hands over, having been through JSON."""
    loaded: dict[str, Any] = json.loads(json.dumps({"Records": records}))
    return loaded


def test_runs_are_returned_in_order_with_their_sequence_numbers() -> None:
    manual = RunRef("daily-menu", RUN.scheduled_at, "a1b2")

    batch = read_batch(event(record(1), record(2, sk=f"RUN#{manual.key}")))

    assert batch == StreamBatch(
        runs=(
            StreamedRun(sequence_number="10001", ref=RUN),
            StreamedRun(sequence_number="10002", ref=manual),
        )
    )


def test_a_modified_run_is_started_like_a_new_one() -> None:
    changed = record()
    changed["eventName"] = "MODIFY"

    assert [run.ref for run in read_batch(event(changed)).runs] == [RUN]


@pytest.mark.parametrize(
    "ignored",
    [
        pytest.param(record(dispatch="sweep"), id="i22 the sweep's own write"),
        pytest.param(record(status="RUNNING"), id="p79 a claimed run"),
        pytest.param(record(status="SUCCEEDED"), id="p79 a finished run"),
        pytest.param(record(sk="JOB"), id="p77 a job"),
        pytest.param(record(sk="GAP#2026-03-08T11:00:00Z#2026-03-08T11:09:00Z#late"), id="p77 a gap"),
        pytest.param(record(sk="QUEUE#2026-03-08T11:00:00Z"), id="p77 a queue marker"),
        pytest.param(record(sk="ALERT"), id="p77 an alert"),
        pytest.param(record(pk="SCHEDULER", sk="LEASE"), id="p77 the lease"),
        pytest.param(record(pk="LEASE#daily-menu", sk="LEASE"), id="p77 a job's own lease"),
        pytest.param(record(pk="SCHEDULER", sk="REGISTRY"), id="p77 the registry"),
    ],
)
def test_what_asks_for_nothing_is_left_out(ignored: dict[str, Any]) -> None:
    batch = read_batch(event(ignored, record(2)))

    assert ([run.ref for run in batch.runs], batch.malformed, batch.ignored) == ([RUN], (), 1)


def test_p78_an_expired_run_that_was_deleted_starts_nothing() -> None:
    deleted = record()
    deleted["eventName"] = "REMOVE"
    del deleted["dynamodb"]["NewImage"]

    assert read_batch(event(deleted)) == StreamBatch(ignored=1)


def without(path: str) -> dict[str, Any]:
    """A record that lacks something."""
    broken = deepcopy(record())
    *parents, last = path.split(".")
    holder = broken
    for parent in parents:
        holder = holder[parent]
    del holder[last]
    return broken


@pytest.mark.parametrize(
    "broken, number, says",
    [
        pytest.param(without("dynamodb"), None, "without dynamodb", id="no change"),
        pytest.param(without("dynamodb.Keys"), "10001", "without Keys", id="no keys"),
        pytest.param(
            without("dynamodb.Keys.sk"), "10001", "attribute sk is not a text: nothing", id="no sort key"
        ),
        pytest.param(without("dynamodb.NewImage"), "10001", "without NewImage", id="no image"),
        pytest.param(without("dynamodb.NewImage.status"), "10001", "attribute status", id="no status"),
        pytest.param(without("dynamodb.NewImage.dispatch"), "10001", "attribute dispatch", id="no dispatch"),
        pytest.param(without("dynamodb.SequenceNumber"), None, "no SequenceNumber", id="no sequence number"),
        pytest.param(record(sk="RUN#yesterday"), "10001", "'RUN#yesterday' names no run", id="no instant"),
        pytest.param(record(sk="RUN#2026-02-30T11:00:00Z"), "10001", "2026-02-30", id="no such date"),
        pytest.param(record(pk="JOB#Daily Menu"), "10001", "'JOB#Daily Menu'", id="no job name"),
        pytest.param(record(pk="daily-menu"), "10001", "does not begin with JOB#", id="no job"),
        pytest.param("record", None, "without dynamodb: a str", id="no record"),
        pytest.param(
            {"dynamodb": {"Keys": {"pk": {"N": "7"}}}}, None, "attribute pk is not a text", id="a number"
        ),
    ],
)
def test_a_malformed_record_says_what_is_wrong_and_takes_no_other_with_it(
    broken: Any, number: str | None, says: str
) -> None:
    batch = read_batch(event(broken, record(2)))

    assert [run.sequence_number for run in batch.runs] == ["10002"]
    (malformed,) = batch.malformed
    assert isinstance(malformed, MalformedRecord)
    assert malformed.sequence_number == number
    assert says in malformed.reason


@pytest.mark.parametrize(
    "broken",
    [
        {"dynamodb": "x" * 100_000},
        {"x" * 100_000: 1},
        {f"{number:0100}": 1 for number in range(1000)},
        record(sk="RUN#" + "x" * 1000),
    ],
    ids=["value", "name", "names", "key"],
)
def test_a_reason_stays_short(broken: Any) -> None:
    batch = read_batch(event(broken))

    assert len(batch.malformed[0].reason) < 500


@pytest.mark.parametrize("part", ["Keys", "NewImage", "NewImage.status", "Keys.sk"])
def test_a_reason_never_shows_what_a_run_was_given(part: str) -> None:
    broken = without(f"dynamodb.{part}")
    broken["dynamodb"].setdefault("NewImage", {})["input"] = {"S": '{"token": "hunter2"}'}

    (malformed,) = read_batch(event(broken)).malformed
    assert "hunter2" not in malformed.reason


@pytest.mark.parametrize(
    "other, says",
    [
        pytest.param(None, "it is nothing", id="nothing"),
        pytest.param([record()], "no list", id="a list"),
        pytest.param({}, "an empty mapping", id="empty"),
        pytest.param({"Records": "x"}, "a mapping of 'Records'", id="records are a text"),
        pytest.param(
            {"run": "daily-menu@2026-03-08T11:00:00Z"}, "a mapping of 'run'", id="the executor's event"
        ),
        pytest.param(
            {"Records": [{"eventSource": "aws:sqs", "body": "{}"}]}, "'aws:sqs'", id="a queue's event"
        ),
    ],
)
def test_an_event_that_is_no_stream_event_is_refused(other: object, says: str) -> None:
    with pytest.raises(EventError, match="not the event of a DynamoDB stream") as raised:
        read_batch(other)

    assert says in str(raised.value)


def test_an_empty_batch_is_empty() -> None:
    assert read_batch(event()) == StreamBatch()


def test_sequence_numbers_are_put_in_the_order_of_numbers_and_what_is_none_fails_nothing() -> None:
    numbers = ["1100000000017450000001", "99", "100", "0098", "not-a-number", ""]

    ordered = in_stream_order(numbers)

    assert sorted(ordered) == sorted(numbers)
    assert [number for number in ordered if number.isdecimal()] == [
        "0098",
        "99",
        "100",
        "1100000000017450000001",
    ]
