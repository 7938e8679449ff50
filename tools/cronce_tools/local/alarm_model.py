"""What CloudWatch makes of an alarm's datapoints, in plain Python.

Formula. CloudWatch looks at a few more points than the N of "M out of N" (for three about five, the
evaluation range). If N of them are real, the newest N real ones decide. Otherwise gaps are filled, as many as
are needed to have N, with what TreatMissingData says. At least M that breach are ALARM, fewer are OK.

Two treatments fill with nothing. `missing` and `ignore` judge the real points alone: one that does not
breach is OK. If all of them breach and they are fewer than M, `ignore` stays as it was, and `missing` is in
ALARM once the oldest of them is M periods old; before that, and without any point, it has INSUFFICIENT_DATA.

A new alarm has INSUFFICIENT_DATA until it is judged. With a warm-up it is not judged before real points fill
its window, or the warm-up is over.

Source: Amazon CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data", "Avoiding
premature transitions to alarm state" and "Alarm warm-up periods"; tests/alarms holds every example of them.

Not modelled: the moment within a minute at which CloudWatch looks, percentiles, high resolution, and alarms
that look back for more than a day.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

EXTRA_POINTS = 2
"""Points beyond N in the evaluation range. The guide names five for three and says that it depends."""

COMPARISONS = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanOrEqualToThreshold": operator.le,
    "LessThanThreshold": operator.lt,
}


class State(StrEnum):
    """What an alarm says."""

    OK = "OK"
    """All is well."""
    ALARM = "ALARM"
    """Somebody must look."""
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"
    """It is new and not judged yet, or has nothing to be judged by."""


class Treatment(StrEnum):
    """What a missing point counts as, in CloudFormation's words."""

    BREACHING = "breaching"
    """As one that breaches."""
    NOT_BREACHING = "notBreaching"
    """As one that does not."""
    IGNORE = "ignore"
    """As nothing: the alarm stays as it is."""
    MISSING = "missing"
    """As nothing: without any point there is not enough to judge by."""


@dataclass(frozen=True, kw_only=True)
class AlarmModel:
    """How one series of points is judged.

    Attributes:
        needed: M: so many points must breach.
        looked_at: N: of so many.
        threshold: what points are compared with.
        comparison: how, in CloudFormation's words.
        treatment: what a missing point counts as.
        warm_up: periods after its creation in which a new alarm waits for its first full window.
        whole_warm_up: it waits for the end of the warm-up even if its window is full.
    """

    needed: int
    looked_at: int
    threshold: float
    comparison: str
    treatment: Treatment
    warm_up: int = 0
    whole_warm_up: bool = False

    @classmethod
    def of(cls, properties: dict[str, Any]) -> AlarmModel:
        """Read an alarm's properties, defaults included.

        Raises:
            ValueError: TreatMissingData has a value that CloudWatch does not know.
        """
        warm_up = properties.get("WarmUpConfiguration", {})
        return cls(
            needed=int(properties.get("DatapointsToAlarm", properties["EvaluationPeriods"])),
            looked_at=int(properties["EvaluationPeriods"]),
            threshold=float(properties["Threshold"]),
            comparison=properties["ComparisonOperator"],
            treatment=Treatment(properties.get("TreatMissingData", Treatment.MISSING)),
            warm_up=int(warm_up.get("WarmUpPeriodDurationInMinutes", 0)),
            whole_warm_up=bool(warm_up.get("OnlyStartEvaluatingAfterWarmUpPeriodEnds", False)),
        )

    @property
    def range(self) -> int:
        """How many periods CloudWatch looks at."""
        return self.looked_at + EXTRA_POINTS

    def first_states(self, points: Sequence[float | None]) -> list[State]:
        """The state of a new alarm after each of the periods since it was made."""
        states: list[State] = []
        state = State.INSUFFICIENT_DATA
        for age in range(1, len(points) + 1):
            state = self.next_state(points[:age], state, age)
            states.append(state)
        return states

    def next_state(self, points: Sequence[float | None], before: State, age: int) -> State:
        """The state after one more period.

        Args:
            points: one a period, the newest last; None is a period without a point.
            before: the state until now.
            age: periods since the alarm was made, this one included.
        """
        if before is State.INSUFFICIENT_DATA and age <= self.warm_up:
            window = points[-self.looked_at :]
            full = len(window) == self.looked_at and None not in window
            if self.whole_warm_up or not full:
                return State.INSUFFICIENT_DATA
        return self.state(points, before)

    def state(self, points: Sequence[float | None], before: State = State.INSUFFICIENT_DATA) -> State:
        """The state after these points, whatever the age of the alarm.

        Args:
            points: one a period, the newest last; None is a period without a point.
            before: the state until now.
        """
        seen = [None if point is None else self._breaches(point) for point in points[-self.range :]]
        real = [breaches for breaches in seen if breaches is not None][-self.looked_at :]
        missing = self.looked_at - len(real)
        if missing and self.treatment in {Treatment.IGNORE, Treatment.MISSING}:
            return self._of_few(seen, before)
        breaching = sum(real) + (missing if self.treatment is Treatment.BREACHING else 0)
        return State.ALARM if breaching >= self.needed else State.OK

    def _of_few(self, seen: Sequence[bool | None], before: State) -> State:
        """The state if fewer than N points are real and nothing takes the place of the others."""
        real = [breaches for breaches in seen if breaches is not None]
        if sum(real) >= self.needed:
            return State.ALARM
        if False in real:
            return State.OK
        if self.treatment is Treatment.IGNORE:
            return before
        age = len(seen) - seen.index(True) if real else 0
        return State.ALARM if age >= self.needed else State.INSUFFICIENT_DATA

    def _breaches(self, point: float) -> bool:
        return bool(COMPARISONS[self.comparison](point, self.threshold))
