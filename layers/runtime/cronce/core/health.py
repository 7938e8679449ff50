"""What is wrong with the jobs of a deployment: the judgements of the watchdog.

Guaranteed: a time that is past its `expect_by` without success is found wherever it got stuck. It is looked
for in the unfinished runs *and* in the jobs themselves, because a time that was never planned has no run: the
watchdog does not trust the scheduler that it watches. An end that must be told carries `notice = pending`
until it is part of an alert.

Not guaranteed: that a time is judged to the second. A patrol comes once a minute.

Formula: late is `expect_by < now`. `expect_by` is written with the item (occurrence + grace), so nothing here
knows the jobs' code. The scheduler is silent when its last complete tick is older than `SILENT_AFTER`.

Failure cases: while the scheduler is silent, what only it can bring on its way (times that were never
planned, runs that wait for the sweep) is its fault, not the jobs', and is named in its alert. Once it is back
they have their grace again. Before it is judged silent, a time that came due after its last complete tick is
not judged at all: either a tick plans it in a moment, or the silence is told.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core.alerts import Trouble, TroubledTime
from cronce.core.errors import DefinitionError
from cronce.core.instants import to_text
from cronce.core.jobstate import Held, JobState
from cronce.core.lease import Lease
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Dispatch, Reason, RunStatus
from cronce.core.schedule import schedule_from_spec
from cronce.core.values import dataclass
from cronce.core.verdicts import Verdict, claim_is_over, is_late, late_from, of_run

SILENT_AFTER = timedelta(minutes=4)
"""Ticks come within each minute and may take 45 s, so two in a row can be lost without a word; with a patrol
a minute a dead scheduler is told within seven minutes, and a time with the shortest grace (one minute) within
grace + 3."""
TIMES_A_PATROL = 5000
"""Unplanned times of one job that one patrol works out; the next one goes on after them."""

_STRICTLY = timedelta(milliseconds=1)
# A time is late after its grace has passed, not at the instant.


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something about one time (or a stretch of times) that an alert must list.

    Attributes:
        time: what the alert lists.
        verdict: what the commands call it.
        expect_by: since when it is late; None for an end.
        grace: how long it had; zero for an end.
        never_planned: it has no run record.
        needs_scheduler: only the scheduler can bring it on its way.
        count: how many times it stands for.
        last: the last of them.
    """

    time: TroubledTime
    verdict: Verdict = Verdict.MISSED
    expect_by: datetime | None = None
    grace: timedelta = timedelta(0)
    never_planned: bool = False
    needs_scheduler: bool = False
    count: int = 1
    last: datetime | None = None


class Blame(StrEnum):
    """Whose alert a finding belongs to."""

    JOB = "job"
    """The job's own."""
    SCHEDULER = "scheduler"
    """The scheduler's: it is silent, and only it could have helped."""
    NOBODY = "nobody"
    """Not judged yet: the scheduler may be about to plan it, or has just come back and gets its grace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulerWatch:
    """What is known of the scheduler.

    Attributes:
        completed_at: when a tick last completed; None = never, or there is no lease.
        silent: whether that is too long ago.
        back_at: when its last silence ended; None = there was none.
    """

    completed_at: datetime | None
    silent: bool
    back_at: datetime | None = None

    @property
    def alive(self) -> bool:
        """Whether it is known to complete its ticks; what is not known is neither silent nor alive."""
        return self.completed_at is not None and not self.silent

    def blame(self, finding: Finding, now: datetime) -> Blame:
        """Whose alert a finding belongs to."""
        if not finding.needs_scheduler or finding.expect_by is None:
            return Blame.JOB
        if self.silent:
            return Blame.SCHEDULER
        no_tick_since = self.completed_at is not None and self.completed_at < finding.time.scheduled_at
        if finding.never_planned and no_tick_since:
            return Blame.NOBODY
        if self.back_at is not None and finding.time.scheduled_at <= self.back_at:
            return Blame.NOBODY if now < self.back_at + finding.grace else Blame.JOB
        return Blame.JOB


def is_silent(lease: Lease | None, now: datetime) -> bool:
    """Whether no tick has completed for too long; judged only once there is a lease and a first tick."""
    return lease is not None and lease.completed_at is not None and lease.completed_at < now - SILENT_AFTER


def silence(completed_at: datetime) -> Finding:
    """The scheduler's silence, as a finding of its own."""
    return Finding(
        time=TroubledTime(
            scheduled_at=completed_at,
            trouble=Trouble.SILENT,
            detail=f"no tick completed since {to_text(completed_at)}",
        )
    )


