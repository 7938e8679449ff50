"""`cronce backfill`.

* Every time that was asked for is told with what becomes of it; a dry run changes nothing.
* More than a few runs are asked about first; the runs are made oldest first and wait their turn.
* One that breaks off, for whatever reason, says how far it came, in JSON too.
* Given again it makes nothing twice; what has a record is left alone, and what lies in a gap unless asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from cronce.core.run import RunStatus, Trigger
from cronce_tools.cli import asking
from cronce_tools.cli.stack_choice import Target
from cronce_tools.cli.stacks import reach
from cronce_tools.cli.working_copy import WorkingCopy
from cronce_tools.local.cloud import Call as AwsCall
from cronce_tools.local.stack import MANY, LocalStack
from tests.cli.conftest import JOBS, START, stack_with
from tests.cli.terminal import cronce

HERE = "cronce-local (us-east-1)"
HOUR = timedelta(hours=1)
FRIDAY = ("--from", "2026-10-30", "--to", "2026-10-30")


@pytest.fixture
def friday(tmp_path: Path) -> Iterator[LocalStack]:
    """Ten o'clock runs, then no tick comes until after noon: 11:00 lies in a gap, 12:00 runs."""
    with stack_with(tmp_path, JOBS) as running:
        running.play(minutes=2)
        running.clock.set(START + 2 * HOUR + timedelta(minutes=1))
        running.play()
        yield running


def made(stack: LocalStack) -> list[str]:
    return [run.ref.key for run in stack.runs("hourly") if run.trigger is Trigger.BACKFILL]


def test_what_becomes_of_each_time_is_told_and_a_dry_run_changes_nothing(friday: LocalStack) -> None:
    said = cronce("backfill", "hourly", *FRIDAY, "--dry-run")

    assert said.code == 0
    assert said.lines == [
        "local times what becomes of it",
        "Fri 2026-10-30 00:00 UTC to Fri 2026-10-30 09:00 UTC 10 gets a run",
        "Fri 2026-10-30 10:00 UTC 1 has a record: SUCCEEDED",
        "Fri 2026-10-30 11:00 UTC 1 has a record: SKIPPED(superseded)",
        "Fri 2026-10-30 12:00 UTC 1 has a record: SUCCEEDED",
        "Fri 2026-10-30 13:00 UTC to Fri 2026-10-30 23:00 UTC 11 has not come",
        f"10 runs would be made in {HERE}",
    ]
    assert made(friday) == []


def test_the_runs_are_made_and_wait_their_turn_and_nothing_is_made_twice(friday: LocalStack) -> None:
    said = cronce("backfill", "hourly", *FRIDAY, "--reason", "the till was closed")

    assert said.code == 0
    assert said.lines[-1] == f"made 10 runs in {HERE}; each waits its turn"
    assert said.err == "10 of 10\n"
    assert made(friday) == [f"2026-10-30T{hour:02}:00:00Z" for hour in range(10)]
    friday.settle()
    assert {run.status for run in friday.runs("hourly")} == {RunStatus.SUCCEEDED, RunStatus.SKIPPED}

    again = cronce("backfill", "hourly", *FRIDAY)

    assert (again.code, again.lines[-1]) == (0, "there is nothing to make")
    assert len(made(friday)) == 10


def test_a_single_instant_is_a_range_of_one(friday: LocalStack) -> None:
    one = ("--from", "2026-10-30T09:00Z", "--to", "2026-10-30T09:00Z")
    assert cronce("backfill", "hourly", *one).lines[-1] == f"made 1 run in {HERE}; each waits its turn"
    assert made(friday) == ["2026-10-30T09:00:00Z"]


def test_times_in_gaps_are_run_only_if_that_is_asked(friday: LocalStack) -> None:
    friday.clock.set(START + 5 * HOUR + timedelta(minutes=1))
    friday.play()
    gap = ("--from", "2026-10-30T13:00Z", "--to", "2026-10-30T14:00Z")
    left_alone = cronce("backfill", "hourly", *gap)
    assert left_alone.lines[1:] == [
        "Fri 2026-10-30 13:00 UTC to Fri 2026-10-30 14:00 UTC 2 lies in a gap (--gaps runs it): superseded",
        "there is nothing to make",
    ]
    assert cronce("backfill", "hourly", *gap, "--gaps").lines[-1].startswith("made 2 runs")
    assert made(friday) == ["2026-10-30T13:00:00Z", "2026-10-30T14:00:00Z"]


