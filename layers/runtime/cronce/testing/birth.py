"""The birth of the one run of a job that is tested, and its job's item."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from cronce.core.changes import Guard, RunChange
from cronce.core.job import Job
from cronce.core.jobstate import JobState
from cronce.core.moves import PENDING_REDISPATCH
from cronce.core.records import INLINE_LIMIT, RunRecord, RunRef
from cronce.core.run import Dispatch, RunStatus, Trigger
from cronce.core.run_input import RunInput, given_input, input_size
from cronce.testing.clock import FIRST_INSTANT

AFTER_THE_MINUTE = timedelta(seconds=4)
"""EventBridge delivers some seconds after the full minute."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
INSTANT = timedelta(seconds=1)
"""Occurrences are whole seconds: from `at - INSTANT` to `at` there is one of them at most."""


def born(job: Job, at: datetime | None, given: object) -> RunChange:
    """The birth of a run.

    Args:
        job: whose.
        at: the occurrence; None: the first one of 2026.
        given: the input of a manual trigger; None: there is none.

    Raises:
        ValueError: there is no such occurrence, or the input is not for a run.
    """
    scheduled_at = _occurrence(job, at) if given is None or at is None else _aware(job, at)
    now = scheduled_at + AFTER_THE_MINUTE
    text = None if given is None else given_input(_json(job, given))
    apart = text is not None and input_size(text) > INLINE_LIMIT
    run = RunRecord(
        ref=RunRef(job.name, scheduled_at, "" if given is None else "test"),
        trigger=Trigger.SCHEDULE if given is None else Trigger.MANUAL,
        status=RunStatus.PENDING,
        created_at=now,
        scheduled_local=job.schedule.local(scheduled_at).isoformat(),
        timeout=job.timeout,
        max_attempts=job.retry.attempts,
        due_at=now + PENDING_REDISPATCH[0],
        expect_by=scheduled_at + job.grace if given is None else None,
        dispatch=Dispatch.STREAM,
        input=None if apart else text,
        input_kept=apart,
    )
    kept = RunInput(ref=run.ref, text=text, at=now) if text is not None and apart else None
    return RunChange(before=None, after=run, guard=Guard.BORN, input=kept)


def _json(job: Job, given: object) -> str:
    try:
        return json.dumps(given, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"job {job.name!r}: JSON cannot carry the input: {error}") from None


def _aware(job: Job, at: object) -> datetime:
    if not isinstance(at, datetime):
        raise TypeError(
            f"job {job.name!r}: `at` takes a datetime, such as datetime(..., tzinfo=UTC), not {at!r}"
        )
    if at.tzinfo is None:
        raise ValueError(f"job {job.name!r}: `at` takes an aware instant, such as datetime(..., tzinfo=UTC)")
    return at.astimezone(UTC).replace(microsecond=0)


def _occurrence(job: Job, at: datetime | None) -> datetime:
    """The occurrence of that instant, or the first one.

    Raises:
        ValueError: the schedule does not name it, or the job's calendar excludes it.
    """
    if at is None:
        first = job.schedule.next_after(FIRST_INSTANT) or job.schedule.next_after(LONG_AGO)
        if first is None:
            raise ValueError(f"job {job.name!r}: its schedule has no time")
        return first
    at = _aware(job, at)
    if not job.schedule.between(at - INSTANT, at):
        later = job.schedule.next_after(at)
        what = f"its next time after that is {later:%Y-%m-%d %H:%M:%S}Z" if later else "no time comes later"
        raise ValueError(f"job {job.name!r}: its schedule does not name {at:%Y-%m-%d %H:%M:%S}Z; {what}")
    if job.is_excluded(at):
        raise ValueError(f"job {job.name!r}: its calendar excludes {at:%Y-%m-%d %H:%M:%S}Z")
    return at


def state_of(job: Job, run: RunRecord) -> JobState:
    """The job's item, everything up to the run being accounted for. No tick looks at it.

    Args:
        job: as declared.
        run: its only one.
    """
    return JobState(
        name=job.name,
        module=job.module,
        schedule=job.schedule.spec(),
        schedule_hash="test",
        grace=job.grace,
        planned_to=run.ref.scheduled_at,
        planned_local=job.schedule.local(run.ref.scheduled_at).replace(tzinfo=None),
        next_at=job.schedule.next_after(run.ref.scheduled_at),
        expect_by=None,
        due_at=None,
    )
