"""What a run meets at its claim: may it still start, and what becomes of it when the slots are full.

A run that was planned in time may reach its claim much later: the stream stood still, the executor was
throttled, it was queued. So the policies that the planner applied are applied again, but only to a
scheduled run that never had a claim and that no operator touched: what has begun is finished, and what a
person asked for is done.

A backlog must not escape `catch_up=latest`: the run is superseded when the ledger holds a newer run that was
planned after it, for that one runs in its place. The records are asked, not the schedule: it may have changed
since, and then it names times that nobody planned. A run that is itself skipped runs in nobody's place.

A run that waited for a slot because its job says `overlap=queue`, or because it came late, was not held up by
a failure: its wait is no lateness, except to `max_lateness`, which no run escapes.

Neither judges before a run is later than `LATE_START`. A tick that crashes, or a stream that stands still
and leaves the work to the sweep, makes runs of an every-minute job a few minutes late; dropping those
would drop them for ever.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core.job import QUEUE_BOUND, CatchUp, Job, Overlap
from cronce.core.records import RunRecord
from cronce.core.run import RunStatus

LATE_START = timedelta(minutes=5)
"""Up to here a start counts as in time, whatever the policy."""
ON_TIME = timedelta(seconds=150)
"""A run born at most so long after its time is on time: a tick a minute, of which one may be missed."""


class FullSlots(StrEnum):
    """What becomes of a run that finds its job's slots full."""

    SKIP = "skip"
    """SKIPPED(overlap)."""
    QUEUE = "queue"
    """WAITING(queued)."""


def is_first_claim(run: RunRecord) -> bool:
    """Whether the job's policies still apply to it."""
    return run.attempt == 0 and run.is_scheduled and not run.touched


def was_born_late(run: RunRecord) -> bool:
    """Whether its record was made long after its time: caught up, backfilled, or planned once more.

    Only then may there have been a record before it that was lost.
    """
    return run.created_at - run.ref.scheduled_at > ON_TIME


def too_late(run: RunRecord, job: Job, now: datetime) -> bool:
    """Whether a run must not start any more, whatever else was planned: SKIPPED(late).

    Args:
        run: PENDING.
        job: its code.
        now: of the claim.
    """
    if not is_first_claim(run):
        return False
    lateness = now - run.ref.scheduled_at
    if job.max_lateness is not None and lateness > job.max_lateness:
        return True
    return job.catch_up is CatchUp.SKIP and _starts_late(run, job, now)


def yields_to_newer(run: RunRecord, job: Job, now: datetime) -> bool:
    """Whether a run must not start if there is one that `takes_the_place_of` it: SKIPPED(superseded).

    Args:
        run: PENDING.
        job: its code.
        now: of the claim.
    """
    return job.catch_up is CatchUp.LATEST and is_first_claim(run) and _starts_late(run, job, now)


def takes_the_place_of(newer: RunRecord, run: RunRecord) -> bool:
    """Whether a run is one that runs, ran or failed in the place of an older one.

    Only what was planned after the run's birth can be: what was due before, the planner has weighed when it
    chose this run. What was skipped runs for nobody. What an operator cancelled does count: nobody who stops
    the newest run wants an older one instead.

    Args:
        newer: any run of the same job.
        run: the one that asks to start.
    """
    return (
        newer.is_scheduled
        and newer.ref.scheduled_at > run.ref.scheduled_at
        and newer.created_at > run.created_at
        and newer.status is not RunStatus.SKIPPED
    )


def _starts_late(run: RunRecord, job: Job, now: datetime) -> bool:
    return now - _meant_to_start(run, job) > max(job.grace, LATE_START)


def _meant_to_start(run: RunRecord, job: Job) -> datetime:
    """Its time; of a run that waited in the queue, the moment when it was given a slot."""
    if run.expect_by is not None and run.expect_by - job.grace > max(run.created_at, run.ref.scheduled_at):
        return run.expect_by - job.grace
    return run.ref.scheduled_at


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
    if not (is_first_claim(run) and not was_born_late(run) and now <= run.ref.scheduled_at + job.grace):
        return FullSlots.QUEUE
    if job.overlap is Overlap.SKIP or waiting >= QUEUE_BOUND:
        return FullSlots.SKIP
    return FullSlots.QUEUE
