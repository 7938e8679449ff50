"""The template's own alarms, judged on metrics that were recorded locally.

`alarm_model` has CloudWatch's rules. An alarm is on one metric, or on an expression over several. What stands
in the template for the name of a resource is the resource's logical id here, for the stack's name the name
that the caller gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cronce_tools.local.alarm_model import AlarmModel, State
from cronce_tools.local.metric_math import evaluate
from cronce_tools.local.metrics import MINUTE, Metrics, Points, Series
from cronce_tools.local.template import Template


@dataclass(frozen=True)
class _Look:
    """So many periods of these metrics, up to an instant."""

    metrics: Metrics
    end: datetime
    periods: int


@dataclass(frozen=True)
class Alarm:
    """One alarm of the template.

    Attributes:
        logical_id: its name in the template.
        properties: as they stand there.
        stack: the stack's name.
    """

    logical_id: str
    properties: dict[str, Any]
    stack: str

    @property
    def model(self) -> AlarmModel:
        """How its points are judged."""
        return AlarmModel.of(self.properties)

    def state(self, metrics: Metrics, now: datetime, before: State = State.INSUFFICIENT_DATA) -> State:
        """The state after the last whole minute before `now`, if it is past its warm-up.

        Args:
            metrics: what was recorded.
            now: the present.
            before: its state until now.
        """
        return self.model.state(self.points(metrics, now), before)

    def points(self, metrics: Metrics, now: datetime, periods: int | None = None) -> Points:
        """What it looks at, up to the last whole minute before `now`.

        Args:
            metrics: what was recorded.
            now: the present.
            periods: how many; None: as many as CloudWatch looks at.
        """
        looked_at = _Look(metrics, now.replace(second=0, microsecond=0), periods or self.model.range)
        if "MetricName" in self.properties:
            return self._of_metric(looked_at, self.properties, self.properties["Statistic"])
        queries = self.properties["Metrics"]
        known = {
            query["Id"]: self._of_metric(
                looked_at,
                {**query["MetricStat"]["Metric"], "Period": query["MetricStat"]["Period"]},
                query["MetricStat"]["Stat"],
            )
            for query in queries
            if "MetricStat" in query
        }
        (returned,) = (query for query in queries if query.get("ReturnData", True))
        return evaluate(returned["Expression"], known) if "Expression" in returned else known[returned["Id"]]

    def _of_metric(self, looked_at: _Look, of: Mapping[str, Any], statistic: str) -> Points:
        named = {each["Name"]: physical(each["Value"], self.stack) for each in of.get("Dimensions", ())}
        series = Series.named(of["Namespace"], of["MetricName"], named)
        period = timedelta(seconds=int(of["Period"]))
        return looked_at.metrics.statistic(series, statistic, looked_at.end, looked_at.periods, period)


@dataclass
class AlarmWatch:
    """Judges the alarms of a new deployment minute by minute.

    Attributes:
        alarms: what is judged.
        made_at: the minute in which the alarms were made.
        states: what each says, by logical id.
        changes: each change of a state: when it was judged, whose, from what, to what.
    """

    alarms: list[Alarm]
    made_at: datetime
    states: dict[str, State] = field(default_factory=dict)
    changes: list[tuple[datetime, str, State, State]] = field(default_factory=list)

    def judge(self, metrics: Metrics, now: datetime) -> None:
        """Look at the minutes up to the last whole one before `now`; to be called once in each minute."""
        age = (now - self.made_at) // MINUTE
        for alarm in self.alarms:
            before = self.states.get(alarm.logical_id, State.INSUFFICIENT_DATA)
            state = alarm.model.next_state(alarm.points(metrics, now), before, age)
            self.states[alarm.logical_id] = state
            if state is not before:
                self.changes.append((now, alarm.logical_id, before, state))


def physical(value: object, stack: str) -> str:
    """The name that a piece of a template stands for, as the local stack gives names.

    Raises:
        ValueError: it is none that is understood here.
    """
    match value:
        case str():
            return value
        case {"Ref": "AWS::StackName"}:
            return stack
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            return name
    raise ValueError(f"not a name: {value!r}")


def alarms(template: Template, stack: str, conditions: Iterable[str] = ()) -> list[Alarm]:
    """The alarms that a deployment of the template makes.

    Args:
        template: the template, translated or not.
        stack: the stack's name.
        conditions: those of the template that hold.
    """
    holding = {None, *conditions}
    return [
        Alarm(logical_id, properties, stack)
        for logical_id, properties in template.of_type("AWS::CloudWatch::Alarm")
        if template.resources[logical_id].get("Condition") in holding
    ]
