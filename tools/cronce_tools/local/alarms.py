"""The template's own alarms, judged on metrics that were recorded locally.

`alarm_model` has CloudWatch's rules. An alarm is on one metric, or on a query that gives a series for each
value of a dimension: its contributors. What stands in the template for the name of a resource is the
resource's logical id here, for the stack's name the name that the caller gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cronce_tools.local.alarm_model import AlarmModel, State
from cronce_tools.local.metrics import MINUTE, Metrics, Points, Series
from cronce_tools.local.template import Template

_QUERY = re.compile(
    r'SELECT MAX\((?P<metric>\w+)\) FROM SCHEMA\("(?P<namespace>\w+)", (?P<dimensions>\w+, \w+)\) '
    r"WHERE (?P<where>\w+) = '(?P<value>[^']+)' GROUP BY (?P<by>\w+) ORDER BY MAX\(\) DESC "
    r"LIMIT (?P<limit>\d+)"
)
"""The one form of a Metrics Insights query that is modelled; Amazon CloudWatch User Guide, "Metrics Insights
query components and syntax"."""


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
        """What an alarm on one metric looks at, up to the last whole minute before `now`.

        Args:
            metrics: what was recorded.
            now: the present.
            periods: how many; None: as many as CloudWatch looks at.
        """
        of = self.properties
        named = {each["Name"]: physical(each["Value"], self.stack) for each in of.get("Dimensions", ())}
        series = Series.named(of["Namespace"], of["MetricName"], named)
        looked_at = periods or self.model.range
        return metrics.statistic(series, of["Statistic"], _whole(now), looked_at, _period(of))

    def contributors(self, metrics: Metrics, now: datetime) -> dict[str, Points]:
        """What an alarm on a query looks at: the points of each series, by the value that groups them.

        A series is there while it has a point in what is looked at.

        Args:
            metrics: what was recorded.
            now: the present.

        Raises:
            ValueError: the query is not one that is modelled here.
        """
        (query,) = self.properties["Metrics"]
        text = physical(query["Expression"], self.stack)
        asked = _QUERY.fullmatch(text)
        if asked is None or {asked["where"], asked["by"]} != set(asked["dimensions"].split(", ")):
            raise ValueError(f"the query of {self.logical_id} is not modelled: {text}")
        found: dict[str, Points] = {}
        for series in list(metrics.points):
            named = dict(series.dimensions)
            same = (series.namespace, series.name) == (asked["namespace"], asked["metric"])
            if not same or set(named) != {asked["where"], asked["by"]}:
                continue
            points = metrics.statistic(series, "Maximum", _whole(now), self.model.range, _period(query))
            if named[asked["where"]] == asked["value"] and any(point is not None for point in points):
                found[named[asked["by"]]] = points
        worst = sorted(found, key=lambda name: max(filter(None, found[name]), default=0), reverse=True)
        return {name: found[name] for name in worst[: int(asked["limit"])]}


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


def _whole(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0)


def _period(of: Mapping[str, Any]) -> timedelta:
    return timedelta(seconds=int(of["Period"]))


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
        case {"Fn::Sub": str(text)}:
            return text.replace("${AWS::StackName}", stack)
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
