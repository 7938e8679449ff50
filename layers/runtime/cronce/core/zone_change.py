"""Local times across a change of the zone data, so that none is lost and none runs twice.

A release of the zone data moves future occurrences of a zone. The job keeps `planned_local`: the wall time up
to which its occurrences are accounted for, beside the instant `planned_to`. The two disagree only after such
a change:

* A time moved *later*. 09:00 ran at 16:00Z; by the new data 09:00 is at 17:00Z. That occurrence has a wall
  time which is not later than `planned_local`: it is recorded as `same_local_time` and does not run again.
* A time moved *earlier*, to before `planned_to`. It was never planned, and its wall time is later than
  `planned_local`: `moved_before` finds it, and it is planned like anything else that is late. Nothing else
  that lies before `planned_to` is touched.

Both are asked of fixed-time schedules only; every-hour schedules follow the clock, and a repeated hour has
every wall time twice. `dst_repeat="both"` asks for a local time twice, so it never counts as run before.

Why this is safe without a change: by one release of the data, the wall times of a fixed-time schedule (not
"both") strictly increase from one occurrence to the next. `planned_local` never moves back while a schedule
is in force, and where it begins (`first_wall`) lies between the wall times of the occurrences before and
after.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from cronce.core.jobstate import JobState
from cronce.core.schedule import Cron, DstRepeat, Schedule

LOOK_BACK = timedelta(hours=26)
"""No zone's clock differs from another's by more than 26 hours, so no release can move a time further than
that."""

_ONE_SECOND = timedelta(seconds=1)


def wall(schedule: Schedule, instant: datetime) -> datetime:
    """What the clock of the schedule's zone shows (naive)."""
    return schedule.local(instant).replace(tzinfo=None)


def first_wall(schedule: Schedule, planned_to: datetime, next_at: datetime | None) -> datetime:
    """Where `planned_local` begins: the wall time of `planned_to`, in order with the occurrences around it.

    Around a repeated hour the clock alone would say otherwise: a job first seen in the first pass that fires
    in the last would find its first occurrence accounted for, and one first seen in the second pass that
    fires in the first would find those of the first pass still to be planned.
    """
    begin = wall(schedule, planned_to)
    if not schedule.is_fixed_time:
        return begin
    behind = schedule.between(planned_to - LOOK_BACK, planned_to)
    begin = max([begin, *(wall(schedule, at) for at in behind)])
    if next_at is None or _runs_each_pass(schedule):
        return begin
    return min(begin, wall(schedule, next_at) - _ONE_SECOND)


def has_new_zone_data(state: JobState, zone_data: str) -> bool:
    """Whether the job was last planned with another release of the zone data. Unknown counts as unchanged."""
    return state.zone_data is not None and state.zone_data != zone_data


def moved_before(schedule: Schedule, state: JobState) -> list[datetime]:
    """The occurrences that new zone data moved from after `planned_to` to before it, ascending."""
    if not schedule.is_fixed_time:
        return []
    behind = schedule.between(state.planned_to - LOOK_BACK, state.planned_to)
    return [at for at in behind if wall(schedule, at) > state.planned_local]


def repeats(schedule: Schedule, times: Sequence[datetime], planned_local: datetime) -> list[bool]:
    """For each occurrence whether its local time is accounted for already.

    Args:
        schedule: in force.
        times: occurrences, ascending.
        planned_local: the wall time accounted for before the first of them.
    """
    if not schedule.is_fixed_time or _runs_each_pass(schedule):
        return [False] * len(times)
    return [wall(schedule, at) <= planned_local for at in times]


def last_wall(schedule: Schedule, times: Sequence[datetime], planned_local: datetime) -> datetime:
    """`planned_local` once the occurrences are accounted for. It never moves back."""
    if schedule.is_fixed_time:
        return max([planned_local, *(wall(schedule, at) for at in times)])
    return max(planned_local, wall(schedule, times[-1])) if times else planned_local


def _runs_each_pass(schedule: Schedule) -> bool:
    return isinstance(schedule, Cron) and schedule.dst_repeat is DstRepeat.BOTH
