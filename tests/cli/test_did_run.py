"""`cronce did-run` and `cronce history`, of what is over.

* The answer is yes (exit code 0) only if every occurrence of the day, or the one at the time, ran; else no
  (exit code 1), and why: the run's end, the gap's reason, no such time.
* A day is that of the job's zone.
* A month shows the worst of each day, and how many times stand behind each mark.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import boto3
import pytest

from cronce_tools.cli.history import MARKS
from cronce_tools.local.stack import LocalStack
from tests.cli.conftest import JOBS, START, stack_with
from tests.cli.terminal import cronce, did_run

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def weekend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Friday at six all is well; then no tick comes until Sunday morning. It is only looked at."""
    with stack_with(tmp_path_factory.mktemp("weekend"), JOBS) as running:
        running.play(minutes=3)
        running.clock.set(START + 49 * HOUR + timedelta(minutes=1))
        running.play(minutes=2)
        yield running


def test_a_day_on_which_it_ran_is_a_yes(weekend: LocalStack) -> None:
    ran = "menu@2026-10-30T10:00:00Z SUCCEEDED, at Fri 2026-10-30 06:00:04 EDT"
    assert did_run("menu", "2026-10-30") == (0, [f"yes: Fri 2026-10-30 06:00 EDT ran: {ran}"])
    assert did_run("menu", "2026-10-30T06:00") == did_run("menu", "2026-10-30")
    assert did_run("menu", "2026-10-30T10:00Z") == did_run("menu", "2026-10-30")
    assert did_run("menu", "2026-10-30T12:00+02:00") == did_run("menu", "2026-10-30")


def test_a_day_in_a_gap_is_a_no_with_its_reason(weekend: LocalStack) -> None:
    code, (answer,) = did_run("menu", "2026-10-31")
    assert code == 1
    skipped = "menu@2026-10-31T10:00:00Z SKIPPED(superseded), at Sun 2026-11-01 06:00:04 EST"
    assert answer == f"no: Sat 2026-10-31 06:00 EDT skipped: {skipped}"
    code, (answer, detail) = did_run("hourly", "2026-10-31")
    assert code == 1
    assert answer == "no: 0 of 24 times on Sat 2026-10-31 (UTC) ran, 24 skipped"
    assert detail == (
        "Sat 2026-10-31 00:00 UTC to Sat 2026-10-31 23:00 UTC, 24 times: skipped(superseded): "
        "a newer time ran in its place; "
        "in a gap of 48 times from Fri 2026-10-30 11:00 UTC to Sun 2026-11-01 10:00 UTC"
    )


def test_several_times_of_a_day_are_counted_and_told_together_where_the_same_holds(
    weekend: LocalStack,
) -> None:
    code, (answer, skipped, failed, to_come) = did_run("broken", "today")
    assert code == 1
    assert answer == "no: 0 of 48 times on Sun 2026-11-01 (UTC) ran, 22 skipped, 1 failed, 25 to come"
    assert skipped.startswith(
        "Sun 2026-11-01 00:00 UTC to Sun 2026-11-01 10:30 UTC, 22 times: skipped(superse"
    )
    assert failed.startswith("Sun 2026-11-01 11:00 UTC failed: broken@2026-11-01T11:00:00Z FAILED(error), at")
    assert failed.endswith("PermanentError: no money left")
    assert to_come == (
        "Sun 2026-11-01 11:30 UTC to Sun 2026-11-01 23:30 UTC, 25 times: to come: its time has not come"
    )


def test_what_has_not_come_yet_is_a_not_yet(weekend: LocalStack) -> None:
    assert did_run("menu", "2026-11-02") == (
        1,
        ["not yet: Mon 2026-11-02 06:00 EST to come: its time has not come"],
    )


def test_a_day_without_a_time_is_a_no_and_says_which_is_next(weekend: LocalStack) -> None:
    code, (answer,) = did_run("menu", "2026-10-30T07:00")
    assert code == 1
    assert answer == (
        "no: Fri 2026-10-30 07:00 (America/New_York) is no time of menu (daily at 06:00 America/New_York); "
        "the next time is Mon 2026-11-02 06:00 EST"
    )


def test_a_time_before_the_job_began_says_since_when_it_is_known(weekend: LocalStack) -> None:
    code, (answer,) = did_run("menu", "2026-10-01")
    assert code == 1
    assert answer == (
        "no: Thu 2026-10-01 06:00 EDT not begun: "
        "before this job began (planned after Fri 2026-10-30 05:58 EDT)"
    )


