"""Metrics as CloudWatch keeps them: datapoints by series and minute, and statistics over periods.

A series is a namespace, a name and a set of dimensions; another set is another series.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)
OWN = "cronce"
"""The namespace of the functions' own metrics."""

Points = list[float | None]
"""One a period, the newest last; None is a period without a point."""

STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "Sum": sum,
    "Maximum": max,
    "Minimum": min,
    "Average": lambda values: sum(values) / len(values),
    "SampleCount": len,
}


@dataclass(frozen=True)
class Series:
    """What a datapoint belongs to."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def named(cls, namespace: str, name: str, dimensions: Mapping[str, str]) -> Series:
        """The series with these dimensions, names and values."""
        return cls(namespace, name, frozenset(dimensions.items()))


@dataclass
class Metrics:
    """Datapoints by series and minute."""

    points: dict[Series, dict[datetime, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def record(self, series: Series, at: datetime, value: float) -> None:
        """Add a datapoint."""
        self.points[series][at.replace(second=0, microsecond=0)].append(value)

    def statistic(
        self, series: Series, statistic: str, end: datetime, periods: int, period: timedelta = MINUTE
    ) -> Points:
        """A statistic of each of the last periods before an instant.

        Args:
            series: whose.
            statistic: in CloudWatch's words.
            end: a full minute, where the newest period ends.
            periods: how many of them.
            period: whole minutes.

        Raises:
            KeyError: the statistic is not one that is modelled.
        """
        stored, of = self.points.get(series, {}), STATISTICS[statistic]
        minutes = period // MINUTE
        found: Points = []
        for back in range(periods, 0, -1):
            start = end - back * period
            values = [value for number in range(minutes) for value in stored.get(start + number * MINUTE, ())]
            found.append(float(of(values)) if values else None)
        return found
