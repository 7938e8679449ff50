"""The template's own metric alarms, judged by CloudWatch's rules on metrics that were recorded locally.

A new alarm with a warm-up period says nothing until real points fill its window, or the period is over. For
the two ways of treating missing data that are used here: CloudWatch looks at a few more points than the N of
"M out of N" (for 3 of 3 about five). If N of them are real, the newest N real ones decide. Otherwise gaps
are filled, as many as are needed to have N, with points that are breaching or not, as the alarm's
TreatMissingData says. Alarms on anything but cronce's own metrics (queue depths, for example) are left out.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from cronce_tools.local.template import Template

EXTRA_POINTS = 2

COMPARISONS = {
    "LessThanThreshold": operator.lt,
    "GreaterThanOrEqualToThreshold": operator.ge,
}


class State(StrEnum):
    """What an alarm says."""

    OK = "OK"
    """All is well."""
    ALARM = "ALARM"
    """Somebody must look."""
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"
    """It is new and not judged yet."""


@dataclass(frozen=True, kw_only=True)
class AlarmModel:
    """An alarm of the template."""

    needed: int
    looked_at: int
    threshold: float
    comparison: str
    missing_is_breaching: bool
    warm_up: int = 0
    """Periods after its creation in which a new alarm waits for its first full window."""

    @classmethod
    def of(cls, properties: dict[str, Any]) -> AlarmModel:
        """Read an alarm's properties; a setting that this model does not know is an error."""
        return cls(
            needed=properties["DatapointsToAlarm"],
            looked_at=properties["EvaluationPeriods"],
            threshold=properties["Threshold"],
            comparison=properties["ComparisonOperator"],
            missing_is_breaching={"breaching": True, "notBreaching": False}[properties["TreatMissingData"]],
            warm_up=properties.get("WarmUpConfiguration", {}).get("WarmUpPeriodDurationInMinutes", 0),
        )

    def first_states(self, points: list[float | None]) -> list[State]:
        """The state of a new alarm after each of the periods since it was made."""
        states: list[State] = []
        warming = self.warm_up > 0
        for number in range(1, len(points) + 1):
            window = points[max(0, number - self.looked_at) : number]
            full = len(window) == self.looked_at and None not in window
            warming = warming and not full and number <= self.warm_up
            states.append(State.INSUFFICIENT_DATA if warming else self.state(points[:number]))
        return states

    def state(self, points: list[float | None]) -> State:
        """The state after these points, one a period, the newest last; None is a period without a point."""
        seen = points[-(self.looked_at + EXTRA_POINTS) :]
        real = [self._breaches(point) for point in seen if point is not None][-self.looked_at :]
        filled = [self.missing_is_breaching] * (self.looked_at - len(real))
        return State.ALARM if sum(real + filled) >= self.needed else State.OK

    def _breaches(self, point: float) -> bool:
        return bool(COMPARISONS[self.comparison](point, self.threshold))


STATISTICS: dict[str, Callable[[list[float]], float]] = {"Sum": sum, "Maximum": max}
PERIOD = timedelta(minutes=1)


@dataclass
class Metrics:
    """Datapoints by metric name and minute."""

    points: dict[str, dict[datetime, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def record(self, name: str, at: datetime, value: float) -> None:
        """Add a datapoint."""
        self.points[name][at.replace(second=0, microsecond=0)].append(value)


@dataclass(frozen=True)
class Alarm:
    """One alarm of the template."""

    logical_id: str
    properties: dict[str, Any]

    def state(self, metrics: Metrics, now: datetime) -> State:
        """The state after the last whole minute before `now`."""
        end = now.replace(second=0, microsecond=0)
        model = AlarmModel.of(self.properties)
        statistic = STATISTICS[self.properties["Statistic"]]
        points = metrics.points[self.properties["MetricName"]]
        minutes = [end - PERIOD * back for back in range(model.looked_at + EXTRA_POINTS, 0, -1)]
        return model.state([statistic(points[minute]) if minute in points else None for minute in minutes])


def alarms(template: Template) -> list[Alarm]:
    """The template's alarms on cronce's own metrics; each has a period of one minute.

    Raises:
        ValueError: one has another period.
    """
    found = [
        Alarm(logical_id, properties)
        for logical_id, properties in template.of_type("AWS::CloudWatch::Alarm")
        if properties.get("Namespace") == "cronce"
    ]
    for alarm in found:
        if alarm.properties["Period"] != PERIOD.total_seconds():
            raise ValueError(f"{alarm.logical_id}: the local stack judges periods of one minute only")
    return found
