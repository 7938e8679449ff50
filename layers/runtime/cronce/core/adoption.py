"""How a schedule comes into force: for a new job, after a change, after the job was gone.

A schedule that comes into force now begins at `Moment.anchor`, the start of the current minute - 60 s: what
was due within the minute of a deployment runs, what was due before does not. An `At` begins before its
instant even if that has passed, so that it is judged (late, or a day too late) instead of ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from cronce.core.births import gap
from cronce.core.job import Job
from cronce.core.jobstate import Gap, GapReason, Held, JobState, JobWindow, Settled
from cronce.core.occurrences import EPOCH
from cronce.core.records import Slots
from cronce.core.schedule import At, Schedule, schedule_hash
from cronce.core.values import dataclass
from cronce.core.zone_change import first_wall

ANCHOR_BACK = timedelta(seconds=60)
"""A job may have been deployed just before the minute, and its first tick comes just after."""
COUNTED = 20_000
"""Occurrences counted for one gap (removed): two weeks of every minute. No more than are judged at once, so
that a job always has enough of its time in a tick, on a small Lambda too; the next tick goes on."""

_ONE_SECOND = timedelta(seconds=1)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """What planning takes from its surroundings.

    Attributes:
        now: of the tick.
        zone_data: version of the zone data in use.
        retention: how long records are kept.
    """

    now: datetime
    zone_data: str
    retention: timedelta

    @property
    def anchor(self) -> datetime:
        """Where a schedule that comes into force now begins."""
        return self.now.replace(second=0, microsecond=0) - ANCHOR_BACK


def first_sight(job: Job, module: str, moment: Moment) -> JobWindow:
    """The window that creates a job's item.

    Its fencing token starts at the milliseconds since 1970: above all that were handed out, if there was an
    item before that somebody deleted. An item takes a thousand writes a second at most, and each claim is
    one, so no token ever gets ahead of the clock. Not covered: an item that is deleted within seconds of its
    birth, when the clocks of two schedulers may be so much apart.

    Args:
        job: as declared.
        module: where.
        moment: of the tick.
    """
    blank = JobState(
        name=job.name,
        module=module,
        schedule={},
        schedule_hash="",
        grace=job.grace,
        planned_to=moment.anchor,
        planned_local=moment.anchor.replace(tzinfo=None),
        next_at=None,
        expect_by=None,
        due_at=None,
        began_at=moment.anchor,
        slots=Slots(fencing_token=(moment.now - EPOCH) // _MILLISECOND),
    )
    return JobWindow(before=None, after=adopted(job, blank, moment.anchor, moment))


def adopted(job: Job, state: JobState, end: datetime, moment: Moment) -> JobState:
    """The job once the declared schedule is in force: from `end` on, up to which all is accounted for."""
    new_hash = schedule_hash(job.schedule)
    planned_to = end
    if isinstance(job.schedule, At) and state.schedule_hash != new_hash:
        planned_to = min(end, job.schedule.instant - _ONE_SECOND)
    next_at = job.schedule.next_after(planned_to)
    resumed_at = state.resumed_at
    return replace(
        expecting(state, next_at, moment),
        schedule=job.schedule.spec(),
        schedule_hash=new_hash,
        zone_data=moment.zone_data,
        planned_to=planned_to,
        began_at=None if state.began_at is None else min(state.began_at, planned_to),
        planned_local=first_wall(job.schedule, planned_to, next_at),
        resumed_at=None if resumed_at is None or resumed_at <= end else resumed_at,
        held=None,
        settled=tuple(one for one in state.settled if one.last > planned_to),
    )


def settled_beyond(state: JobState, schedule: Schedule, end: datetime) -> tuple[Settled, ...]:
    """What is settled after an instant, time by time.

    The next schedule may name times between those of the stored one, and nothing accounts for them.

    Args:
        state: as stored.
        schedule: the stored one, which named the times.
        end: from here on the next schedule is in force.
    """
    last = max((one.last for one in state.settled), default=end)
    return tuple(Settled(first=at, last=at) for at in schedule.between(end, last) if state.is_settled(at))


def expecting(state: JobState, next_at: datetime | None, moment: Moment) -> JobState:
    """The job with its place in the index. What is overdue is being dealt with: it has its grace from now."""
    expect_by = None if next_at is None else max(next_at, moment.now) + state.grace
    return replace(state, next_at=next_at, due_at=next_at, expect_by=expect_by)


def begun_anew(job: Job, state: JobState, schedule: Schedule, moment: Moment) -> JobWindow:
    """Back after a long time: one gap (removed), then as a new job.

    More than `COUNTED` occurrences take more than one tick, and one gap each.

    Args:
        job: as declared.
        state: as stored, `removed_at` included.
        schedule: the stored one.
        moment: of the tick.
    """
    end = max(state.planned_to, moment.anchor)
    found = schedule.between(state.planned_to, end, limit=COUNTED + 1)
    times, beyond = found[:COUNTED], found[COUNTED:]
    gaps = _gaps(state, times, GapReason.REMOVED, moment)
    if beyond:
        cut = replace(state, planned_to=times[-1], held=Held.BEHIND, grace=job.grace)
        return JobWindow(before=state, after=expecting(cut, beyond[0], moment), gaps=gaps)
    settled = settled_beyond(state, schedule, end)
    back = replace(state, removed_at=None, resumed_at=None, grace=job.grace, settled=settled)
    return JobWindow(before=state, after=adopted(job, back, end, moment), gaps=gaps)


def redefined(job: Job, state: JobState, moment: Moment) -> JobWindow:
    """The stored schedule cannot be read any more: of the stretch only its first occurrence is known.

    Of what is settled only the ends of its stretches are known to be occurrences.
    """
    end = max(state.planned_to, moment.anchor)
    missed = [state.next_at] if state.next_at is not None and state.planned_to < state.next_at <= end else []
    gaps = _gaps(state, missed, GapReason.REDEFINED, moment)
    settled = tuple(Settled(first=one.last, last=one.last) for one in state.settled)
    back = replace(state, removed_at=None, grace=job.grace, settled=settled)
    return JobWindow(before=state, after=adopted(job, back, end, moment), gaps=gaps)


def _gaps(state: JobState, times: Sequence[datetime], reason: GapReason, moment: Moment) -> tuple[Gap, ...]:
    """Neighbouring times as one gap; what is settled is accounted for and in none."""
    found = []
    for is_settled, group in groupby(times, key=state.is_settled):
        ats = list(group)
        if not is_settled:
            stretch = (ats[0], ats[-1], len(ats))
            found.append(gap(state.name, stretch, reason, moment.now, moment.retention))
    return tuple(found)
