"""What a run meets at its claim.

Invariants:
- the policies of lateness are applied again at a first claim, to nothing that has begun or a person touched;
- nothing is dropped as late or superseded before it is later than five minutes and than the job's grace;
- overlap judges on-time runs only; everything else waits in order.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from cronce.core.job import Job, job
from cronce.core.judgement import LOOKED_AT, FullSlots, too_late, with_full_slots
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Reason, RunStatus, Trigger
from cronce.core.schedule import Cron

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def declared(**options: Any) -> Job:
    return job("menu", schedule=Cron("0 * * * *"), **options)(lambda run: None)


def run(**values: Any) -> RunRecord:
    made = RunRecord(
        ref=RunRef("menu", NOON),
        status=RunStatus.PENDING,
        created_at=NOON,
        scheduled_local="2026-01-05T12:00:00+00:00",
        timeout=15 * MINUTE,
        max_attempts=3,
    )
    return replace(made, **values)


def test_a_run_in_time_may_start_whatever_the_policy() -> None:
    for policy in ("latest", "all", "skip"):
        assert too_late(run(), declared(catch_up=policy), NOON + HOUR, NOON + 5 * MINUTE) is None


def test_p24_skip_drops_a_run_that_is_later_than_its_grace() -> None:
    skips = declared(catch_up="skip", grace="10m")
    assert too_late(run(), skips, NOON, NOON + 10 * MINUTE) is None
    assert too_late(run(), skips, NOON, NOON + 10 * MINUTE + SECOND) is Reason.LATE


def test_i13_a_short_grace_drops_nothing_within_five_minutes() -> None:
    assert too_late(run(), declared(catch_up="skip", grace="1m"), NOON, NOON + 5 * MINUTE) is None


def test_latest_is_superseded_by_a_time_that_is_accounted_for() -> None:
    latest = declared()
    late = NOON + 2 * HOUR
    assert too_late(run(), latest, NOON + HOUR, late) is Reason.SUPERSEDED
    assert too_late(run(), latest, NOON + HOUR - SECOND, late) is None


def test_i5_what_the_planner_chose_after_an_outage_is_not_superseded_by_times_before_its_choice() -> None:
    late_born = run(created_at=NOON + 3 * HOUR + MINUTE)
    latest = declared()
    assert too_late(late_born, latest, NOON + 3 * HOUR, NOON + 3 * HOUR + 2 * MINUTE) is None
    assert too_late(late_born, latest, NOON + 4 * HOUR, NOON + 4 * HOUR + MINUTE) is Reason.SUPERSEDED


def test_latest_is_not_superseded_by_times_that_the_calendar_excludes() -> None:
    weekdays = declared(exclude=lambda day: day.weekday() >= 5)
    friday = run(ref=RunRef("menu", datetime(2026, 1, 9, 23, tzinfo=UTC)))
    saturday, monday = datetime(2026, 1, 10, tzinfo=UTC), datetime(2026, 1, 12, tzinfo=UTC)
    assert too_late(friday, weekdays, saturday, saturday + 20 * MINUTE) is None
    assert too_late(friday, weekdays, monday - SECOND, monday) is None
    assert too_late(friday, weekdays, monday, monday + MINUTE) is Reason.SUPERSEDED


def test_no_more_than_a_thousand_later_times_are_looked_at() -> None:
    asked: list[date] = []

    def never(day: date) -> bool:
        asked.append(day)
        return True

    assert too_late(run(), declared(exclude=never), NOON + 5000 * HOUR, NOON + 5000 * HOUR) is None
    assert len(asked) == LOOKED_AT


def test_all_runs_however_late_up_to_max_lateness() -> None:
    every = declared(catch_up="all")
    assert too_late(run(), every, NOON + 20 * HOUR, NOON + 24 * HOUR) is None
    assert too_late(run(), every, NOON + 20 * HOUR, NOON + 24 * HOUR + SECOND) is Reason.LATE


def test_p3_max_lateness_counts_under_every_policy() -> None:
    strict = declared(max_lateness="120s")
    assert too_late(run(), strict, NOON, NOON + 120 * SECOND) is None
    assert too_late(run(), strict, NOON, NOON + 121 * SECOND) is Reason.LATE


@pytest.mark.parametrize(
    "exempt", [{"attempt": 1}, {"trigger": Trigger.MANUAL}, {"trigger": Trigger.BACKFILL}, {"touched": True}]
)
def test_what_has_begun_or_a_person_asked_for_is_never_too_late(exempt: dict[str, Any]) -> None:
    strict = declared(catch_up="skip", max_lateness="120s", overlap="skip")
    assert too_late(run(**exempt), strict, NOON + 9 * HOUR, NOON + 9 * HOUR) is None
    assert with_full_slots(run(**exempt), strict, 50, NOON) is FullSlots.QUEUE


def test_an_on_time_run_is_skipped_or_queued_as_its_job_says() -> None:
    assert with_full_slots(run(), declared(), 0, NOON + 15 * MINUTE) is FullSlots.SKIP
    queues = declared(overlap="queue")
    assert with_full_slots(run(), queues, 9, NOON) is FullSlots.QUEUE
    assert with_full_slots(run(), queues, 10, NOON) is FullSlots.SKIP


def test_i36_a_late_born_or_late_claimed_run_waits_whatever_the_policy() -> None:
    late_born = run(created_at=NOON + 151 * SECOND)
    assert with_full_slots(late_born, declared(), 50, NOON + 152 * SECOND) is FullSlots.QUEUE
    assert with_full_slots(run(), declared(), 50, NOON + 15 * MINUTE + SECOND) is FullSlots.QUEUE
    barely = run(created_at=NOON + 150 * SECOND)
    assert with_full_slots(barely, declared(), 50, NOON + 150 * SECOND) is FullSlots.SKIP
