"""The moves of a run: each takes the record and returns the record after. `core.run` says which exist.

What is written down here once, so that no caller juggles fields:

* Every move to PENDING asks the stream to dispatch it and comes back to the sweep after
  `PENDING_REDISPATCH[0]`.
* Every move out of RUNNING passes through `left_running`: owner moved, execution added up, claim gone.
* `slice` is 0 while no attempt is under way. A claim that finds 0 begins a new attempt; any other goes on
  with the same.
* Every end sets `ended_at` and `forget_at`, and is in the index only if it must be told.
* A run whose operator asked for its end is cancelled at the next move that would let it go on.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from cronce.core.attempts import noted, with_error
from cronce.core.changes import left_running
from cronce.core.claim import TRUST_MARGIN, Invocation, claim_end
from cronce.core.records import RunRecord
from cronce.core.run import Dispatch, Notice, Reason, RunStatus
from cronce.core.values import dataclass

PENDING_REDISPATCH = tuple(timedelta(minutes=minutes) for minutes in (2, 4, 8, 16, 30))
"""When the sweep looks again at a PENDING run: soon after a lost event, rarely under throttling."""
QUEUE_FALLBACK = timedelta(minutes=10)
"""A queued run is woken by whoever frees the slot; this is for the wake-up that got lost."""
UNKNOWN_JOB_WAIT = timedelta(minutes=15)
"""How long a run waits for a job that is not deployed: longer than a rollback or a fixed deployment takes."""
UNKNOWN_JOB_AGAIN = timedelta(minutes=1)
"""How soon an executor looks for that job again: a deployment or a corrected module ends the wait."""
NEWER_AGAIN = timedelta(minutes=2)
"""An item that a later release wrote is that release's: this one looks whether it is back."""
EXPIRY = timedelta(days=30)
"""A run that is not final so long after its creation never will be."""
TOLD_SKIPS = frozenset({Reason.LATE, Reason.OVERLAP})
"""Skips that the watchdog has to look at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """How an attempt failed.

    Attributes:
        reason: ERROR, LOST or NO_PROGRESS: what the run ends with if there is no further attempt.
        text: what is kept as the error.
        delay: from now until the next attempt.
        permanent: no further attempt.
    """

    reason: Reason
    text: str
    delay: timedelta = timedelta(0)
    permanent: bool = False


# --- to PENDING -------------------------------------------------------------------------------------------


def to_dispatch(run: RunRecord, now: datetime) -> RunRecord:
    """WAITING -> PENDING: its backoff or sleep is over."""
    return replace(
        run,
        status=RunStatus.PENDING,
        reason=None,
        dispatch=Dispatch.STREAM,
        dispatches=0,
        due_at=now + PENDING_REDISPATCH[0],
    )


def woken(run: RunRecord, now: datetime, grace: timedelta) -> RunRecord:
    """WAITING(queued) -> PENDING: it was given a slot. A scheduled run is expected within the grace."""
    return replace(to_dispatch(run, now), expect_by=now + grace if run.is_scheduled else None)


def next_slice(run: RunRecord, now: datetime) -> RunRecord:
    """RUNNING -> PENDING: the invocation is nearly over, the next one goes on. No attempt is spent."""
    return replace(to_dispatch(left_running(run, now), now), slice=run.slice + 1)


def redispatched(run: RunRecord, now: datetime, *, accepted: bool) -> RunRecord:
    """PENDING -> PENDING: the sweep asked for an executor itself.

    Args:
        run: the record.
        now: of the sweep.
        accepted: whether the request was. If it was not, the pause does not grow.
    """
    asked = run.dispatches + 1 if accepted else run.dispatches
    pause = PENDING_REDISPATCH[min(asked, len(PENDING_REDISPATCH)) - 1] if accepted else PENDING_REDISPATCH[0]
    return replace(run, dispatch=Dispatch.SWEEP, dispatches=asked, due_at=now + pause)


# --- to RUNNING -------------------------------------------------------------------------------------------


def claimed(run: RunRecord, invocation: Invocation, token: int, now: datetime) -> RunRecord:
    """PENDING -> RUNNING under this invocation: a new attempt, or the next slice of the one under way."""
    if run.slice == 0:
        run = replace(run, attempt=run.attempt + 1, slice=1, attempt_started_at=now)
    begun = replace(
        run,
        status=RunStatus.RUNNING,
        reason=None,
        owner=invocation.owner,
        fencing_token=token,
        started_at=run.started_at or now,
        attempt_ended_at=None,
        attempt_outcome=None,
        slice_started_at=now,
        slice_ends_at=invocation.deadline,
        dispatch=None,
        dispatches=0,
        unknown_since=None,
        request_id=invocation.request_id,
        log_stream=invocation.log_stream,
        error=None,
        error_kept=False,
    )
    until = claim_end(begun, now, invocation.deadline)
    return replace(begun, claim_until=until, due_at=until)


# --- to WAITING -------------------------------------------------------------------------------------------


def queued(run: RunRecord, now: datetime) -> RunRecord:
    """PENDING -> WAITING(queued): no slot is free. It is not expected before it is woken.

    Who asked for the slot had the job's code, so a deployment without it has its full wait again.
    """
    return replace(_waiting(run, Reason.QUEUED, now + QUEUE_FALLBACK), expect_by=None, unknown_since=None)


def look_again(run: RunRecord, due_at: datetime) -> RunRecord:
    """The same state: somebody looked, and has to look again at `due_at`."""
    return replace(run, due_at=due_at)


def attempt_failed(run: RunRecord, failure: Failure, now: datetime, retention: timedelta) -> RunRecord:
    """RUNNING -> WAITING(backoff), or an end if there is no further attempt."""
    if run.cancel_requested:
        return cancelled(run, now, retention)
    if failure.permanent or run.attempt >= run.max_attempts:
        return failed(run, failure.reason, failure.text, now, retention)
    kept = with_error(_attempt_over(run, failure.reason, now), failure.text)
    return replace(_waiting(kept, Reason.BACKOFF, now + failure.delay), slice=0)


def lost(run: RunRecord, now: datetime, delay: timedelta, retention: timedelta) -> RunRecord:
    """RUNNING under an expired claim -> WAITING(backoff), FAILED(lost), or FAILED(timeout).

    Execution is counted up to the end of the claim, as far as the worker can have gone: a run whose worker
    died is not timed out because nobody looked for an hour. A claim never stands past the timeout, so it
    counts in full there.
    """
    if left_running(run, now).executed >= run.timeout:
        return timed_out(run, now, retention)
    failure = Failure(reason=Reason.LOST, text=_how_lost(run), delay=delay)
    return attempt_failed(run, failure, now, retention)


def _how_lost(run: RunRecord) -> str:
    """A worker that renewed its claim up to the end of its invocation was most likely cut off by it."""
    seen = f"{run.claim_until:%Y-%m-%d %H:%M:%S}Z" if run.claim_until else "its claim"
    cut_off = run.claim_until and run.slice_ends_at and run.claim_until >= run.slice_ends_at + TRUST_MARGIN
    if cut_off:
        return (
            f"its invocation ended at {run.slice_ends_at:%H:%M:%S}Z in the middle of a step: no step may "
            f"take longer. Make it smaller (`run.each`), or set ExecutorTimeout (request {run.request_id})"
        )
    return f"worker lost: no sign of life past {seen} (attempt {run.attempt}, request {run.request_id})"


def job_unknown(run: RunRecord, problem: str, now: datetime, retention: timedelta) -> RunRecord:
    """PENDING -> WAITING(backoff) while its job may yet be deployed, then FAILED(unknown_job).

    It is looked for every `UNKNOWN_JOB_AGAIN`, for `UNKNOWN_JOB_WAIT` in all. No attempt is spent; the record
    says what it waits for.
    """
    since = run.unknown_since or now
    if now >= since + UNKNOWN_JOB_WAIT:
        return failed(run, Reason.UNKNOWN_JOB, problem, now, retention)
    again = min(now + UNKNOWN_JOB_AGAIN, since + UNKNOWN_JOB_WAIT)
    waiting = _waiting(noted(run, problem), Reason.BACKOFF, again)
    return replace(waiting, unknown_since=since)


def left_to_newer(run: RunRecord, problem: str, now: datetime, retention: timedelta) -> RunRecord:
    """RUNNING -> WAITING(backoff): what it has done was recorded by a later release, which was taken back.

    No attempt is spent: that release may come again, and until then nobody knows what must not be repeated.
    """
    if run.cancel_requested:
        return cancelled(run, now, retention)
    waiting = _waiting(noted(left_running(run, now), problem), Reason.BACKOFF, now + NEWER_AGAIN)
    return replace(waiting, slice=run.slice + 1)


def _waiting(run: RunRecord, reason: Reason, due_at: datetime) -> RunRecord:
    return replace(run, status=RunStatus.WAITING, reason=reason, due_at=due_at, dispatch=None, dispatches=0)


# --- ends -------------------------------------------------------------------------------------------------


def succeeded(run: RunRecord, now: datetime, retention: timedelta) -> RunRecord:
    """RUNNING -> SUCCEEDED."""
    over = replace(left_running(run, now), attempt_ended_at=now)
    return _ended(over, RunStatus.SUCCEEDED, None, now, retention)


def failed(run: RunRecord, reason: Reason, text: str, now: datetime, retention: timedelta) -> RunRecord:
    """-> FAILED, from RUNNING or before it started. It must be told."""
    if run.status is RunStatus.RUNNING:
        over = with_error(_attempt_over(run, reason, now), text)
    else:
        over = noted(run, text)
    return _ended(over, RunStatus.FAILED, reason, now, retention)


def timed_out(run: RunRecord, now: datetime, retention: timedelta) -> RunRecord:
    """-> FAILED(timeout): its execution, over all attempts and slices, reached the job's timeout."""
    return failed(run, Reason.TIMEOUT, f"ran longer than its timeout of {run.timeout}", now, retention)


