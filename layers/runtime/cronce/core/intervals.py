"""Schedules that know no calendar: a constant distance, and a single instant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from typing_extensions import override

from cronce.core.durations import Duration, duration
from cronce.core.errors import DefinitionError
from cronce.core.instants import to_key
from cronce.core.occurrences import EPOCH, Occurrences, definite_instant
from cronce.core.schedule_words import describe_interval

SHORTEST_INTERVAL = timedelta(minutes=1)
"""The scheduler looks once a minute: anything shorter could not be kept."""


@dataclass(frozen=True, init=False)
class Every(Occurrences):
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
            raise DefinitionError(
                f'Every takes a timedelta or text such as "90m", not {type(interval).__name__}'
            )
        length = duration("Every", interval, at_least=SHORTEST_INTERVAL)
        object.__setattr__(self, "interval", length)
        object.__setattr__(self, "anchor", definite_instant("the anchor of Every", anchor))

    @override
    def series(self, start: datetime, end: datetime) -> Iterator[datetime]:
        number = (start - self.anchor) // self.interval + 1
        last = (end - self.anchor) // self.interval
        return (self.anchor + n * self.interval for n in range(number, last + 1))

    @override
    def spec(self) -> dict[str, str]:
        """Everything that defines the occurrences, and nothing else."""
        seconds = self.interval // timedelta(seconds=1)
        return {"kind": "every", "seconds": str(seconds), "anchor": to_key(self.anchor)}

    @override
    def describe(self) -> str:
        """In words, for example `every 1 hour 30 minutes`."""
        words = f"every {describe_interval(self.interval)}"
        return words if self.anchor == EPOCH else f"{words} through {to_key(self.anchor)}"


@dataclass(frozen=True, init=False)
class At(Occurrences):
    """One instant: a job that runs once.

    Args:
        instant: an aware datetime of whole seconds.

    Raises:
        DefinitionError: it is no such instant.

    Example:
        >>> party = At(datetime(2026, 12, 24, 18, 0, tzinfo=UTC))
        >>> party.next_after(datetime(2026, 12, 25, tzinfo=UTC)) is None
        True
    """

    instant: datetime

    def __init__(self, instant: datetime) -> None:
        object.__setattr__(self, "instant", definite_instant("At", instant))

    @override
    def series(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return iter([self.instant] if start < self.instant <= end else [])

    @override
    def spec(self) -> dict[str, str]:
        """Everything that defines the occurrence, and nothing else."""
        return {"kind": "at", "instant": to_key(self.instant)}

    @override
    def describe(self) -> str:
        """In words, for example `once at 2026-12-24T18:00:00Z`."""
        return f"once at {to_key(self.instant)}"
