"""`cronce next`.

* P58: a time that a clock change moves is marked with the wall time that it stands in for; one that the clock
  shows twice, with its pass.
* The schedule is the one in force in the stack, or (`--code`) the one in the working copy, whose calendar is
  then asked as well.
* Without a job, all jobs are listed with their next times, the soonest first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cronce_tools.local.stack import LocalStack
from tests.cli.terminal import cronce

NIGHTS = """
from datetime import date
from cronce import At, Cron, job
from datetime import UTC, datetime

@job("gap", schedule=Cron("15,30 2 * * *", tz="America/New_York"), exclude=[date(2026, 3, 9)])
def gap(run): ...

@job("pair", schedule=Cron("30 1 * * *", tz="America/New_York", dst_repeat="both"))
def pair(run): ...

@job("once", schedule=At(datetime(2026, 1, 1, tzinfo=UTC)))
def once(run): ...
"""


@pytest.fixture
def nights(copy: Path) -> Path:
    (copy / "functions/jobs/nights.py").write_text(NIGHTS)
    return copy


def test_the_next_times_are_those_of_the_schedule_in_force(stack: LocalStack) -> None:
    stack.play(minutes=1)

    said = cronce("next", "menu", "--count", "2")

    assert said.code == 0
    assert said.lines == [
        "local UTC remark",
        "Fri 2026-10-30 06:00 EDT Fri 2026-10-30 10:00 UTC",
        "Sat 2026-10-31 06:00 EDT Sat 2026-10-31 10:00 UTC",
    ]
    assert "daily at 06:00 America/New_York (in force in cronce-local (us-east-1))" in said.err


def test_p58_a_time_that_stands_in_for_skipped_ones_names_them(nights: Path) -> None:
    said = cronce("next", "gap", "--code", "--from", "2026-03-08", "--to", "2026-03-08", "--project", nights)

    assert said.lines[1:] == [
        "Sun 2026-03-08 03:00 EDT Sun 2026-03-08 07:00 UTC stands in for 02:15, 02:30, which the clock skips"
    ]


def test_p58_a_time_that_the_clock_shows_twice_names_its_pass(nights: Path) -> None:
    said = cronce("next", "pair", "--code", "--from", "2026-11-01", "--to", "2026-11-01", "--project", nights)

    assert said.lines[1:] == [
        "Sun 2026-11-01 01:30 EDT Sun 2026-11-01 05:30 UTC pass 1 of 2: the clock shows 01:30 twice",
        "Sun 2026-11-01 01:30 EST Sun 2026-11-01 06:30 UTC pass 2 of 2: the clock shows 01:30 twice",
    ]


def test_the_marks_stand_in_json_too(nights: Path) -> None:
    ends = ("--from", "2026-03-08", "--to", "2026-03-09")
    document = cronce("next", "gap", "--code", *ends, "--project", nights, "--json").json

    assert document["times"][0] == {
        "at": "2026-03-08T07:00:00Z",
        "at_local": "2026-03-08T03:00:00-04:00",
        "stands_in_for_local": ["2026-03-08T02:15:00", "2026-03-08T02:30:00"],
        "pass": 1,
        "passes": 1,
        "excluded": False,
    }
    assert [each["excluded"] for each in document["times"]] == [False, True, True]


def test_a_day_that_the_calendar_excludes_is_marked(nights: Path) -> None:
    said = cronce("next", "gap", "--code", "--from", "2026-03-09", "--count", "1", "--project", nights)
    assert said.lines[1].endswith("excluded by the job's calendar")


def test_both_ends_of_a_range_are_included(nights: Path) -> None:
    quarter, half = (f"Mon 2026-06-01 02:{minute} EDT Mon 2026-06-01 06:{minute} UTC" for minute in (15, 30))
    for last, found in (("02:29", [quarter]), ("02:30", [quarter, half])):
        ends = ("--from", "2026-06-01T02:15", "--to", f"2026-06-01T{last}")
        assert cronce("next", "gap", "--code", *ends, "--project", nights).lines[1:] == found


def test_no_time_is_a_no(nights: Path) -> None:
    said = cronce("next", "once", "--code", "--from", "2026-03-09", "--project", nights)
    assert (said.code, said.lines) == (1, ["no time to come"])
    said = cronce("next", "once", "--code", "--from", "2026-03-09", "--to", "2026-03-10", "--project", nights)
    assert (said.code, said.lines) == (1, ["no time in this range"])


@pytest.mark.parametrize(
    "arguments, said",
    [
        (
            ("--from", "2026-03-09", "--to", "2026-03-08"),
            "the range runs backwards: Mon 2026-03-09 00:00 EDT is after Sun 2026-03-08 23:59:59 EDT",
        ),
        (("--to", "2020-01-01"), "the range runs backwards"),
        (
            ("--from", "tomorrow"),
            "'tomorrow' is no time: write 2026-03-08 (a day), 2026-03-08T02:30 (local time)",
        ),
        (("--from", "2026-02-30"), "there is no day 2026-02-30: day is out of range for month"),
        (("--count", "0"), "--count"),
    ],
    ids=["backwards", "ends before now", "no time", "no such day", "no count"],
)
def test_a_wrong_range_is_one_line(nights: Path, arguments: tuple[str, ...], said: str) -> None:
    answer = cronce("next", "gap", "--code", *arguments, "--project", nights)
    assert answer.code == 2
    assert said in answer.complaint


def test_an_unknown_job_names_the_one_that_may_be_meant(stack: LocalStack) -> None:
    stack.play(minutes=1)
    for more in ((), ("--code",)):
        answer = cronce("next", "meny", *more)
        assert answer.code == 2
        assert answer.complaint.startswith("there is no job 'meny'")
        assert "did you mean 'menu'?" in answer.complaint


def test_without_a_job_all_jobs_are_listed_the_soonest_first(stack: LocalStack) -> None:
    stack.play(minutes=1)
    cronce("pause", "hourly", "--by", "ann")

    said = cronce("next")

    assert said.code == 0
    assert said.lines == [
        "job local UTC remark",
        "broken Fri 2026-10-30 10:00 UTC Fri 2026-10-30 10:00 UTC",
        "hourly Fri 2026-10-30 10:00 UTC Fri 2026-10-30 10:00 UTC",
        "menu Fri 2026-10-30 06:00 EDT Fri 2026-10-30 10:00 UTC",
    ]
    assert said.err == "hourly: Paused by ann: nothing is started until it is resumed.\n"
    two = cronce("next", "--count", "2", "--from", "2026-10-30T10:00Z", "--json").json["jobs"]
    assert [(each["job"], [time["at"] for time in each["times"]]) for each in two] == [
        ("broken", ["2026-10-30T10:00:00Z", "2026-10-30T10:30:00Z"]),
        ("hourly", ["2026-10-30T10:00:00Z", "2026-10-30T11:00:00Z"]),
        ("menu", ["2026-10-30T10:00:00Z", "2026-10-31T10:00:00Z"]),
    ]


def test_without_a_job_those_of_the_working_copy_are_listed_too(nights: Path) -> None:
    (nights / "functions/jobs/bad.py").write_text("1 / 0")
    said = cronce(
        "next", "--code", "--from", "2026-03-08", "--to", "2026-03-09", "--count", "9", "--project", nights
    )

    skipped = "stands in for 02:15, 02:30, which the clock skips"
    assert said.lines[1:] == [
        "pair Sun 2026-03-08 01:30 EST Sun 2026-03-08 06:30 UTC",
        f"gap Sun 2026-03-08 03:00 EDT Sun 2026-03-08 07:00 UTC {skipped}",
        "pair Mon 2026-03-09 01:30 EDT Mon 2026-03-09 05:30 UTC",
        "gap Mon 2026-03-09 02:15 EDT Mon 2026-03-09 06:15 UTC excluded by the job's calendar",
        "gap Mon 2026-03-09 02:30 EDT Mon 2026-03-09 06:30 UTC excluded by the job's calendar",
    ]
    assert said.err == "jobs.bad cannot be used: `cronce validate`\nonce has no time there\n"
