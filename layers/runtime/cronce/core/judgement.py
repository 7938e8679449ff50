"""What a run meets at its claim: may it still start, and what becomes of it when the slots are full.

A run that was planned in time may reach its claim much later: the stream stood still, the executor was
throttled, it was queued. So the policies that the planner applied are applied again, but only to a
scheduled run that never had a claim and that no operator touched: what has begun is finished, and what a
person asked for is done.

A backlog must not escape `catch_up=latest`: the run is superseded when the schedule names a later time
that is already accounted for (`planned_to`), for that one will run in its place. A time that the job's
calendar excludes runs in nobody's place.

Neither judges before a run is later than `LATE_START`. A tick that crashes, or a stream that stands still
and leaves the work to the sweep, makes runs of an every-minute job a few minutes late; dropping those
would drop them for ever.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core.job import QUEUE_BOUND, CatchUp, Job, Overlap
from cronce.core.records import RunRecord
from cronce.core.run import Reason

LATE_START = timedelta(minutes=5)
"""Up to here a start counts as in time, whatever the policy."""
ON_TIME = timedelta(seconds=150)
"""A run born at most so long after its time is on time: a tick a minute, of which one may be missed."""


LOOKED_AT = 1000
"""Later times that are looked at; where all of them are excluded the run may start, it is the newest."""


class FullSlots(StrEnum):
    """What becomes of a run that finds its job's slots full."""

    SKIP = "skip"
    """SKIPPED(overlap)."""
    QUEUE = "queue"
    """WAITING(queued)."""


def is_first_claim(run: RunRecord) -> bool:
    """Whether the job's policies still apply to it."""
    return run.attempt == 0 and run.is_scheduled and not run.touched


def too_late(run: RunRecord, job: Job, planned_to: datetime, now: datetime) -> Reason | None:
    """Why a run must not start any more: LATE or SUPERSEDED; None = it may start.

    May call the author's calendar, so it may raise anything, and take any time.

    Args:
        run: PENDING.
        job: its code.
        planned_to: up to here the job's occurrences are accounted for.
        now: of the claim.
    """
    lateness = now - run.ref.scheduled_at
    if not is_first_claim(run):
        return None
    if job.max_lateness is not None and lateness > job.max_lateness:
        return Reason.LATE
    if lateness <= max(job.grace, LATE_START):
        return None
    if job.catch_up is CatchUp.SKIP:
        return Reason.LATE
    if job.catch_up is CatchUp.LATEST:
        return Reason.SUPERSEDED if _has_successor(run, job, planned_to) else None
    return None


def _has_successor(run: RunRecord, job: Job, planned_to: datetime) -> bool:
    """Whether a later time that is accounted for was not excluded.

    Only times after the run's birth can take its place: what was due before then the planner has weighed, by
    the schedule in force at that time, and it chose this run.
    """
    later = job.schedule.next_after(max(run.ref.scheduled_at, run.created_at))
    for _ in range(LOOKED_AT):
        if later is None or later > planned_to:
            return False
        if not job.is_excluded(later):
            return True
        later = job.schedule.next_after(later)
    return False


def with_full_slots(run: RunRecord, job: Job, waiting: int, now: datetime) -> FullSlots:
    """What becomes of a run when the slots are full.

    Overlap judges on-time runs only. Late, caught-up, backfilled and manual ones wait in order whatever
    the policy.

    Args:
        run: PENDING.
        job: its code.
        waiting: how many are queued.
        now: of the claim.
    """
    born_on_time = run.created_at - run.ref.scheduled_at <= ON_TIME
    if not (is_first_claim(run) and born_on_time and now <= run.ref.scheduled_at + job.grace):
        return FullSlots.QUEUE
    if job.overlap is Overlap.SKIP or waiting >= QUEUE_BOUND:
        return FullSlots.SKIP
    return FullSlots.QUEUE
