"""Sleep: a run that waits for an instant, with no worker and at no cost.

Guaranteed: when a run goes on is decided once, at the first call, and recorded before anything follows from
    it. Whatever happens then (a crash, another attempt, a new deployment, a night without a scheduler)
    neither shortens nor extends the sleep. It spends no attempt, and its time counts neither towards
    `timeout` nor against the run's grace. The run keeps its slot.

Not guaranteed: precision. The sweep wakes what is due once a minute, and a late sweep wakes late.

A run has to be final `EXPIRY` after its creation, so it must not sleep into that: `SLEEP_UNTIL_AT_MOST`
leaves five days for what is done afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cronce.core.changes import left_running
from cronce.core.durations import duration
from cronce.core.errors import DefinitionError, StepError
from cronce.core.moves import EXPIRY
from cronce.core.records import RunRecord
from cronce.core.run import Reason, RunStatus

SLEEP_UNTIL_AT_MOST = timedelta(days=25)
"""After the creation of the run; it ends FAILED(expired) five days later."""


def wake_up_after(run: RunRecord, step: str, delay: object, now: datetime) -> datetime:
    """When a run goes on that sleeps for a while from now on.

    Args:
        run: the record.
        step: name of the sleep.
        delay: a `timedelta` or text such as "90m", at least zero.
        now: the present.

    Raises:
        StepError: it is no such duration, or too long.
    """
    try:
        wanted = duration("delay", delay)
    except DefinitionError as error:
        raise StepError(f"run {run.ref.id}: step {step!r}: {error}") from error
    return _checked(run, step, now + wanted)


def wake_up_at(run: RunRecord, step: str, instant: object) -> datetime:
    """When a run goes on that sleeps until an instant, cut to whole milliseconds; it may be past.

    Raises:
        StepError: it is no aware `datetime`, or too far ahead.
    """
    if not isinstance(instant, datetime) or instant.tzinfo is None:
        raise StepError(
            f"run {run.ref.id}: step {step!r}: sleep_until takes a datetime with a time zone, not {instant!r}"
        )
    at = instant.astimezone(UTC)
    return _checked(run, step, at.replace(microsecond=at.microsecond // 1000 * 1000))


def _checked(run: RunRecord, step: str, until: datetime) -> datetime:
    latest = run.created_at + SLEEP_UNTIL_AT_MOST
    if until > latest:
        raise StepError(
            f"run {run.ref.id}: step {step!r} would sleep until {until:%Y-%m-%d %H:%M}Z, and a run ends "
            f"{EXPIRY.days} days after its creation: sleep until {latest:%Y-%m-%d %H:%M}Z at the latest, or "
            "give what comes after it a job of its own"
        )
    return until


def fallen_asleep(run: RunRecord, until: datetime, now: datetime) -> RunRecord:
    """RUNNING -> WAITING(sleep): the next slice goes on at `until`. No attempt is spent.

    A run that was expected by a time is expected so much later.
    """
    expected = run.expect_by
    if expected is not None and expected > now:
        expected += max(until - now, timedelta(0))
    return replace(
        left_running(run, now),
        status=RunStatus.WAITING,
        reason=Reason.SLEEP,
        slice=run.slice + 1,
        due_at=until,
        expect_by=expected,
    )