def overdue_run(run: RunRecord, now: datetime) -> Finding | None:
    """The finding about an unfinished run past its `expect_by`, or None if nothing is late."""
    if not is_late(run, now) or run.expect_by is None:
        return None
    claimed = run.status is RunStatus.RUNNING and run.claim_until is not None and run.claim_until >= now
    return Finding(
        time=time_of(run.ref, Trouble.MISSED, _progress(run, now)),
        verdict=of_run(run, timedelta(0), now),
        expect_by=run.expect_by,
        grace=max(run.expect_by - max(run.ref.scheduled_at, run.created_at), timedelta(0)),
        needs_scheduler=not claimed,
    )


def overdue_times(job: JobState, now: datetime, after: datetime | None = None) -> list[Finding]:
    """Findings about the times of a job that should long have been planned, oldest first.

    Args:
        job: its state, as read just now.
        now: the present.
        after: times up to here are known already.
    """
    expect_by = late_from(job)
    if expect_by is None or expect_by >= now or job.next_at is None:
        return []
    return [
        Finding(
            time=TroubledTime(
                scheduled_at=at, trouble=Trouble.MISSED, detail=f"never planned: {_why(job)}", job=job.name
            ),
            expect_by=max(expect_by, at + job.grace),
            grace=job.grace,
            never_planned=True,
            needs_scheduler=job.held is not Held.UNAVAILABLE,
        )
        for at in _late_times(job, job.next_at, now, after)
    ]


def _late_times(job: JobState, first: datetime, now: datetime, after: datetime | None) -> list[datetime]:
    try:
        schedule = schedule_from_spec(job.schedule)
    except DefinitionError:
        return [first] if after is None or first > after else []  # the item says at least this one
    # What came due during a pause is not listed one by one: most of it will not run.
    start = max(at for at in (job.planned_to, job.resumed_at, after) if at is not None)
    times = schedule.between(start, now - job.grace - _STRICTLY, limit=TIMES_A_PATROL)
    return times if after is not None or first in times else [first, *times]


def _why(job: JobState) -> str:
    if job.held is Held.UNAVAILABLE:
        return f"its module {job.module} does not import in this deployment"
    if job.held is Held.BEHIND:
        return "the scheduler is still catching up with what is due"
    return "no tick of the scheduler has written a record for it"


def _progress(run: RunRecord, now: datetime) -> str:
    """How far an unfinished run came."""
    if run.attempt == 0:
        waits = "it waits for its turn" if run.status is RunStatus.WAITING else _unclaimed(run)
        return f"never started: {waits}{error_of(run)}"
    attempt = f"attempt {run.attempt} of {run.max_attempts}"
    started = to_text(run.attempt_started_at) if run.attempt_started_at else "at a time not known"
    state = f"started {started} and is not finished"
    if run.reason is Reason.BACKOFF and run.due_at is not None:
        state = f"did not succeed, the next one starts {to_text(run.due_at)}"
    elif claim_is_over(run, now) and run.claim_until is not None:
        state = f"started {started}, and its worker is gone since {to_text(run.claim_until)}"
    return f"{attempt} {state}{error_of(run)}{trace_of(run)}"


def _unclaimed(run: RunRecord) -> str:
    """Who is to blame that nobody has claimed a run, as far as its record says.

    It names no number that grows from patrol to patrol: each would cost a write of the alert.
    """
    if run.dispatches:
        return "no executor has claimed it, though the scheduler has asked for one"
    if run.dispatch is Dispatch.SWEEP:
        return "Lambda takes no call of the executor"
    return "no executor has claimed it"


def time_of(ref: RunRef, trouble: Trouble, detail: str, ended_at: datetime | None = None) -> TroubledTime:
    """What an alert lists of a run."""
    return TroubledTime(
        scheduled_at=ref.scheduled_at,
        trouble=trouble,
        detail=detail,
        job=ref.job,
        suffix=ref.suffix,
        ended_at=ended_at,
    )


def error_of(run: RunRecord) -> str:
    """The last error, in one line, as the end of a sentence."""
    return f": {' '.join(run.error.split())}" if run.error else ""


def trace_of(run: RunRecord) -> str:
    """Where to look in the executor's log, as the end of a sentence."""
    places = (("log stream", run.log_stream), ("request", run.request_id))
    known = ", ".join(f"{name} {value}" for name, value in places if value)
    return f" [{known}]" if known else ""
