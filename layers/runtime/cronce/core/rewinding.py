"""An operator sets a job back, so that the next tick plans a stretch of its past again.

For what the ledger has lost: a table that was restored in part, items that a hand has deleted. Planned again
is what nothing accounts for, by the schedule in force now and by the job's policy for missed times. Times
that have a record, or lie in a gap, are left alone: they are written down with the job (`JobState.settled`),
and planning steps over them. So are times whose record or gap cannot be read (`core.found`). Gaps may be
given up: they are deleted in the transaction that sets the job back, and what they held is judged anew.

A job that is set back again before planning has come through is looked at as far as the first time: what was
written down then is read anew, not forgotten.

Nothing is lost by it, wherever it breaks off: it is one transaction, conditional on all that was read of the
job and on the gaps. What is recorded while the next tick has not come yet (by a backfill) is met by the
condition of every planned record, that there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from cronce.core.acts import Act
from cronce.core.catch_up import FORGETTING_MARGIN
from cronce.core.errors import DefinitionError, OperationRefusedError
from cronce.core.found import Unread, accounting_for
from cronce.core.instants import to_key, to_text
from cronce.core.job_change import JobChange
from cronce.core.jobstate import Gap, JobState, Settled
from cronce.core.records import RunRecord, RunRef
from cronce.core.schedule import Schedule, schedule_from_spec
from cronce.core.values import dataclass
from cronce.core.zone_change import first_wall

MOST_TIMES = 5_000
"""Times that one rewind looks at: three days of every minute, thirteen years of every day."""
MOST_STRETCHES = 50
"""Stretches kept with a job: its item is read by every tick. More holes than that are for a backfill."""
MOST_GAPS = 90
"""Gaps deleted in one transaction, which takes 100 writes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """A stretch of a job's past, and what accounts for its times.

    Attributes:
        times: the occurrences after the instant that the job is set back to; see `times_after`.
        runs: records of them, as far as there are any.
        gaps: of the job.
        unread: what cannot be read among records and gaps.
        replan_gaps: give up the gaps in the stretch.
    """

    times: Sequence[datetime]
    runs: Mapping[RunRef, RunRecord]
    gaps: Sequence[Gap]
    unread: Sequence[Unread] = ()
    replan_gaps: bool


def times_after(state: JobState, to: datetime, now: datetime, retention: timedelta) -> list[datetime]:
    """The occurrences that a job would be set back over: up to `planned_to`, or to what is settled beyond it.

    Args:
        state: the job as read.
        to: where it is set back to.
        now: the present.
        retention: how long records are kept.

    Raises:
        OperationRefusedError: the job is not planned that far, or that is too long ago, or too much.
    """
    if to >= state.planned_to:
        raise OperationRefusedError(
            f"job {state.name} is planned up to {to_text(state.planned_to)}: "
            "it is set back to a time before that"
        )
    oldest = now - (retention - FORGETTING_MARGIN)
    if to < oldest:
        raise OperationRefusedError(
            f"job {state.name} is set back to {to_text(oldest)} at most: what is older may be forgotten, "
            "and would run again"
        )
    end = _end(state)
    times = _schedule(state).between(to, end, limit=MOST_TIMES + 1)
    if len(times) > MOST_TIMES:
        raise OperationRefusedError(
            f"job {state.name} has more than {MOST_TIMES} times from there to {to_text(end)}: "
            "set it back by less, or backfill what is missing"
        )
    return times


def rewound(state: JobState, to: datetime, past: Past, act: Act) -> JobChange:
    """The change that sets a job back.

    Args:
        state: the job as read.
        to: the times after it are planned again, as far as nothing accounts for them.
        past: what was read about them.
        act: the operator's.

    Raises:
        OperationRefusedError: everything is accounted for, it is too much, or a gap would be torn.
    """
    inside = tuple(gap for gap in past.gaps if gap.last > to and gap.first <= _end(state))
    gone = _given_up(state, to, inside, past.unread) if past.replan_gaps else ()
    kept = [gap for gap in inside if gap not in gone]
    accounted = [_is_accounted_for(state.name, at, past, kept) for at in past.times]
    if all(accounted):
        held = f", {len(kept)} of its gaps among them: say so if those are to be given up" if kept else ""
        unclear = (
            f"; what cannot be read may account for some: {past.unread[0].problem}" if past.unread else ""
        )
        raise OperationRefusedError(
            f"job {state.name} has {len(accounted)} times from there to where it stands, and all of them are "
            f"accounted for{held}; there is nothing to plan again{unclear}"
        )
    settled = _stretches(past.times, accounted)
    if len(settled) > MOST_STRETCHES:
        raise OperationRefusedError(
            f"job {state.name}: its records leave more than {MOST_STRETCHES} holes there: "
            "backfill them instead"
        )
    schedule = _schedule(state)
    next_at = schedule.next_after(to)
    waits = next_at is None or state.paused is not None
    after = replace(
        state,
        planned_to=to,
        planned_local=first_wall(schedule, to, next_at),
        next_at=next_at,
        due_at=None if waits else next_at,
        expect_by=None if waits else act.at + state.grace,
        held=None,
        settled=settled,
        act=act,
    )
    return JobChange(before=state, after=after, gaps=gone)


def missing(change: JobChange, times: Sequence[datetime]) -> tuple[datetime, ...]:
    """The times that are planned again."""
    return tuple(at for at in times if not change.after.is_settled(at))


def _end(state: JobState) -> datetime:
    """Up to here something may account for times: beyond `planned_to` if the job was set back before."""
    return max([state.planned_to, *(settled.last for settled in state.settled)])


def _given_up(
    state: JobState, to: datetime, gaps: tuple[Gap, ...], unread: Sequence[Unread]
) -> tuple[Gap, ...]:
    broken = next((one for one in unread if one.may_touch(to, _end(state))), None)
    if broken is not None:
        raise OperationRefusedError(
            f"job {state.name}: a gap that cannot be read is not given up; put it right or delete it, or "
            f"leave gaps alone: {broken.problem}"
        )
    torn = next((gap for gap in gaps if gap.first <= to), None)
    if torn is not None:
        raise OperationRefusedError(
            f"job {state.name}: a gap reaches from {to_key(torn.first)} to {to_key(torn.last)}, beyond "
            f"{to_text(to)}: "
            "set it back to before the gap, or leave gaps alone"
        )
    if len(gaps) > MOST_GAPS:
        raise OperationRefusedError(
            f"job {state.name} has {len(gaps)} gaps there, and at most {MOST_GAPS} are given up at once: "
            "set it back by less"
        )
    return gaps


def _is_accounted_for(job: str, at: datetime, past: Past, kept: Sequence[Gap]) -> bool:
    if RunRef(job, at) in past.runs or any(gap.first <= at <= gap.last for gap in kept):
        return True
    return accounting_for(past.unread, at) is not None


def _stretches(times: Sequence[datetime], accounted: Sequence[bool]) -> tuple[Settled, ...]:
    """Neighbouring times that are accounted for, as one."""
    found = []
    for is_accounted, group in groupby(zip(times, accounted, strict=True), key=lambda pair: pair[1]):
        ats = [at for at, _ in group]
        if is_accounted:
            found.append(Settled(first=ats[0], last=ats[-1]))
    return tuple(found)


def _schedule(state: JobState) -> Schedule:
    try:
        return schedule_from_spec(state.schedule)
    except DefinitionError as error:
        raise OperationRefusedError(f"job {state.name}: its schedule cannot be read: {error}") from error
