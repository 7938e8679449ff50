"""Evaluates the template's own metric alarms on metrics that were recorded locally.

The rules are CloudWatch's: a period is breaching, not breaching or missing; missing ones count as
`TreatMissingData` says; with M breaching of the last N the alarm is in ALARM. Alarms on anything but
cronce's own metrics (queue depths, for example) are left out: there are no such metrics here.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cronce_tools.local.template import Template

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}
_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "Sum": sum,
    "Maximum": max,
    "Minimum": min,
    "Average": lambda values: sum(values) / len(values),
    "SampleCount": len,
}


@dataclass
class Metrics:
    """Datapoints by metric name and minute."""

    points: dict[str, dict[datetime, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def record(self, name: str, at: datetime, value: float) -> None:
        """Add a datapoint."""
        self.points[name][at.replace(second=0, microsecond=0)].append(value)

    def during(self, name: str, start: datetime, length: timedelta) -> list[float]:
        """The values of a metric in [start, start + length)."""
        minutes = int(length / timedelta(minutes=1))
        return [
            value
            for minute in range(minutes)
            for value in self.points[name].get(start + timedelta(minutes=minute), [])
        ]


@dataclass(frozen=True)
class Alarm:
    """One alarm of the template."""

    logical_id: str
    properties: dict[str, Any]

    @property
    def metric(self) -> str:
        """The metric it watches."""
        return str(self.properties["MetricName"])

    def is_breaching(self, values: list[float]) -> bool | None:
        """Judge one period; None = missing."""
        if not values:
            return None
        value = _STATISTICS[self.properties["Statistic"]](values)
        return _COMPARISONS[self.properties["ComparisonOperator"]](value, float(self.properties["Threshold"]))

    def state(self, metrics: Metrics, now: datetime) -> str:
        """`OK`, `ALARM` or `INSUFFICIENT_DATA` after the last whole period before `now`."""
        period = timedelta(seconds=int(self.properties["Period"]))
        count = int(self.properties["EvaluationPeriods"])
        needed = int(self.properties.get("DatapointsToAlarm", count))
        end = now.replace(second=0, microsecond=0)
        periods = [
            self.is_breaching(metrics.during(self.metric, end - period * back, period))
            for back in range(1, count + 1)
        ]
        missing = self.properties.get("TreatMissingData", "missing")
        if all(judged is None for judged in periods) and missing == "missing":
            return "INSUFFICIENT_DATA"
        breaching = [judged is True or (judged is None and missing == "breaching") for judged in periods]
        return "ALARM" if sum(breaching) >= needed else "OK"


def alarms(template: Template) -> list[Alarm]:
    """The template's alarms on cronce's own metrics."""
    return [
        Alarm(logical_id, properties)
        for logical_id, properties in template.of_type("AWS::CloudWatch::Alarm")
        if properties.get("Namespace") == "cronce"
    ]
