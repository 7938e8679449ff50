"""When a job occurs: `Cron`, `Every` and `At`.

What is guaranteed. A schedule stands for a set of instants in UTC that depends on nothing but its arguments (and,
for a zone, on the zone data in force). Asking for a stretch of time in one piece or in many gives the same
instants: none is lost at a seam, none comes twice. `between` takes the start out and the end in.

`Cron` across a clock change:

* *Every-hour schedules* (the hour field allows all 24 hours, in any spelling: `*/15 * * * *`, `0 0-23 * * *`) fire
  whenever the zone's clock shows a matching time. An hour that is repeated fires in both passes, one that is
  skipped is not there: no real hour is missing and none is doubled.
* *Fixed-time schedules* (all others) fire once for each matching local time.

  - The clock shows it twice: in the first pass. `30 1 * * *` in New York on 2026-11-01 fires at 05:30Z and not again
    at 06:30Z. `dst_repeat="last"` or `"both"` choose otherwise.
  - The clock never shows it: at the instant where the jump lands. `30 2 * * *` in New York on 2026-03-08 fires at
    07:00Z, when the clock jumps from 02:00 to 03:00. `dst_gap="skip"` leaves it out. Several skipped times, and a
    real one at the landing, are one firing.

Every change of a zone's offset counts as one, whatever its size (30 minutes, two hours, a whole day) and its cause.

Day-of-month and day-of-week: when both are restricted, either is enough; `0 9 13 * 5` is the 13th *or* a Friday,
`L` and `#` included. Restricted is every field but `*` and `?`: the rule of some crons by which a leading star
(`*/2`) does not restrict is not followed.

What is not guaranteed, and what can go wrong:

* Steps begin anew in each hour, day or month: `*/45 * * * *` fires at :00 and :45. `warnings()` names such steps;
  `Every` has constant distances.
* A new release of the zone data can move future firings. The release is part of what a deployment records.
* An expression that is not understood, or that never fires, is refused when the schedule is made, with a message
  that says what to write instead. A schedule that was made does not fail later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import islice
from typing import TypeVar

from cronce.core.cron_fields import CronFields
from cronce.core.cron_text import parse, tidy
from cronce.core.durations import Duration, duration
from cronce.core.errors import DefinitionError
from cronce.core.firings import DstGap, DstRepeat, FiringRule
from cronce.core.instants import from_key, to_key
from cronce.core.schedule_words import describe_cron, describe_interval
from cronce.core.zones import load_zone

__all__ = ["At", "Cron", "DstGap", "DstRepeat", "Every", "Schedule", "schedule_from_spec", "schedule_hash"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The default anchor of `Every`."""

SHORTEST_INTERVAL = timedelta(minutes=1)
"""The scheduler looks once a minute: anything shorter could not be kept."""

SEARCH_LIMIT = timedelta(days=40 * 366)
"""How far `next_after` looks. The longest pause of any cron expression is 40 years (29 February on a given
weekday, across the year 2100)."""

_LATEST = datetime(9990, 1, 1, tzinfo=UTC)
# Python's calendar ends with the year 9999; a schedule ends before it, so that no computation runs over that edge.


