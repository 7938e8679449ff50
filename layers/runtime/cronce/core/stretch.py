"""The occurrences of one job that one tick looks at, and what bars some of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from cronce.core.adoption import Moment
from cronce.core.catch_up import Fate, Scene
from cronce.core.job import Job
from cronce.core.jobstate import JobState
from cronce.core.schedule import Schedule
from cronce.core.values import dataclass
from cronce.core.zone_change import has_new_zone_data, moved_before, repeats

LOOKED_AT = 20_000
"""Occurrences judged for one job in one tick: two weeks of every minute, a fraction of a second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """Part of a job's time line.

    Attributes:
        times: occurrences, ascending: those that new zone data moved to before `planned_to`, then those after
            it.
        barred: for each whether it must not run whatever its age, and why.
        scene: when it is looked at.
        end: up to here.
        beyond: the first occurrence that was too much to look at.
    """

    times: Sequence[datetime]
    barred: Sequence[Fate | None]
    scene: Scene
    end: datetime
    beyond: datetime | None

    def first_after(self, last: datetime | None) -> datetime | None:
        """The oldest occurrence that is left when those up to `last` are accounted for."""
        left = (at for at in self.times if last is None or at > last)
        return next(left, self.beyond)


def looked_at(job: Job, state: JobState, schedule: Schedule, end: datetime, moment: Moment) -> Stretch:
    """The stretch from `planned_to` to `end`.

    Args:
        job: whose calendar is asked.
        state: as stored.
        schedule: in force.
        end: included.
        moment: of the tick.
    """
    moved = moved_before(schedule, state) if has_new_zone_data(state, moment.zone_data) else []
    found = schedule.between(state.planned_to, end, limit=LOOKED_AT + 1)
    times = moved + found[:LOOKED_AT]
    more = len(found) > LOOKED_AT
    return Stretch(
        times=times,
        barred=_barred(job, schedule, times, state),
        scene=Scene(now=moment.now, resumed_at=state.resumed_at, retention=moment.retention, more=more),
        end=end,
        beyond=found[-1] if more else None,
    )


def _barred(job: Job, schedule: Schedule, times: Sequence[datetime], state: JobState) -> list[Fate | None]:
    """The calendar is asked once for each date: it is the author's code, and may be slow."""
    answers: dict[date, bool] = {}
    barred: list[Fate | None] = []
    for at, repeated in zip(times, repeats(schedule, times, state.planned_local), strict=True):
        if state.is_settled(at):
            barred.append(Fate.SETTLED)
            continue
        if repeated or job.excluded is None:
            barred.append(Fate.SAME_LOCAL_TIME if repeated else None)
            continue
        day = schedule.local(at).date()
        if day not in answers:
            answers[day] = bool(job.excluded(day))
        barred.append(Fate.EXCLUDED if answers[day] else None)
    return barred