def cancelled(run: RunRecord, now: datetime, retention: timedelta) -> RunRecord:
    """-> CANCELLED, as an operator asked."""
    over = replace(left_running(run, now), attempt_ended_at=now) if run.status is RunStatus.RUNNING else run
    return _ended(over, RunStatus.CANCELLED, Reason.OPERATOR, now, retention)


def skipped(run: RunRecord, reason: Reason, now: datetime, retention: timedelta) -> RunRecord:
    """PENDING -> SKIPPED: it is not run, for that reason."""
    return _ended(run, RunStatus.SKIPPED, reason, now, retention)


def expired(run: RunRecord, now: datetime, retention: timedelta) -> RunRecord:
    """PENDING or WAITING -> FAILED(expired): `EXPIRY` after its creation."""
    return failed(run, Reason.EXPIRED, f"not finished {EXPIRY.days} days after its creation", now, retention)


def _ended(
    run: RunRecord, status: RunStatus, reason: Reason | None, now: datetime, retention: timedelta
) -> RunRecord:
    tell = status is RunStatus.FAILED or reason in TOLD_SKIPS
    return replace(
        run,
        status=status,
        reason=reason,
        ended_at=now,
        forget_at=now + retention,
        notice=Notice.PENDING if tell else None,
        due_at=now if tell else None,
        dispatch=None,
        dispatches=0,
        cancel_requested=False,
    )


def _attempt_over(run: RunRecord, outcome: Reason, now: datetime) -> RunRecord:
    return replace(left_running(run, now), attempt_ended_at=now, attempt_outcome=outcome)
