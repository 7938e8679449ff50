"""What all schedules have in common: they answer for windows of time, from a series of occurrences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from cronce.core.errors import DefinitionError
from cronce.core.zones import load_zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SEARCH_LIMIT = timedelta(days=40 * 366)
"""How far `next_after` looks. The longest pause in the calendar is 40 years: from a 29 February on a given
weekday to the next such one, across the year 2100."""

_CALENDAR_START = datetime(10, 1, 1, tzinfo=UTC)
_CALENDAR_END = datetime(9950, 1, 1, tzinfo=UTC)
# Python's calendar has the years 1 to 9999; schedules keep off its edges, so that no computation runs over
# them.


class Occurrences(ABC):
    """A series of instants in UTC. The same question always has the same answer."""

    tz: str = "UTC"
    """The key of the zone in which the schedule is meant."""

    @abstractmethod
    def series(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The occurrences after `start` up to and including `end` (UTC), ascending, worked out one by one."""

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
        return list(islice(self.series(within_calendar(start), within_calendar(end)), limit))

    def next_after(self, instant: datetime) -> datetime | None:
        """The first occurrence after the instant (excluded), or None when there is none within 40 years.

        Raises:
            ValueError: the instant is naive.
        """
        start = within_calendar(instant)
        return next(self.series(start, within_calendar(start + SEARCH_LIMIT)), None)

    def local(self, instant: datetime) -> datetime:
        """The instant as the zone's clock shows it: an aware datetime, with `fold` set in a second pass.

        Raises:
            ValueError: the instant is naive.
        """
        return within_calendar(instant).astimezone(load_zone(self.tz))

    @property
    def is_fixed_time(self) -> bool:
        """Whether the daylight-saving rule of fixed-time schedules applies."""
        return False

    def warnings(self) -> tuple[str, ...]:
        """What the author may not have meant, in words; empty when nothing stands out."""
        return ()

    def skipped_walls(self, instant: datetime) -> tuple[datetime, ...]:
        """The wall times (naive) that the clock skips and for which the occurrence stands in.

        Raises:
            ValueError: the instant is naive.
        """
        within_calendar(instant)
        return ()

    def passes(self, instant: datetime) -> tuple[datetime, ...]:
        """All instants at which the zone's clock shows what it shows at this one: two, if it is set back.

        Raises:
            ValueError: the instant is naive.
        """
        return (within_calendar(instant),)


def within_calendar(instant: datetime) -> datetime:
    """The instant in UTC, moved inside the years in which schedules are worked out.

    Raises:
        ValueError: the instant is naive.
    """
    if instant.tzinfo is None:
        raise ValueError(f"a schedule takes aware datetimes, not {instant!r}")
    return min(max(instant.astimezone(UTC), _CALENDAR_START), _CALENDAR_END)


def definite_instant(what: str, value: object) -> datetime:
    """An argument of a schedule that is an instant, in UTC.

    Args:
        what: the argument's name, for the message.
        value: what was passed.

    Raises:
        DefinitionError: it is not an aware datetime of whole seconds from 1970 on.
    """
    if not isinstance(value, datetime):
        raise DefinitionError(f"{what} takes a datetime with tzinfo=UTC, not {type(value).__name__}")
    try:
        instant = value.astimezone(UTC) if value.utcoffset() is not None else None
    except Exception as error:
        raise DefinitionError(
            f"{what} takes a datetime with tzinfo=UTC; this one has no place in UTC"
        ) from error
    if instant is None:
        raise DefinitionError(
            f"{what} takes a datetime that knows its zone: add tzinfo=UTC to {value.isoformat()}"
        )
    if instant.microsecond:
        raise DefinitionError(f"{what} takes whole seconds, not {value.isoformat()}")
    if not EPOCH <= instant < _CALENDAR_END:
        raise DefinitionError(
            f"{what} takes an instant from 1970 on and before {_CALENDAR_END.year}, not {instant}"
        )
    return instant
