"""The local stack behaves as AWS does between the functions.

* P81: what a batch reports as failed comes again with everything after the lowest of it; retries are
  bounded; a batch that failed as a whole is halved.
* P82: the filter is the template's own.
* A killed process reaches AWS no more; others do.
* Its time limits are the template's.
* A job that works for long has its claim renewed on the virtual clock, as in Lambda on the real one.
* Time passes to the minutes that a test names; a table is put back to its start.
* P105: the kit for authors of jobs sees their calls of boto3 outside steps, unless they only read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from cronce import Cron, Run, job
from cronce.testing import ClockRenewal, ManualClock, run_job
from cronce_tools.local.cloud import ProcessKilled
from cronce_tools.local.lambda_context import TIMEOUTS
from cronce_tools.local.stack import LocalStack, local_stack
from cronce_tools.local.template import Template

Record = dict[str, Any]


@pytest.fixture
def stack() -> Iterator[LocalStack]:
    with local_stack(datetime(2026, 1, 5, tzinfo=UTC)) as running:
        yield running


def put(number: int, *, status: str = "PENDING", dispatch: str = "stream") -> None:
    item = {
        "pk": {"S": "JOB#menu"},
        "sk": {"S": f"RUN#2026-01-05T00:{number:02}:00Z"},
        "status": {"S": status},
        "dispatch": {"S": dispatch},
    }
    boto3.client("dynamodb").put_item(TableName="runs", Item=item)


def minutes(records: list[Record]) -> list[int]:
    return [int(record["dynamodb"]["Keys"]["sk"]["S"][18:20]) for record in records]


def failures(*records: Record) -> dict[str, Any]:
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
    return {"batchItemFailures": [{"itemIdentifier": number} for number in numbers]}


def test_p82_the_filter_is_the_templates_own(stack: LocalStack) -> None:
    put(1)
    put(2, status="RUNNING")
    put(3, dispatch="sweep")
    assert minutes(stack.stream.next_batch()) == [1]
    assert stack.stream.next_batch() == []


def test_p81_everything_from_the_lowest_failed_record_on_comes_again(stack: LocalStack) -> None:
    for number in range(1, 6):
        put(number)
    batch = stack.stream.next_batch()
    stack.stream.report(batch, failures(batch[4], batch[2]))
    again = [minutes(stack.stream.next_batch()) for _ in range(2)]
    assert [number for part in again for number in part] == [3, 4, 5]


def test_p81_a_batch_that_failed_as_a_whole_is_halved(stack: LocalStack) -> None:
    for number in range(1, 5):
        put(number)
    stack.stream.report(stack.stream.next_batch(), None)
    assert minutes(stack.stream.next_batch()) == [1, 2]
    assert minutes(stack.stream.next_batch()) == [3, 4]


def test_p81_a_record_that_always_fails_is_given_up_and_the_next_one_goes_on(stack: LocalStack) -> None:
    put(1)
    put(2)
    seen = []
    while batch := stack.stream.next_batch():
        seen.append(minutes(batch))
        bad = [record for record in batch if minutes([record]) == [1]]
        stack.stream.report(batch, failures(*bad) if bad else {"batchItemFailures": []})
        assert len(seen) < 20
    retries = int(Template.load().mapping()["MaximumRetryAttempts"])
    assert minutes(stack.stream.given_up) == [1]
    assert seen.count([1]) == retries + 1
    assert seen[-1] == [2]


def test_a_mapping_that_is_switched_off_keeps_its_records(stack: LocalStack) -> None:
    stack.stream.enabled = False
    put(1)
    assert stack.stream.next_batch() == []
    stack.stream.enabled = True
    assert minutes(stack.stream.next_batch()) == [1]


def test_the_stream_goes_on_after_a_cancelled_transaction(stack: LocalStack) -> None:
    put(1)
    assert minutes(stack.stream.next_batch()) == [1]
    client = boto3.client("dynamodb")
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(
            TransactItems=[
                {
                    "ConditionCheck": {
                        "TableName": "runs",
                        "Key": {"pk": {"S": "absent"}, "sk": {"S": "absent"}},
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                }
            ]
        )
    put(2)
    assert minutes(stack.stream.next_batch()) == [2]


def test_a_killed_process_reaches_aws_no_more_and_others_do(stack: LocalStack) -> None:
    client = boto3.client("dynamodb")
    tables = client.list_tables()["TableNames"]
    with stack.cloud.process("worker") as worker:
        with pytest.raises(ProcessKilled):
            stack.cloud.kill()
        with pytest.raises(ProcessKilled, match="worker"):
            client.list_tables()
    assert worker.killed
    assert {"runs", "steps"} <= set(client.list_tables()["TableNames"]) == set(tables)


def test_what_a_job_or_its_test_prints_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    with local_stack(datetime(2026, 1, 5, tzinfo=UTC)) as running:
        sys.stdout.write("{'day': 3}\n")
        sys.stdout.write('{"message": "of a handler"}\n')
    assert capsys.readouterr().out == "{'day': 3}\n"
    assert running.console.lines == [{"message": "of a handler"}]


def test_the_time_limits_are_the_templates() -> None:
    template = Template.load()
    limits = {name: template.properties(f"{name.title()}Function")["Timeout"] for name in TIMEOUTS}
    assert limits == {**TIMEOUTS, "executor": {"Ref": "ExecutorTimeout"}}


def test_a_claim_is_renewed_when_a_job_works_and_not_when_real_time_passes() -> None:
    clock = ManualClock(datetime(2026, 1, 5, tzinfo=UTC))
    renewal = ClockRenewal(clock)
    outer: list[datetime] = []
    inner: list[datetime] = []

    def renewed(times: list[datetime]) -> bool:
        times.append(clock.now())
        return True

    with renewal.renewing(lambda: renewed(outer)):
        renewal.work(timedelta(seconds=15))
        with renewal.renewing(lambda: renewed(inner)):
            renewal.work(timedelta(seconds=30))
        renewal.work(timedelta(seconds=30))
    renewal.work(timedelta(minutes=1))

    start = datetime(2026, 1, 5, tzinfo=UTC)
    assert [int((time - start).total_seconds()) for time in inner] == [35]
    assert [int((time - start).total_seconds()) for time in outer] == [50, 70]
    assert clock.now() == start + timedelta(seconds=135)


def test_time_passes_to_the_minutes_that_a_test_names(stack: LocalStack) -> None:
    minutes = [datetime(2026, 1, 5, 0, 5, tzinfo=UTC), datetime(2026, 1, 5, 9, 0, 30, tzinfo=UTC)]
    ticks: list[datetime] = []
    stack.cloud.hooks.append(lambda call: ticks.append(stack.clock.now()))
    stack.play_at(*minutes)
    stack.play()
    assert sorted({tick.isoformat(timespec="seconds")[11:19] for tick in ticks}) == [
        "00:05:04",
        "09:00:04",
        "09:01:04",
    ]


def test_a_table_is_emptied_by_its_name_or_that_of_the_template(stack: LocalStack) -> None:
    for name in ("runs", "RunsTable"):
        put(1)
        put(2)
        stack.empty(name)
        assert boto3.client("dynamodb").scan(TableName="runs")["Items"] == []


def test_p105_calls_of_boto3_outside_steps_are_effects_unless_they_only_read(stack: LocalStack) -> None:
    @job("menu", schedule=Cron("0 6 * * *"))
    def menu(run: Run) -> None:
        client = boto3.client("dynamodb")
        client.scan(TableName="runs")
        run.step("put", put, 1)
        client.get_item(TableName="runs", Key={"pk": {"S": "a"}, "sk": {"S": "b"}})
        put(2)

    result = run_job(menu)
    assert result.status == "SUCCEEDED"
    assert list(result.outside.values()) == ["calls AWS: PutItem"]
    assert "test_local_stack.py" in next(iter(result.outside))
