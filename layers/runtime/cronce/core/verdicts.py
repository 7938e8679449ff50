"""What became of one time of a job: one judgement for the watchdog and for the commands.

Two settings of a job decide: `grace`, how late success may come, and `timeout`, how long a run may take. The
grace is judged here, by the `expect_by` that stands on each record; an end by `timeout` is written on the run
as FAILED(timeout) by whoever ends it.

Guaranteed: what the watchdog tells as missed is called missed, overdue or stuck by the commands at the same
instant, and what they call so it tells, or is about to: both ask `is_late` and `late_from`. It holds back in
two windows (`SchedulerWatch.blame`): a time that was never planned, until a tick has completed since it or
the scheduler is judged silent; and a time up to the end of a silence, for its grace after that end, if only
the scheduler can bring it on its way. Of times that came due while their job
was paused the watchdog names no more than the first, and a job that a hand took out of the index it cannot
see: of that one the commands alone say that its times are missed.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core.jobstate import JobState
from cronce.core.records import RunRecord
from cronce.core.run import RunStatus

CLAIM_OVER = timedelta(minutes=5)
"""A claim that ran out so long ago has nobody behind it: the sweep takes such a run back in two minutes."""


class Verdict(StrEnum):
    """What became of one time of a job."""

    RAN = "ran"
    """It ended in success, within its grace."""
    LATE = "late"
    """It ended in success, after its grace."""
    FAILED = "failed"
    """It ended without success."""
    CANCELLED = "cancelled"
    """An operator ended it."""
    SKIPPED = "skipped"
    """It is not run: a skipped run, a gap, or the job is not in the deployment."""
    MISSED = "missed"
    """Its grace is over and it has never started: it was not planned, or no executor has claimed it."""
    OVERDUE = "overdue"
    """Its grace is over; it has started and may still succeed: it is at work, or between two attempts."""
    STUCK = "stuck"
    """Its grace is over, it has started, its worker is gone, and nobody has taken it back."""
    UNDER_WAY = "under_way"
    """It has a run that has not ended, and is in time."""
    DUE = "due"
    """Its time has come, and no tick has planned it yet."""
    TO_COME = "to_come"
    """Its time has not come."""
    UNREADABLE = "unreadable"
    """Its record, or a gap that it may lie in, is there and cannot be read."""
    NOT_BEGUN = "not_begun"
    """It lies before the planning of the job began."""
    UNRECORDED = "unrecorded"
    """It lies before what was planned, and there is no record of it."""

    @property
    def is_success(self) -> bool:
        """Whether the answer to "did it run?" is yes."""
        return self in {Verdict.RAN, Verdict.LATE}


def of_run(run: RunRecord, grace: timedelta, now: datetime) -> Verdict:
    """What became of a run.

    Args:
        run: its record.
        grace: of its job.
        now: the present.
    """
    if run.status is RunStatus.SUCCEEDED:
        return Verdict.LATE if (run.ended_at or now) > run.ref.scheduled_at + grace else Verdict.RAN
    if run.status.is_final:
        return Verdict(run.status.lower())
    if not is_late(run, now):
        return Verdict.UNDER_WAY
    if claim_is_over(run, now):
        return Verdict.STUCK
    return Verdict.OVERDUE if run.attempt else Verdict.MISSED


def of_unplanned(at: datetime, job: JobState, now: datetime) -> Verdict:
    """What became of a time that has neither run nor gap.

    Args:
        at: the time.
        job: its state.
        now: the present.
    """
    if at > now:
        return Verdict.TO_COME
    if at <= job.planned_to:
        return Verdict.NOT_BEGUN if job.began_at is not None and at <= job.began_at else Verdict.UNRECORDED
    if job.removed_at is not None:
        return Verdict.SKIPPED
    late = max(late_from(job) or at, at + job.grace)
    return Verdict.MISSED if late < now and job.paused is None else Verdict.DUE


def is_late(run: RunRecord, now: datetime) -> bool:
    """Whether a run has not ended and its grace is over; never for one that nobody waits for."""
    return not run.status.is_final and run.expect_by is not None and run.expect_by < now


def late_from(job: JobState) -> datetime | None:
    """When the next time of a job is late if it was not planned; None: nobody waits for it."""
    if job.paused or job.removed_at or job.due_at is None or job.next_at is None or job.expect_by is None:
        return None
    # A job that was resumed, with nothing missed, is due at once all the same; its next time is not late yet.
    expect_by = max(job.expect_by, job.next_at + job.grace)
    if job.resumed_at is not None and job.next_at <= job.resumed_at:
        expect_by = max(expect_by, job.resumed_at + job.grace)  # it came due while the job was paused
    return expect_by


def claim_is_over(run: RunRecord, now: datetime) -> bool:
    """Whether a run that is said to be RUNNING has nobody behind it."""
    is_running = run.status is RunStatus.RUNNING
    return is_running and run.claim_until is not None and run.claim_until + CLAIM_OVER < now
