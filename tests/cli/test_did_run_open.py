"""`cronce did-run`, of what is not over, and across clock changes.

* What can still run is not yet a no; it is one once the grace is over.
* A local time finds what stands in for it where the clock skips it, and both where the clock shows it twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3

from cronce.aws.items_run import gap_item
from cronce.core.jobstate import Gap, GapReason
from cronce_tools.local.stack import LocalStack, local_stack
from tests.cli.conftest import START, working_copy
from tests.cli.terminal import cronce, did_run, operations

HOUR = timedelta(hours=1)

NIGHTS = """
from cronce import Cron, job

@job("gap", schedule=Cron("30 2 * * *", tz="America/New_York"))
def gap(run): ...

@job("pair", schedule=Cron("30 1 * * *", tz="America/New_York", dst_repeat="both"))
def pair(run): ...
"""


@contextmanager
def at_night(folder: Path, *minutes: datetime) -> Iterator[LocalStack]:
    with working_copy(folder):
        (folder / "functions/jobs/nights.py").write_text(NIGHTS)
        with local_stack(minutes[0] - 2 * HOUR) as stack:
            stack.play()
            for minute in minutes:
                stack.clock.set(minute - timedelta(minutes=1))
                stack.play()
            yield stack


def test_p58_a_time_that_the_clock_skips_is_found_by_its_own_name(tmp_path: Path) -> None:
    with at_night(tmp_path, datetime(2026, 3, 8, 7, tzinfo=UTC)):
        code, (answer,) = did_run("gap", "2026-03-08T02:30")
        assert code == 0
        assert "Sun 2026-03-08 03:00 EDT ran: gap@2026-03-08T07:00:00Z SUCCEEDED" in answer


def test_p58_a_time_that_is_shown_twice_is_two_answers(tmp_path: Path) -> None:
    passes = (datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 1, 6, 30, tzinfo=UTC))
    with at_night(tmp_path, *passes):
        code, (answer, first, second) = did_run("pair", "2026-11-01T01:30")
        assert code == 0
        assert answer == "yes: 2 of 2 times on Sun 2026-11-01 01:30 (America/New_York) ran"
        assert first.startswith("Sun 2026-11-01 01:30 EDT ran: ")
        assert second.startswith("Sun 2026-11-01 01:30 EST ran: ")


def test_a_gap_of_a_schedule_that_is_gone_counts_for_all_its_times(stack: LocalStack) -> None:
    """The job ran every ten minutes then."""
    stack.play(minutes=3)
    first, last = START - HOUR + timedelta(minutes=12), START - HOUR + timedelta(minutes=52)
    gone = Gap(
        job="hourly", first=first, last=last, count=5, reason=GapReason.PAUSED, created_at=START,
        forget_at=START + 100 * HOUR,
    )  # fmt: skip
    boto3.client("dynamodb").put_item(TableName="runs", Item=gap_item(gone))

    code, (answer, *_) = did_run("hourly", "2026-10-30")

    assert code == 1
    assert answer.startswith("no: 1 of 29 times on Fri 2026-10-30 (UTC) ran,")
    assert "5 skipped" in answer


def test_a_time_that_nobody_planned_in_time_was_missed(stack: LocalStack) -> None:
    stack.play(minutes=3)
    stack.clock.set(START + 24 * HOUR + timedelta(minutes=3))
    assert did_run("menu", "2026-10-31") == (
        1,
        ["not yet: Sat 2026-10-31 06:00 EDT due: no tick has planned it yet"],
    )
    stack.clock.set(START + 25 * HOUR)
    assert did_run("menu", "2026-10-31") == (
        1,
        ["no: Sat 2026-10-31 06:00 EDT missed: no tick has planned it yet"],
    )
    assert "31 M" in cronce("history", "menu").lines[6]


def test_a_paused_job_says_who_has_to_decide(stack: LocalStack) -> None:
    stack.play(minutes=3)
    operations().pause("menu", by="ann", why="the kitchen burns")
    stack.clock.set(START + 25 * HOUR)

    _, (answer,) = did_run("menu", "today")

    assert answer == (
        "not yet: Sat 2026-10-31 06:00 EDT due: the job is paused by ann (the kitchen burns); "
        "resuming it decides what becomes of it"
    )


def test_a_run_under_way_is_a_not_yet_until_it_is_overdue(stack: LocalStack) -> None:
    stack.stream.enabled = False
    stack.play(minutes=2)
    _, (answer,) = did_run("menu", "today")
    assert answer == "not yet: Fri 2026-10-30 06:00 EDT under way: menu@2026-10-30T10:00:00Z PENDING"
    stack.clock.set(START + HOUR)
    code, (answer,) = did_run("menu", "today")
    assert (code, answer) == (1, "no: Fri 2026-10-30 06:00 EDT missed: menu@2026-10-30T10:00:00Z PENDING")


def test_an_unknown_job_is_a_wrong_question_not_a_no(stack: LocalStack) -> None:
    answer = cronce("did-run", "soup", "today")
    assert answer.code == 2
    assert answer.complaint == "there is no job 'soup': no tick has planned any yet"


def test_a_job_of_the_working_copy_that_no_tick_has_seen_wants_a_minute(stack: LocalStack) -> None:
    for command in (("did-run", "menu", "today"), ("trigger", "menu"), ("history", "menu")):
        answer = cronce(*command)
        assert answer.code == 2
        assert answer.complaint == (
            "no tick of cronce-local (us-east-1) has seen job 'menu' yet, which the working copy declares: "
            "if it is deployed, wait for the next full minute"
        )
