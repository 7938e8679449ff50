"""What a run meets at its claim.

Invariants:
- the policies of lateness are applied again at a first claim, to nothing that has begun or a person touched;
- nothing is dropped as late or superseded before it is later than five minutes and than the job's grace;
- overlap judges on-time runs only; everything else waits in order.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.core.job import Job, job
from cronce.core.judgement import FullSlots, takes_the_place_of, too_late, with_full_slots, yields_to_newer
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


def newer(hours: int = 1, **values: Any) -> RunRecord:
    """A run of a later hour, planned at its time."""
    at = NOON + hours * HOUR
    return run(**{"ref": RunRef("menu", at), "created_at": at, **values})


def test_a_run_in_time_may_start_whatever_the_policy() -> None:
    for policy in ("latest", "all", "skip"):
        options = declared(catch_up=policy)
        assert not too_late(run(), options, NOON + 5 * MINUTE)
        assert not yields_to_newer(run(), options, NOON + 15 * MINUTE)


def test_p24_skip_drops_a_run_that_is_later_than_its_grace() -> None:
    skips = declared(catch_up="skip", grace="10m")
    assert not too_late(run(), skips, NOON + 10 * MINUTE)
    assert too_late(run(), skips, NOON + 10 * MINUTE + SECOND)


def test_i13_a_short_grace_drops_nothing_within_five_minutes() -> None:
    assert not too_late(run(), declared(catch_up="skip", grace="1m"), NOON + 5 * MINUTE)
    assert not yields_to_newer(run(), declared(grace="1m"), NOON + 5 * MINUTE)
    assert yields_to_newer(run(), declared(grace="1m"), NOON + 5 * MINUTE + SECOND)


def test_the_wait_for_a_slot_is_no_lateness_except_to_max_lateness() -> None:
    woken = run(expect_by=NOON + 3 * HOUR + 15 * MINUTE)
    for policy in ("latest", "skip"):
        options = declared(catch_up=policy, overlap="queue")
        assert not too_late(woken, options, NOON + 3 * HOUR + 15 * MINUTE)
        assert not yields_to_newer(woken, options, NOON + 3 * HOUR + 15 * MINUTE)
    held_up = NOON + 3 * HOUR + 16 * MINUTE
    assert too_late(woken, declared(catch_up="skip", overlap="queue"), held_up)
    assert yields_to_newer(woken, declared(overlap="queue"), held_up)
    assert too_late(woken, declared(overlap="queue", max_lateness="2h"), NOON + 3 * HOUR)


def test_a_run_that_was_born_late_is_as_late_as_its_time() -> None:
    born_late = run(created_at=NOON + HOUR, expect_by=NOON + HOUR + 15 * MINUTE)
    assert yields_to_newer(born_late, declared(), NOON + HOUR + MINUTE)


def test_only_latest_gives_way_to_newer_runs() -> None:
    late = NOON + 2 * HOUR
    given_way = [
        policy
        for policy in ("latest", "all", "skip")
        if yields_to_newer(run(), declared(catch_up=policy), late)
    ]
    assert given_way == ["latest"]


@pytest.mark.parametrize("status", [status for status in RunStatus if status is not RunStatus.SKIPPED])
def test_a_newer_run_takes_the_place_of_an_older_one_whatever_became_of_it(status: RunStatus) -> None:
    assert takes_the_place_of(newer(status=status), run())


@pytest.mark.parametrize("reason", [Reason.EXCLUDED, Reason.SAME_LOCAL_TIME, Reason.OVERLAP, Reason.LATE])
def test_a_newer_run_that_is_skipped_itself_takes_nobodys_place(reason: Reason) -> None:
    assert not takes_the_place_of(newer(status=RunStatus.SKIPPED, reason=reason), run())


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.BACKFILL])
def test_what_a_person_started_takes_nobodys_place(trigger: Trigger) -> None:
    assert not takes_the_place_of(newer(trigger=trigger), run())


def test_i5_what_the_planner_chose_after_an_outage_is_not_superseded_by_what_it_had_weighed() -> None:
    late_born = run(created_at=NOON + 3 * HOUR)
    assert not takes_the_place_of(newer(1), late_born)
    assert not takes_the_place_of(newer(3), late_born), "of the same window"
    assert takes_the_place_of(newer(4), late_born)
    assert not takes_the_place_of(run(created_at=NOON + 9 * HOUR, ref=RunRef("menu", NOON - HOUR)), run())


def test_all_runs_however_late_up_to_max_lateness() -> None:
    every = declared(catch_up="all")
    assert not too_late(run(), every, NOON + 24 * HOUR)
    assert too_late(run(), every, NOON + 24 * HOUR + SECOND)


def test_p3_max_lateness_counts_under_every_policy() -> None:
    strict = declared(max_lateness="120s")
    assert not too_late(run(), strict, NOON + 120 * SECOND)
    assert too_late(run(), strict, NOON + 121 * SECOND)


@pytest.mark.parametrize(
    "exempt", [{"attempt": 1}, {"trigger": Trigger.MANUAL}, {"trigger": Trigger.BACKFILL}, {"touched": True}]
)
def test_what_has_begun_or_a_person_asked_for_is_never_too_late(exempt: dict[str, Any]) -> None:
    strict = declared(catch_up="skip", max_lateness="120s", overlap="skip")
    assert not too_late(run(**exempt), strict, NOON + 9 * HOUR)
    assert not yields_to_newer(run(**exempt), declared(), NOON + 9 * HOUR)
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
