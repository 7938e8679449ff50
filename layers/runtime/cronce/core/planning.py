"""Planning: what one tick writes about one job. Pure: it takes `now` and returns a value.

Guaranteed. Every occurrence of a schedule while it is in force stands in exactly one run record or inside
exactly one gap, whenever ticks come, crash, are doubled or fail to come:

* a tick accounts for the occurrences in `(planned_to, now]`, and `planned_to` moves in the same transaction
  that writes their records, on the condition that it is still what was read. So of two ticks that planned
  from the same state one is refused as a whole, and a tick that dies has written all of a window or nothing;
* `between(a, c)` of a schedule is `between(a, b)` and `between(b, c)`, so windows join without a seam
  wherever they are cut, and the records of a cut window end with its `planned_to`;
* records are put on the condition that they do not exist, so a rolled-back `planned_to` doubles nothing.

Not guaranteed: that it happens on time. What is late is judged by `cronce.core.catch_up`.

Formula. With `M` = start of the current minute - 60 s:

* a job seen for the first time begins at `M`, an `At` at its instant - 1 s if that is earlier;
* a changed schedule is adopted in the transaction that accounts for the stretch up to `max(planned_to, M)` by
  the stored one. Until that transaction is through (paused, not importable, crashed, too much for one tick)
  the stored schedule stays in force, so no stretch of time is ever judged by a schedule that came later;
* a job that was removed and is back within a day goes on; later it begins anew, and the stretch is a gap
  (removed).

Failure cases. More is due than fits into a tick (`LOOKED_AT` occurrences, `WINDOW_ACTIONS` writes): the
oldest part is written and the job is `behind`. The stored schedule cannot be read any more (its zone was
dropped from the zone data): of the stretch only `next_at` is known, it becomes a gap (redefined), and the new
one is adopted. A job's calendar raises: nothing of that job is written, and the caller reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from cronce.core.adoption import (
    Moment,
    adopted,
    begun_anew,
    expecting,
    first_sight,
    redefined,
    settled_beyond,
)
from cronce.core.births import Births, merged
from cronce.core.catch_up import judge
from cronce.core.errors import DefinitionError
from cronce.core.job import Job
from cronce.core.jobstate import Gap, Held, JobState, JobWindow
from cronce.core.records import RunRecord
from cronce.core.schedule import Schedule, schedule_from_spec, schedule_hash
from cronce.core.stretch import Stretch, looked_at
from cronce.core.zone_change import last_wall

__all__ = ["COMES_BACK", "Moment", "first_sight", "plan"]

COMES_BACK = timedelta(hours=24)
"""A job that is missing for no longer than this goes on where it stopped: a rollback, a branch that was
deployed."""


def plan(job: Job, state: JobState, moment: Moment) -> JobWindow | None:
    """The window to write for a job that is in the deployment, or None if nothing is to be written.

    It covers everything that may have happened to the job: time has passed, its schedule or grace changed,
    the zone data changed, it was paused, held or removed and is back.

    Args:
        job: as declared now.
        state: as stored.
        moment: of the tick.
    """
    if state.paused is not None:
        held = None if state.held is Held.UNAVAILABLE else state.held
        return _window(state, replace(state, grace=job.grace, removed_at=None, held=held))
    if state.schedule_hash == schedule_hash(job.schedule):
        schedule = job.schedule
    else:
        try:
            schedule = schedule_from_spec(state.schedule)
        except DefinitionError:
            return redefined(job, state, moment)
    if state.removed_at is not None and moment.now - state.removed_at > COMES_BACK:
        return begun_anew(job, state, schedule, moment)
    return _planned(job, state, schedule, moment)


def _planned(job: Job, state: JobState, schedule: Schedule, moment: Moment) -> JobWindow | None:
    adopts = state.schedule_hash != schedule_hash(job.schedule)
    end = max(state.planned_to, moment.anchor) if adopts else moment.now
    stretch = looked_at(job, state, schedule, end, moment)
    fates = judge(job, stretch.times, stretch.barred, stretch.scene)
    births = Births(job=job, schedule=schedule, scene=stretch.scene, slots=state.slots)
    part = births.part(merged(stretch.times, fates))
    left = stretch.first_after(part.last)
    here = replace(state, removed_at=None, grace=job.grace)
    if left is not None:
        after = _behind(here, schedule, stretch, left, moment)
    elif adopts:
        settled = settled_beyond(state, schedule, end)
        after = adopted(job, replace(here, settled=settled), end, moment)
    else:
        after = _up_to_date(here, schedule, stretch, moment)
    return _window(state, after, part.runs, part.gaps)


def _up_to_date(state: JobState, schedule: Schedule, stretch: Stretch, moment: Moment) -> JobState:
    """All is accounted for. `planned_to` moves only with a record: a job with nothing due is not written."""
    planned_to = max(state.planned_to, stretch.end) if stretch.times else state.planned_to
    resumed_at = state.resumed_at
    return replace(
        expecting(state, schedule.next_after(max(planned_to, stretch.end)), moment),
        zone_data=moment.zone_data,
        planned_to=planned_to,
        planned_local=last_wall(schedule, stretch.times, state.planned_local),
        resumed_at=None if resumed_at is None or resumed_at <= stretch.end else resumed_at,
        held=None,
        settled=tuple(one for one in state.settled if one.last > stretch.end),
    )


def _behind(
    state: JobState, schedule: Schedule, stretch: Stretch, left: datetime, moment: Moment
) -> JobState:
    """Only what comes before `left` is accounted for; the next tick goes on from there.

    While some of what the zone data moved is left, the job keeps the older version, so that it is looked for
    again.
    """
    accounted = [at for at in stretch.times if at < left]
    return replace(
        expecting(state, left, moment),
        zone_data=state.zone_data if left <= state.planned_to else moment.zone_data,
        planned_to=max([state.planned_to, *accounted[-1:]]),
        planned_local=last_wall(schedule, accounted, state.planned_local),
        held=Held.BEHIND,
    )


def _window(
    before: JobState, after: JobState, runs: Sequence[RunRecord] = (), gaps: Sequence[Gap] = ()
) -> JobWindow | None:
    if after == before and not runs and not gaps:
        return None
    return JobWindow(before=before, after=after, runs=tuple(runs), gaps=tuple(gaps))
