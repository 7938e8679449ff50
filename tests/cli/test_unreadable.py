"""What the commands say where an item of the ledger cannot be read, because a hand has edited it.

* Its time is unreadable, not unrecorded, and the answer names the item.
* A list of runs says what it leaves out.
* It accounts for its times: a backfill and a rewind leave them alone, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import boto3
import pytest

from cronce_tools.local.stack import LocalStack
from tests.cli.conftest import JOBS, START, stack_with
from tests.cli.terminal import cronce, did_run

HOUR = timedelta(hours=1)
RUN = "RUN#2026-10-30T10:00:00Z"
GAP = "GAP#2026-10-30T11:00:00Z#2026-10-30T12:00:00Z#superseded"


def spoil(sk: str, name: str) -> None:
    boto3.client("dynamodb").update_item(
        TableName="runs",
        Key={"pk": {"S": "JOB#hourly"}, "sk": {"S": sk}},
        UpdateExpression="REMOVE #name",
        ExpressionAttributeNames={"#name": name},
    )


@pytest.fixture
def edited(tmp_path: Path) -> Iterator[LocalStack]:
    """Ten o'clock runs, eleven and twelve lie in a gap, thirteen runs; the first two are edited by hand."""
    with stack_with(tmp_path, JOBS) as running:
        running.play(minutes=2)
        running.clock.set(START + 3 * HOUR + timedelta(minutes=1))
        running.play()
        spoil(RUN, "created_at")
        spoil(GAP, "count")
        yield running


def test_did_run_says_which_item_cannot_be_read(edited: LocalStack) -> None:
    code, (answer,) = did_run("hourly", "2026-10-30T10:00")
    assert code == 1
    problem = f"item JOB#hourly / {RUN} cannot be read: attribute `created_at` is missing"
    assert answer == f"no: Fri 2026-10-30 10:00 UTC unreadable: {problem}"
    code, (answer, *_) = did_run("hourly", "2026-10-30")
    assert "3 unreadable" in answer
    (occurrence,) = cronce("did-run", "hourly", "2026-10-30T11:00", "--json").json["occurrences"]
    assert occurrence["outcome"] == "unreadable"
    assert GAP in occurrence["unreadable"]


def test_the_month_marks_its_day(edited: LocalStack) -> None:
    assert "X unreadable: 3" in cronce("history", "hourly").lines


@pytest.mark.parametrize("status", [[], ["--status", "succeeded"]])
def test_a_list_of_runs_says_what_it_leaves_out(edited: LocalStack, status: list[str]) -> None:
    said = cronce("runs", "hourly", *status)
    assert f"left out, for it cannot be read: item JOB#hourly / {RUN}" in said.err
    assert RUN in cronce("runs", "hourly", *status, "--json").json["unreadable"][0]


def test_an_unfinished_run_that_cannot_be_read_is_not_passed_over(edited: LocalStack) -> None:
    item = {"pk": {"S": "JOB#hourly"}, "sk": {"S": "RUN#2026-10-30T09:00:00Z"}}
    due = {"due_kind": {"S": "pending"}, "due_at": {"S": "2026-10-30T09:00:00.000Z"}}
    boto3.client("dynamodb").put_item(TableName="runs", Item={**item, **due})

    said = cronce("runs", "hourly", "--status", "pending")

    assert "JOB#hourly / RUN#2026-10-30T09:00:00Z" in said.err


def test_a_backfill_and_a_rewind_leave_its_times_alone(edited: LocalStack) -> None:
    times = ("--from", "2026-10-30T10:00Z", "--to", "2026-10-30T12:00Z")
    said = cronce("backfill", "hourly", *times)
    assert said.lines[1].startswith(
        f"Fri 2026-10-30 10:00 UTC 1 what accounts for it cannot be read: item JOB#hourly / {RUN}"
    )
    assert said.lines[-1] == "there is nothing to make"

    said = cronce("rewind", "hourly", "--to", "2026-10-30T10:00Z", "--yes")
    assert said.code != 0
    assert "all of them are accounted for" in said.err
    assert f"item JOB#hourly / {RUN}" in said.err
