"""When a cron expression fires in a zone: the daylight-saving rule.

Firings are a set of instants that depends on nothing but the fields, the zone and the two policies. The time
line is cut where the zone's offset changes; within one stretch the clock runs evenly, so every matching wall
time is one instant. Only near a change is there more to decide:

* a wall time shown twice (the clock was set back) fires in the pass that `DstRepeat` names;
* a wall time never shown (the clock was set forward) fires at the instant where the jump lands, or not at
  all, as `DstGap` says. All skipped times of one jump, and a real match at the landing, are one firing.

Neither applies to an every-hour schedule: it follows the clock. Any change of the offset counts, whatever its
size and cause. No state is carried from one firing to the next, so a window may be cut anywhere without a
difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum

from cronce.core.cron_fields import CronFields
from cronce.core.values import dataclass
from cronce.core.zones import Stretch, stretches

_MARGIN = timedelta(days=2)
# An offset is less than 24 h either way, so two instants that show the same wall time are less than 48 h
# apart.

_CHUNK = timedelta(days=366)
# Long windows are evaluated a year at a time: who wants the first few firings never pays for the rest.

_ONE_SECOND = timedelta(seconds=1)


class DstGap(Enum):
    """What a fixed-time schedule does about a wall time that the clock skips."""

    NEXT_VALID = "next_valid"
    """It fires at the instant where the jump lands: 02:30 in New York at 03:00 EDT = 07:00Z."""
    SKIP = "skip"
    """It does not fire."""


class DstRepeat(Enum):
    """What a fixed-time schedule does about a wall time that the clock shows twice."""

    FIRST = "first"
    """It fires in the first pass."""
    LAST = "last"
    """It fires in the last pass."""
    BOTH = "both"
    """It fires in every pass."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FiringRule:
    """Everything that decides when a cron schedule fires."""

    fields: CronFields
    zone: str
    dst_gap: DstGap
    dst_repeat: DstRepeat

    def firings(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The firings after `start` up to and including `end`, ascending, worked out one by one."""
        since = start.replace(microsecond=0) + _ONE_SECOND
        until = end.replace(microsecond=0) + _ONE_SECOND
        while since < until:
            stop = min(since + _CHUNK, until)
            yield from self._within(since, stop)
            since = stop

    def _within(self, since: datetime, until: datetime) -> Iterator[datetime]:
        near = stretches(self.zone, since - _MARGIN, until + _MARGIN)
        for index, stretch in enumerate(near):
            begin, stop = max(since, stretch.start), min(until, stretch.end)
            if begin >= stop:
                continue
            landing = begin == stretch.start and bool(self._skipped(near, index))
            if landing:
                yield begin
            others = self._excluding_passes(near, index)
            for wall in self.fields.wall_times(stretch.wall(begin), stretch.wall(stop)):
                instant = stretch.instant(wall)
                if (landing and instant == begin) or any(other.shows(wall) for other in others):
                    continue
                yield instant

    def _excluding_passes(self, near: list[Stretch], index: int) -> list[Stretch]:
        """The stretches in which a wall time must not be shown too, for it to fire in the one at `index`."""
        if self.fields.every_hour or self.dst_repeat is DstRepeat.BOTH:
            return []
        return near[:index] if self.dst_repeat is DstRepeat.FIRST else near[index + 1 :]

    def _skipped(self, near: list[Stretch], index: int) -> list[datetime]:
        """The matching wall times that no clock shows and that fire at the start of the stretch instead."""
        if index == 0 or self.fields.every_hour or self.dst_gap is DstGap.SKIP:
            return []
        stretch, previous = near[index], near[index - 1]
        # Changes are days apart and smaller than a day: what this one skips, no other pass shows.
        return list(self.fields.wall_times(previous.wall(stretch.start), stretch.wall(stretch.start)))

    def skipped_walls(self, instant: datetime) -> tuple[datetime, ...]:
        """The skipped wall times for which the firing at the instant stands in; mostly none."""
        near = stretches(self.zone, instant - _MARGIN, instant + _MARGIN)
        for index, stretch in enumerate(near):
            if stretch.start == instant:
                return tuple(self._skipped(near, index))
        return ()

    def passes(self, instant: datetime) -> tuple[datetime, ...]:
        """All instants at which the clock shows the same wall time as at this one, ascending."""
        near = stretches(self.zone, instant - _MARGIN, instant + _MARGIN)
        wall = next(stretch for stretch in near if stretch.start <= instant < stretch.end).wall(instant)
        return tuple(stretch.instant(wall) for stretch in near if stretch.shows(wall))
