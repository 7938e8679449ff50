"""When CloudWatch puts a metric alarm into which state, for the two ways of treating missing data used here.

CloudWatch looks at a few more points than the N of "M out of N" (for 3 of 3 about five). If N of them are
real, the newest N real ones decide. Otherwise gaps are filled, as many as are needed to have N, with points
that are breaching or not, as the alarm's TreatMissingData says.
"""

import operator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

EXTRA_POINTS = 2

COMPARISONS = {
    "LessThanThreshold": operator.lt,
    "GreaterThanOrEqualToThreshold": operator.ge,
}


class State(StrEnum):
    OK = "OK"
    ALARM = "ALARM"


@dataclass(frozen=True, kw_only=True)
class AlarmModel:
    """An alarm of the template."""

    needed: int
    looked_at: int
    threshold: float
    comparison: str
    missing_is_breaching: bool

    @classmethod
    def of(cls, properties: dict[str, Any]) -> "AlarmModel":
        """Read an alarm's properties; a setting that this model does not know is an error."""
        return cls(
            needed=properties["DatapointsToAlarm"],
            looked_at=properties["EvaluationPeriods"],
            threshold=properties["Threshold"],
            comparison=properties["ComparisonOperator"],
            missing_is_breaching={"breaching": True, "notBreaching": False}[properties["TreatMissingData"]],
        )

    def state(self, points: list[float | None]) -> State:
        """The state after these points, one a period, the newest last; None is a period without a point."""
        seen = points[-(self.looked_at + EXTRA_POINTS) :]
        real = [self._breaches(point) for point in seen if point is not None][-self.looked_at :]
        filled = [self.missing_is_breaching] * (self.looked_at - len(real))
        return State.ALARM if sum(real + filled) >= self.needed else State.OK

    def _breaches(self, point: float) -> bool:
        return bool(COMPARISONS[self.comparison](point, self.threshold))