def test_many_runs_are_asked_about_first(friday: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    many = ("backfill", "hourly", "--from", "2026-10-29T22:00Z", "--to", "2026-10-30T09:00Z")
    refused = cronce(*many)
    assert refused.code == 2
    assert f"this makes 12 runs of hourly in {HERE}: nobody is there to be asked" in refused.err
    monkeypatch.setattr(asking, "somebody_is_there", lambda: True)
    assert cronce(*many, typed="n\n").code == 1
    assert made(friday) == []
    assert cronce(*many, typed="y\n").code == 0
    assert len(made(friday)) == 12
    monkeypatch.undo()


def test_yes_agrees_beforehand(friday: LocalStack) -> None:
    said = cronce("backfill", "hourly", "--from", "2026-10-29T22:00Z", "--to", "2026-10-30T09:00Z", "--yes")
    assert (said.code, len(made(friday))) == (0, 12)


def test_the_answer_in_json(friday: LocalStack) -> None:
    document = cronce(
        "backfill", "hourly", "--from", "2026-10-30T09:00Z", "--to", "2026-10-30T10:00Z", "--json"
    ).json
    assert list(document) == ["stack", "region", "now", "job", "times", "made", "done", "of"]
    assert document["made"] == ["hourly@2026-10-30T09:00:00Z"]
    assert (document["done"], document["of"]) == (1, 1)
    assert document["times"] == [
        {
            "at": "2026-10-30T09:00:00Z",
            "at_local": "2026-10-30T09:00:00+00:00",
            "fate": "create",
            "detail": None,
        },
        {
            "at": "2026-10-30T10:00:00Z",
            "at_local": "2026-10-30T10:00:00+00:00",
            "fate": "record",
            "detail": "SUCCEEDED",
        },
    ]


def breaks_off(stack: LocalStack, after: int, why: BaseException) -> None:
    """No write that makes a run goes through after so many."""
    writes = iter(range(MANY))

    def fail(call: AwsCall) -> None:
        if call.operation == "TransactWriteItems" and next(writes) >= after:
            raise why

    stack.cloud.hooks.append(fail)


@pytest.mark.parametrize(
    "why, code, complaint",
    [
        (
            ClientError({"Error": {"Code": "ExpiredToken", "Message": "no"}}, "x"),
            3,
            "credentials have expired",
        ),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=["store", "Ctrl-C"],
)
def test_one_that_breaks_off_says_how_far_it_came(
    friday: LocalStack, why: BaseException, code: int, complaint: str
) -> None:
    breaks_off(friday, 3, why)
    said = cronce("backfill", "hourly", *FRIDAY, "--json")

    assert said.code == code
    assert (
        "stopped: 3 of 10 done, 3 runs made, perhaps one more; the same command does the others\n" in said.err
    )
    assert complaint in said.err
    assert said.json["made"] == [f"hourly@{key}" for key in made(friday)]
    assert (said.json["done"], said.json["of"], len(said.json["made"])) == (3, 10, 3)

    friday.cloud.hooks.clear()
    again = cronce("backfill", "hourly", *FRIDAY)
    assert again.lines[-1] == f"made 7 runs in {HERE}; each waits its turn"


def test_times_that_somebody_else_was_first_with_are_not_told_as_still_to_make(friday: LocalStack) -> None:
    def be_first(call: AwsCall) -> None:
        if call.operation == "TransactWriteItems" and be_first in friday.cloud.hooks:
            friday.cloud.hooks.remove(be_first)
            operations = reach(Target(stack="cronce-local"), WorkingCopy(Path()).job_of).operator.operations
            plan = operations.preview("hourly", START - HOUR, START)
            assert [filled.created for filled in operations.backfill(plan, by="bob", why="")] == [True]

    friday.cloud.hooks.append(be_first)
    said = cronce("backfill", "hourly", "--from", "2026-10-30T09:00Z", "--to", "2026-10-30T09:00Z")
    assert (said.code, said.lines[-1]) == (0, "nothing is left to make: somebody else was first")
