"""Ends that people must be told, each once.

An end that must be told carries `notice = pending` from the write that made it until it is part of an alert:
runs that failed, runs and stretches of times that were skipped as too late or as too many. It does not matter
which worker wrote it, or whether that one lived any longer.

Skipped for overlap is everyday for a job that takes longer than its interval. It is told only if the job has
not succeeded for `OVERLAP_PATIENCE` (or for its grace, if that is longer). A new job, or one just back from
an outage, has had no time to succeed: about its skips nothing is said before the patience has passed.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from cronce.core.alerts import Trouble, TroubledTime
from cronce.core.health import Finding, error_of, time_of, trace_of
from cronce.core.instants import from_key, to_text
from cronce.core.jobstate import Gap, GapReason
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Notice, Reason, RunStatus

OVERLAP_PATIENCE = timedelta(hours=1)
"""So long without a success, an overlap is no longer everyday."""

_SKIPS = {Reason.LATE: Trouble.LATE, Reason.OVERLAP: Trouble.OVERLAP}
_GAPS = {GapReason.LATE: Trouble.LATE, GapReason.CATCH_UP_LIMIT: Trouble.CATCH_UP_LIMIT}
_INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_GAP_KEY = re.compile(rf"GAP#(?P<first>{_INSTANT})#{_INSTANT}#(?P<reason>[a-z_]+)")
_LATER_THAN = "it would have started later than the job's policy allows"


def unreadable(ref: RunRef, trouble: Trouble, problem: str) -> Finding:
    """The finding about a run that must be told, although its record cannot be understood."""
    return Finding(time=time_of(ref, trouble, f"its record cannot be read: {problem}"))


def unreadable_gap(job: str, sort_key: str) -> Finding | None:
    """The finding about a gap that cannot be understood; None if not even its key can."""
    match = _GAP_KEY.fullmatch(sort_key)
    reasons = {reason.value: trouble for reason, trouble in _GAPS.items()}
    trouble = reasons.get(match["reason"] if match else "")
    if match is None or trouble is None:
        return None
    detail = "the record of a stretch of skipped times cannot be read"
    at = from_key(match["first"])
    return Finding(time=TroubledTime(scheduled_at=at, trouble=trouble, detail=detail, job=job))


def end_to_tell(run: RunRecord) -> Finding | None:
    """The finding about a run's end that must be told; None if it was told, or is no such end."""
    if run.notice is not Notice.PENDING:
        return None
    if run.status is RunStatus.FAILED:
        return Finding(time=time_of(run.ref, Trouble.FAILED, _failure(run), run.ended_at))
    if run.status is RunStatus.SKIPPED and run.reason in _SKIPS:
        late = run.reason is Reason.LATE
        detail = _LATER_THAN if late else "other runs held the job's places, and none has succeeded for long"
        return Finding(time=time_of(run.ref, _SKIPS[run.reason], f"skipped: {detail}", run.ended_at))
    return None


def gap_to_tell(gap: Gap) -> Finding | None:
    """The finding about a gap that must be told; None if it was told, or is no such gap."""
    if gap.notice is not Notice.PENDING or gap.reason not in _GAPS:
        return None
    extent = "one time" if gap.count == 1 else f"{gap.count} times, the last of them {to_text(gap.last)},"
    late = gap.reason is GapReason.LATE
    why = _LATER_THAN if late else "more were missed than the job catches up"
    return Finding(
        time=TroubledTime(
            scheduled_at=gap.first, trouble=_GAPS[gap.reason], detail=f"{extent} skipped: {why}", job=gap.job
        ),
        count=gap.count,
        last=gap.last,
    )


def overlap_is_news(
    run: RunRecord, last_success: datetime | None, grace: timedelta, now: datetime
) -> bool | None:
    """Whether SKIPPED(overlap) must be told.

    Args:
        run: the skipped run.
        last_success: when the job last succeeded, if that is known.
        grace: the job's.
        now: the present.

    Returns:
        False: the job works, it need not be told. True: nothing has succeeded for too long. None: that cannot
        be said before `overlap_known_at`; a new job, or one just back from an outage, has had no time to
        succeed.
    """
    patience = max(grace, OVERLAP_PATIENCE)
    if last_success is not None and last_success > now - patience:
        return False
    return True if now >= overlap_known_at(run, grace) else None


def overlap_known_at(run: RunRecord, grace: timedelta) -> datetime:
    """When it can be said whether a skip for overlap must be told."""
    return (run.ended_at or run.created_at) + max(grace, OVERLAP_PATIENCE)


def _failure(run: RunRecord) -> str:
    when = f"after attempt {run.attempt} of {run.max_attempts}" if run.attempt else "before any attempt"
    return f"ended FAILED({run.reason}) {when}{error_of(run)}{trace_of(run)}"
