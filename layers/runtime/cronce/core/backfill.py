"""Runs for occurrences of the past that have none, because a person asks for them.

What is asked for is looked at first, occurrence by occurrence, by the schedule in force now: which of them
get a run, which are accounted for already, which are nobody's to ask for. Then each gets its run in a write
of its own, oldest first, under the occurrence's own id and key and on the condition that there is no record
of it. So a backfill that breaks off can be given again, two of them at once make no second run, and one that
meets the scheduler leaves one run, whoever was first. Where planning stands is not touched.

Left alone are

* what has a record, whatever became of it (a run that failed or was skipped is retried instead);
* what lies in a gap, unless that is asked for; a record inside a gap outranks it;
* what has a record, or may lie in a gap, that cannot be read (`core.found`);
* what the scheduler has not planned yet: it will, by the job's policy. While the job is paused it will not,
  and what is settled in a job that was set back it steps over, so a person may;
* what the job's calendar excludes, what has not come yet, and what is so old that its record may have existed
  and be forgotten.

A backfilled run waits in line whatever the job does with overlaps. As long as nobody waits and a slot is
free, it is PENDING and holds that slot from its birth, like one that was woken; then it is queued, on the
condition that the slots are what was read. So there is always somebody who wakes the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core import moves, slots
from cronce.core.acts import Act
from cronce.core.catch_up import FORGETTING_MARGIN
from cronce.core.changes import Guard, RunChange, SlotsChange
from cronce.core.errors import DefinitionError, OperationRefusedError
from cronce.core.found import Unread, accounting_for
from cronce.core.instants import to_key
from cronce.core.job import Job
from cronce.core.jobstate import Gap, JobState
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Dispatch, RunStatus, Trigger
from cronce.core.schedule import schedule_from_spec
from cronce.core.slots import RunPolicy
from cronce.core.values import dataclass

MOST_TIMES = 5_000
"""Occurrences that one backfill looks at: three days of every minute, thirteen years of every day."""

_JUST_BEFORE = timedelta(milliseconds=1)


class FillFate(StrEnum):
    """What becomes of an occurrence when it is backfilled."""

    CREATE = "create"
    """It gets a run."""
    RECORD = "record"
    """It has a record."""
    GAP = "gap"
    """It lies in a gap."""
    UNREADABLE = "unreadable"
    """What accounts for it, or may, cannot be read."""
    EXCLUDED = "excluded"
    """The job's calendar excludes its date."""
    PLANNER = "planner"
    """The scheduler has not planned it yet, and will."""
    FUTURE = "future"
    """It has not come yet."""
    TOO_OLD = "too_old"
    """Its record may have existed and be forgotten."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FillTime:
    """An occurrence that was asked for.

    Attributes:
        at: when.
        fate: what becomes of it.
        detail: status and reason of its record, the reason of its gap, or what cannot be read and why.
    """

    at: datetime
    fate: FillFate
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillPlan:
    """What a backfill would do, as things stand.

    Attributes:
        job: its name.
        schedule_hash: of the schedule that named the times.
        times: all that were asked for, oldest first.
    """

    job: str
    schedule_hash: str
    times: tuple[FillTime, ...]

    @property
    def to_create(self) -> tuple[datetime, ...]:
        """The occurrences that get a run."""
        return tuple(time.at for time in self.times if time.fate is FillFate.CREATE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What an operator asks for.

    Attributes:
        since: the first instant.
        until: the last instant.
        gaps: times in gaps too.
    """

    since: datetime
    until: datetime
    gaps: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is known about the times.

    Attributes:
        runs: records of them, as far as there are any.
        gaps: of the job.
        unread: what cannot be read among records and gaps.
        excluded: whether its calendar excludes an instant.
        now: the present.
        retention: how long records are kept.
    """

    runs: Mapping[RunRef, RunRecord]
    gaps: Sequence[Gap]
    unread: Sequence[Unread] = ()
    excluded: Callable[[datetime], bool]
    now: datetime
    retention: timedelta


def occurrences(state: JobState, asked: Asked) -> list[datetime]:
    """The occurrences that were asked for, ascending, by the schedule in force.

    Raises:
        OperationRefusedError: the stretch is backwards or holds too many, or the schedule cannot be read.
    """
    if asked.since > asked.until:
        raise OperationRefusedError(
            f"a backfill goes from an earlier time to a later one, not from {_said(asked.since)} "
            f"to {_said(asked.until)}"
        )
    try:
        schedule = schedule_from_spec(state.schedule)
    except DefinitionError as error:
        raise OperationRefusedError(f"job {state.name}: its schedule cannot be read: {error}") from error
    times = schedule.between(asked.since - _JUST_BEFORE, asked.until, limit=MOST_TIMES + 1)
    if len(times) > MOST_TIMES:
        raise OperationRefusedError(
            f"job {state.name} has more than {MOST_TIMES} times from {_said(asked.since)} to "
            f"{_said(asked.until)}: ask for a part of it, for example up to {_said(times[MOST_TIMES - 1])}"
        )
    return times


def backfill_plan(state: JobState, times: Sequence[datetime], asked: Asked, known: Known) -> BackfillPlan:
    """What becomes of each occurrence.

    Args:
        state: the job as read.
        times: the occurrences that were asked for.
        asked: what else was asked for.
        known: what is known about them.
    """
    judged = tuple(_judged(state, at, asked, known) for at in times)
    return BackfillPlan(job=state.name, schedule_hash=state.schedule_hash, times=judged)


def _judged(state: JobState, at: datetime, asked: Asked, known: Known) -> FillTime:
    if at > known.now:
        return FillTime(at=at, fate=FillFate.FUTURE)
    if at < known.now - (known.retention - FORGETTING_MARGIN):
        return FillTime(at=at, fate=FillFate.TOO_OLD)
    run = known.runs.get(RunRef(state.name, at))
    if run is not None:
        detail = f"{run.status}({run.reason})" if run.reason else run.status.value
        return FillTime(at=at, fate=FillFate.RECORD, detail=detail)
    unread = accounting_for(known.unread, at)
    if unread is not None and (unread.run is not None or not asked.gaps):
        return FillTime(at=at, fate=FillFate.UNREADABLE, detail=unread.problem)
    if _is_planners(state, at):
        return FillTime(at=at, fate=FillFate.PLANNER)
    gap = next((gap for gap in known.gaps if gap.first <= at <= gap.last), None)
    if gap is not None and not asked.gaps:
        return FillTime(at=at, fate=FillFate.GAP, detail=gap.reason.value)
    if known.excluded(at):
        return FillTime(at=at, fate=FillFate.EXCLUDED)
    return FillTime(at=at, fate=FillFate.CREATE)


def _is_planners(state: JobState, at: datetime) -> bool:
    """Whether a tick will plan the occurrence."""
    return at > state.planned_to and state.paused is None and not state.is_settled(at)


def filled(state: JobState, at: datetime, job: Job, act: Act) -> RunChange:
    """The birth of a backfilled run.

    Args:
        state: its job as read, with its slots.
        at: the occurrence.
        job: its code.
        act: the operator's.
    """
    run = RunRecord(
        ref=RunRef(state.name, at),
        trigger=Trigger.BACKFILL,
        status=RunStatus.PENDING,
        created_at=act.at,
        scheduled_local=schedule_from_spec(state.schedule).local(at).isoformat(),
        timeout=job.timeout,
        max_attempts=job.retry.attempts,
        due_at=act.at + moves.PENDING_REDISPATCH[0],
        dispatch=Dispatch.STREAM,
        act=act,
    )
    policy, before = RunPolicy.of(job), state.slots
    if policy.concurrency is None:
        return RunChange(before=None, after=run, guard=Guard.BORN)
    if before.queued == 0 and slots.has_free(before.held, policy):
        after = replace(before, held=before.held | {run.ref.id})
    else:
        run, after = moves.queued(run, act.at), slots.enqueued(before, before.held)
    return RunChange(before=None, after=run, guard=Guard.BORN, slots=SlotsChange(before=before, after=after))


def _said(at: datetime) -> str:
    return to_key(at.replace(microsecond=0))
