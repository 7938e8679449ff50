"""What the watchdog judges late, and whose fault it is.

Invariants:
- late is strictly after `expect_by`; what has none, has ended or has left the index is never late;
- the unplanned times of a job are all named, oldest first, none twice over several patrols;
- what only the scheduler can bring on its way is its fault while it is silent, and nobody's just after.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronce.core import health
from cronce.core.alerts import Trouble
from cronce.core.health import SILENT_AFTER, Blame, Finding, SchedulerWatch
from cronce.core.jobstate import Held, JobState, Pause
from cronce.core.lease import Lease
from cronce.core.records import RunRecord
from cronce.core.run import Reason, RunStatus
from cronce.core.schedule import Cron
from tests.contract import makers
from tests.contract.makers import MINUTE, NOW, pending, queued, ref, running

GRACE = 15 * MINUTE
TICK = timedelta(milliseconds=1)


def job_state(**values: Any) -> JobState:
    return makers.job_state(**{"schedule": Cron("* * * * *").spec(), **values})


def times(job: JobState, minutes: float, after: float | None = None) -> list[float]:
    """The late times of a job, in minutes."""
    known = None if after is None else NOW + after * MINUTE
    found = health.overdue_times(job, NOW + minutes * MINUTE, known)
    return [(finding.time.scheduled_at - NOW) / MINUTE for finding in found]


# --- runs ---


@pytest.mark.parametrize("run", [pending(ref()), running(ref()), queued(ref(), expect_by=NOW + GRACE)])
def test_a_run_is_late_after_its_time_and_not_at_it(run: RunRecord) -> None:
    assert health.overdue_run(run, NOW + GRACE) is None

    late = health.overdue_run(run, NOW + GRACE + TICK)

    assert late is not None
    assert (late.time.scheduled_at, late.time.trouble, late.time.job) == (NOW, Trouble.MISSED, makers.JOB)
    assert (late.grace, late.never_planned) == (GRACE, False)


def test_what_is_said_of_a_late_run_stays_while_only_the_requests_for_it_grow() -> None:
    """Each other word is a write of its alert, patrol after patrol."""
    said = {
        health.overdue_run(pending(ref(), dispatches=asked), NOW + GRACE + TICK).time.detail  # type: ignore[union-attr]
        for asked in (1, 2, 12)
    }

    assert said == {"never started: no executor has claimed it, though the scheduler has asked for one"}


@pytest.mark.parametrize("status", [status for status in RunStatus if status.is_final])
def test_a_run_that_has_ended_is_not_late(status: RunStatus) -> None:
    assert health.overdue_run(pending(ref(), status=status), NOW + timedelta(days=9)) is None


def test_i48_a_run_that_nobody_waits_for_is_not_late() -> None:
    assert health.overdue_run(queued(ref()), NOW + timedelta(days=9)) is None


def test_only_a_live_worker_needs_no_scheduler() -> None:
    now = NOW + GRACE + TICK
    claimed = running(ref(), claim_until=now)
    cases = {
        pending(ref()): True,
        running(ref()): True,
        claimed: False,
        replace(claimed, claim_until=None): True,
    }

    assert {run: health.overdue_run(run, now).needs_scheduler for run in cases} == cases  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "run, words",
    [
        (pending(ref()), "never started: no executor has claimed it"),
        (queued(ref(), expect_by=NOW), "never started: it waits for its turn"),
        (
            queued(
                ref(), reason=Reason.BACKOFF, unknown_since=NOW, expect_by=NOW, error="job is not\ndeployed"
            ),
            "never started: it waits for its turn: job is not deployed",
        ),
        (
            running(ref(), claim_until=NOW + GRACE),
            "attempt 1 of 3 started 2026-01-05T00:00:00.000Z and is not finished",
        ),
        (
            running(ref(), claim_until=NOW + GRACE, log_stream="s-7", request_id="r"),
            "attempt 1 of 3 started 2026-01-05T00:00:00.000Z and is not finished [log stream s-7, request r]",
        ),
        (
            pending(ref(), attempt=2, slice=3, attempt_started_at=NOW),
            "attempt 2 of 3 started 2026-01-05T00:00:00.000Z and is not finished",
        ),
    ],
)
def test_a_late_run_says_how_far_it_came(run: RunRecord, words: str) -> None:
    late = health.overdue_run(run, NOW + GRACE + TICK)

    assert late is not None
    assert late.time.detail == words


# --- times that were never planned ---


def test_i42_all_unplanned_times_are_named_as_they_become_late() -> None:
    assert times(job_state(), 16) == []
    assert times(job_state(), 16.01) == [1]
    assert times(job_state(), 18.01) == [1, 2, 3]
    assert times(job_state(), 18.01, after=2) == [3]
    assert times(job_state(), 18.01, after=3) == []


def test_i42_a_time_is_named_once_however_often_it_is_looked_for() -> None:
    found: list[float] = []
    for minute in range(200):
        found += times(job_state(), minute, after=found[-1] if found else None)

    assert found == list(range(1, 184))


def test_a_long_time_without_planning_is_worked_out_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "TIMES_A_PATROL", 10)

    assert times(job_state(), 40) == list(range(1, 11))
    assert times(job_state(), 40, after=10) == list(range(11, 21))
    assert times(job_state(), 40, after=20) == [21, 22, 23, 24]


@pytest.mark.parametrize(
    "change",
    [
        {"paused": Pause(at=NOW, by="ann", why="holidays")},
        {"removed_at": NOW},
        {"due_at": None},
        {"next_at": None},
        {"expect_by": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_job_that_is_not_planned_on_purpose_is_not_late(change: dict[str, Any]) -> None:
    assert times(job_state(**change), 9999) == []


def test_i48_a_resumed_job_has_its_grace_from_then_on_and_its_pause_is_not_listed() -> None:
    resumed = job_state(next_at=NOW + MINUTE, resumed_at=NOW + 60 * MINUTE, expect_by=NOW + 16 * MINUTE)

    assert times(resumed, 75) == []
    assert times(resumed, 76.01) == [1, 61], "the first one that was not planned, and those after the pause"


def test_a_job_that_is_resumed_before_its_next_time_has_not_missed_it() -> None:
    """Paused and resumed before its next time; then its module breaks, or no tick comes for an hour.

    `resume` makes it due and expected at once, so that a tick looks at it. That is no time of its schedule.
    """
    due, resumed_at = NOW + 180 * MINUTE, NOW + 60 * MINUTE
    resumed = job_state(
        schedule=Cron("0 15 * * *").spec(),
        next_at=due,
        planned_to=NOW,
        resumed_at=resumed_at,
        due_at=resumed_at,
        expect_by=resumed_at + 15 * MINUTE,
    )

    assert times(resumed, 100) == []
    assert times(resumed, 195) == []
    assert times(resumed, 195.01) == [180]


def test_a_stored_schedule_that_cannot_be_read_names_the_time_that_stands_beside_it() -> None:
    broken = job_state(schedule={"kind": "cron", "expression": "* * *"})

    assert times(broken, 30) == [1]
    assert times(broken, 40, after=1) == []


@pytest.mark.parametrize(
    "held, words, needs_scheduler",
    [
        (None, "no tick of the scheduler has written a record for it", True),
        (Held.BEHIND, "the scheduler is still catching up", True),
        (Held.UNAVAILABLE, "its module jobs.daily_menu does not import in this deployment", False),
    ],
)
def test_an_unplanned_time_says_why(held: Held | None, words: str, needs_scheduler: bool) -> None:
    (late,) = health.overdue_times(job_state(held=held), NOW + 16.5 * MINUTE)

    assert words in late.time.detail
    assert (late.needs_scheduler, late.never_planned, late.expect_by) == (
        needs_scheduler,
        True,
        NOW + 16 * MINUTE,
    )


# --- the scheduler ---


def lease(completed_at: Any) -> Lease:
    return Lease(owner=None, fencing_token=1, lease_until=NOW, completed_at=completed_at)


def test_the_scheduler_is_silent_only_some_minutes_after_a_complete_tick() -> None:
    assert not health.is_silent(None, NOW)
    assert not health.is_silent(lease(None), NOW)
    assert not health.is_silent(lease(NOW - SILENT_AFTER), NOW)
    assert health.is_silent(lease(NOW - SILENT_AFTER - TICK), NOW)
    assert not health.is_silent(lease(NOW + timedelta(hours=1)), NOW)


def test_it_is_silence_within_seven_minutes_and_not_after_two_lost_ticks() -> None:
    worst_age_without_fault = timedelta(minutes=3, seconds=59)
    patrols = 2 * MINUTE
    assert worst_age_without_fault <= SILENT_AFTER <= 7 * MINUTE - patrols


@pytest.mark.parametrize("completed_at, silent", [(None, False), (NOW, True)])
def test_what_is_not_known_to_be_alive_is_not(completed_at: Any, silent: bool) -> None:
    assert not SchedulerWatch(completed_at=completed_at, silent=silent).alive
    assert SchedulerWatch(completed_at=NOW, silent=False).alive


def finding(**values: Any) -> Finding:
    (late,) = health.overdue_times(job_state(grace=GRACE), NOW + 16.5 * MINUTE)
    return replace(late, **values)


LATE_NOW = NOW + 17 * MINUTE
FRESH = SchedulerWatch(completed_at=LATE_NOW, silent=False)
SILENT = SchedulerWatch(completed_at=NOW, silent=True)


@pytest.mark.parametrize(
    "watch, late, blame",
    [
        (FRESH, finding(), Blame.JOB),
        (SILENT, finding(), Blame.SCHEDULER),
        (SILENT, finding(never_planned=False), Blame.SCHEDULER),
        (SILENT, finding(needs_scheduler=False), Blame.JOB),
        (SILENT, finding(expect_by=None), Blame.JOB),
        # no tick since it came due: either one plans it in a moment, or the silence is told
        (replace(FRESH, completed_at=NOW), finding(), Blame.NOBODY),
        (replace(FRESH, completed_at=NOW), finding(never_planned=False), Blame.JOB),
        (replace(FRESH, completed_at=NOW + MINUTE), finding(), Blame.JOB),
        (replace(FRESH, completed_at=None), finding(), Blame.JOB),
        # the scheduler has just come back
        (replace(FRESH, back_at=LATE_NOW), finding(), Blame.NOBODY),
        (replace(FRESH, back_at=LATE_NOW - GRACE + TICK), finding(), Blame.NOBODY),
        (replace(FRESH, back_at=LATE_NOW - GRACE), finding(), Blame.JOB),
        (replace(FRESH, back_at=NOW), finding(), Blame.JOB),
        (replace(FRESH, back_at=LATE_NOW), finding(needs_scheduler=False), Blame.JOB),
    ],
)
def test_i47_whose_alert_a_late_time_belongs_to(watch: SchedulerWatch, late: Finding, blame: Blame) -> None:
    assert watch.blame(late, LATE_NOW) is blame