class _Occurrences(ABC):
    """What all schedules answer."""

    @property
    @abstractmethod
    def tz(self) -> str:
        """The key of the zone in which the schedule is meant."""

    @abstractmethod
    def _occurrences(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The occurrences after `start` up to and including `end`, ascending, worked out one by one."""

    @abstractmethod
    def spec(self) -> dict[str, str]:
        """Everything that defines the occurrences, and nothing else. `schedule_from_spec` reads it."""

    @abstractmethod
    def describe(self) -> str:
        """The schedule in words, for people."""

    def between(self, start: datetime, end: datetime, *, limit: int | None = None) -> list[datetime]:
        """The occurrences of a window.

        Args:
            start: excluded; any aware datetime.
            end: included; any aware datetime. A window that ends before it starts is empty.
            limit: give only the oldest so many. They cost no more than they are, however long the window is.

        Returns:
            Aware datetimes in UTC, strictly increasing.

        Raises:
            ValueError: start or end is naive.
        """
        start, end = _within_calendar(start), _within_calendar(end)
        return list(islice(self._occurrences(start, end), limit))

    def next_after(self, instant: datetime) -> datetime | None:
        """The first occurrence after the instant (excluded), or None when there is none within 40 years.

        Raises:
            ValueError: the instant is naive.
        """
        start = _within_calendar(instant)
        return next(self._occurrences(start, _within_calendar(start + SEARCH_LIMIT)), None)

    def local(self, instant: datetime) -> datetime:
        """The instant as the zone's clock shows it: an aware datetime, with `fold` set in a second pass."""
        return instant.astimezone(load_zone(self.tz))

    @property
    def is_fixed_time(self) -> bool:
        """Whether the daylight-saving rule of fixed-time schedules applies."""
        return False

    def warnings(self) -> tuple[str, ...]:
        """What the author may not have meant, in words; empty when nothing stands out."""
        return ()

    def skipped_walls(self, instant: datetime) -> tuple[datetime, ...]:
        """The wall times (naive) that the clock skips and for which the occurrence at the instant stands in."""
        return ()

    def passes(self, instant: datetime) -> tuple[datetime, ...]:
        """All instants at which the zone's clock shows what it shows at this one: two, when it is set back."""
        return (_within_calendar(instant),)


@dataclass(frozen=True, init=False)
class Cron(_Occurrences):
    """A cron expression in a time zone.

    Args:
        expression: five fields (minute, hour, day-of-month, month, day-of-week), or one of @hourly, @daily,
            @midnight, @weekly, @monthly, @yearly, @annually.
        tz: a key of the IANA database, such as "Europe/Berlin".
        dst_gap: what a fixed-time schedule does about a time that the clock skips: "next_valid" or "skip".
        dst_repeat: in which pass it fires when the clock shows a time twice: "first", "last" or "both".

    Raises:
        DefinitionError: an argument is not understood, or the expression never fires.

    Example:
        >>> noon = Cron("0 12 * * MON-FRI", tz="America/New_York")
        >>> noon.next_after(datetime(2026, 3, 6, 18, 0, tzinfo=UTC)).isoformat()
        '2026-03-09T16:00:00+00:00'
    """

    expression: str
    tz: str
    dst_gap: DstGap
    dst_repeat: DstRepeat
    _rule: FiringRule = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        expression: str,
        *,
        tz: str = "UTC",
        dst_gap: DstGap | str = DstGap.NEXT_VALID,
        dst_repeat: DstRepeat | str = DstRepeat.FIRST,
    ) -> None:
        text = tidy(expression)
        fields = parse(text)
        key = load_zone(tz).key
        gap, repeat = _choice("dst_gap", dst_gap, DstGap), _choice("dst_repeat", dst_repeat, DstRepeat)
        rule = FiringRule(fields=fields, zone=key, dst_gap=gap, dst_repeat=repeat)
        values = {"expression": text, "tz": key, "dst_gap": gap, "dst_repeat": repeat, "_rule": rule}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _occurrences(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return self._rule.firings(start, end)

    @property
    def is_fixed_time(self) -> bool:
        """Whether the daylight-saving rule of fixed-time schedules applies: not all 24 hours are allowed."""
        return not self._rule.fields.every_hour

    def warnings(self) -> tuple[str, ...]:
        """What the author may not have meant, such as steps that are not evenly spaced."""
        return self._rule.fields.warnings

    def skipped_walls(self, instant: datetime) -> tuple[datetime, ...]:
        """The wall times (naive) that the clock skips and for which the occurrence at the instant stands in.

        Example:
            >>> nightly = Cron("30 2 * * *", tz="America/New_York")
            >>> nightly.skipped_walls(datetime(2026, 3, 8, 7, 0, tzinfo=UTC))
            (datetime.datetime(2026, 3, 8, 2, 30),)
        """
        return self._rule.skipped_walls(_within_calendar(instant))

    def passes(self, instant: datetime) -> tuple[datetime, ...]:
        """All instants at which the zone's clock shows what it shows at this one: two, when it is set back."""
        return self._rule.passes(_within_calendar(instant))

    def spec(self) -> dict[str, str]:
        """Everything that defines the occurrences, and nothing else."""
        return {
            "kind": "cron",
            "expression": self.expression,
            "tz": self.tz,
            "dst_gap": self.dst_gap.value,
            "dst_repeat": self.dst_repeat.value,
        }

    def describe(self) -> str:
        """In plain words where that is short, for example `daily at 06:00 America/New_York`."""
        return describe_cron(self._rule.fields, self.expression, self.tz)


@dataclass(frozen=True, init=False)
class Every(_Occurrences):
    """A constant distance, for what cron cannot say: every 90 minutes, every 10 days.

    Args:
        interval: a `timedelta` or text such as "90m"; whole seconds, at least one minute.
        anchor: an instant that the series goes through, in both directions; it is not a start.

    Raises:
        DefinitionError: an argument is not understood.

    Example:
        >>> Every("90m").between(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 2, tzinfo=UTC))
        [datetime.datetime(2026, 1, 1, 1, 30, tzinfo=datetime.timezone.utc)]
    """

    interval: timedelta
    anchor: datetime

    def __init__(self, interval: Duration, *, anchor: datetime = EPOCH) -> None:
        if not isinstance(interval, timedelta | str):
            raise DefinitionError(f'Every takes a timedelta or text such as "90m", not {type(interval).__name__}')
        length = duration("Every", interval, at_least=SHORTEST_INTERVAL)
        object.__setattr__(self, "interval", length)
        object.__setattr__(self, "anchor", _definite_instant("the anchor of Every", anchor))

    @property
    def tz(self) -> str:
        """Always "UTC": a constant distance knows no clock changes."""
        return "UTC"

    def _occurrences(self, start: datetime, end: datetime) -> Iterator[datetime]:
        number = (start - self.anchor) // self.interval + 1
        last = (end - self.anchor) // self.interval
        return (self.anchor + n * self.interval for n in range(number, last + 1))

    def spec(self) -> dict[str, str]:
        """Everything that defines the occurrences, and nothing else."""
        seconds = self.interval // timedelta(seconds=1)
        return {"kind": "every", "seconds": str(seconds), "anchor": to_key(self.anchor)}

    def describe(self) -> str:
        """In words, for example `every 1 hour 30 minutes`."""
        words = f"every {describe_interval(self.interval)}"
        return words if self.anchor == EPOCH else f"{words} through {to_key(self.anchor)}"


@dataclass(frozen=True, init=False)
class At(_Occurrences):
    """One instant: a job that runs once.

    Args:
        instant: an aware datetime of whole seconds.

    Raises:
        DefinitionError: it is no such instant.

    Example:
        >>> At(datetime(2026, 12, 24, 18, 0, tzinfo=UTC)).next_after(datetime(2026, 12, 25, tzinfo=UTC)) is None
        True
    """

    instant: datetime

    def __init__(self, instant: datetime) -> None:
        object.__setattr__(self, "instant", _definite_instant("At", instant))

    @property
    def tz(self) -> str:
        """Always "UTC"."""
        return "UTC"

    def _occurrences(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return iter([self.instant] if start < self.instant <= end else [])

    def spec(self) -> dict[str, str]:
        """Everything that defines the occurrence, and nothing else."""
        return {"kind": "at", "instant": to_key(self.instant)}

    def describe(self) -> str:
        """In words, for example `once at 2026-12-24T18:00:00Z`."""
        return f"once at {to_key(self.instant)}"