def test_what_nothing_is_known_of_says_so(weekend: LocalStack) -> None:
    """The item of a release that did not keep when a job began."""
    table = boto3.resource("dynamodb").Table("runs")
    key = {"pk": "JOB#menu", "sk": "JOB"}
    kept = table.get_item(Key=key)["Item"]
    table.put_item(Item={name: value for name, value in kept.items() if name != "began_at"})
    try:
        _, (answer,) = did_run("menu", "2026-10-01")
        assert answer == (
            "no: Thu 2026-10-01 06:00 EDT unrecorded: there is no record: "
            "the job was not planned then, or by another schedule"
        )
        _, (answer,) = did_run("menu", "2025-01-01")
        assert answer.endswith("unrecorded: records of that time are not kept any more")
        assert cronce("history", "menu", "--month", "2026-10").lines[-1] == "? unrecorded: 29"
    finally:
        table.put_item(Item=kept)


def test_the_answer_in_json(weekend: LocalStack) -> None:
    said = cronce("did-run", "menu", "2026-10-30", "--json")
    document = said.json
    assert said.code == 0
    assert list(document) == [
        "stack",
        "region",
        "now",
        "job",
        "asked",
        "answer",
        "why",
        "occurrences",
        "by_hand",
    ]
    assert (document["asked"], document["answer"]) == ("Fri 2026-10-30 (America/New_York)", "yes")
    (occurrence,) = document["occurrences"]
    assert list(occurrence) == ["at", "at_local", "outcome", "count", "run", "gap", "unreadable"]
    assert occurrence["at_local"] == "2026-10-30T06:00:00-04:00"
    assert (occurrence["outcome"], occurrence["run"]["status"]) == ("ran", "SUCCEEDED")

    gap = cronce("did-run", "hourly", "2026-10-31", "--json").json["occurrences"][0]["gap"]
    assert list(gap) == ["first", "last", "count", "reason", "created_at"]
    assert (gap["count"], gap["reason"]) == (48, "superseded")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("menu", "2026-02-30"), "there is no day 2026-02-30"),
        (("menu", "the 14th"), "'the 14th' is no time: write 2026-03-08 (a day)"),
        (("menu", "0001-01-01"), "there is no day 0001-01-01: the year is not one of 1970 to 9000"),
        (("menu", "9999-12-31T23:59"), "'9999-12-31T23:59' is no time"),
        (("menu",), "Missing argument 'DATE'"),
        (("manu", "today"), "there is no job 'manu': did you mean 'menu'?"),
    ],
    ids=["no such day", "words", "first year", "last year", "missing", "job"],
)
def test_a_wrong_question_is_one_line(weekend: LocalStack, arguments: tuple[str, ...], said: str) -> None:
    answer = cronce("did-run", *arguments)
    assert answer.code == 2
    assert said in answer.complaint


def test_a_month_shows_the_worst_of_each_day(weekend: LocalStack) -> None:
    said = cronce("history", "menu", "--month", "2026-10")
    assert said.code == 0
    assert said.out.splitlines()[:8] == [
        "menu  October 2026  daily at 06:00 America/New_York",
        "Mon   Tue   Wed   Thu   Fri   Sat   Sun",
        "                   1 -   2 -   3 -   4 -",
        " 5 -   6 -   7 -   8 -   9 -  10 -  11 -",
        "12 -  13 -  14 -  15 -  16 -  17 -  18 -",
        "19 -  20 -  21 -  22 -  23 -  24 -  25 -",
        "26 -  27 -  28 -  29 -  30 +  31 S",
        "- not begun: 29",
    ]
    assert said.lines[8:] == ["+ ran: 1", "S skipped: 1"]


def test_this_month_is_shown_unless_another_is_asked(weekend: LocalStack) -> None:
    lines = cronce("history", "broken").lines
    assert lines[0] == "broken November 2026 every 30 minutes"
    assert lines[2] == "1 F"
    assert lines[-3:] == ["S skipped: 22", "F failed: 1", "Sun 2026-11-01: 1 failed, 22 skipped, 25 to come"]


def test_a_month_in_json(weekend: LocalStack) -> None:
    document = cronce("history", "broken", "--json").json
    assert list(document) == ["stack", "region", "now", "job", "month", "tz", "days"]
    assert (document["month"], document["tz"], len(document["days"])) == ("2026-11", "UTC", 30)
    assert document["days"][0] == {
        "day": "2026-11-01",
        "worst": "failed",
        "counts": {"failed": 1, "skipped": 22, "to_come": 25},
    }


def test_a_wrong_month_is_one_line(weekend: LocalStack) -> None:
    for month in ("October", "2026-13", "2026-10-30", "0001-01"):
        answer = cronce("history", "menu", "--month", month)
        assert answer.code == 2
        assert answer.complaint == f"{month!r} is no month: write 2026-03"


def test_each_outcome_has_a_mark_of_its_own_and_the_worst_wins() -> None:
    assert list(MARKS)[:4] == ["missed", "stuck", "overdue", "failed"]
    assert {mark for outcome, mark in MARKS.items()} == set("MHOFX?CSL~+.-")
