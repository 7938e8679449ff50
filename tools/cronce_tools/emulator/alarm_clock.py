"""Alarms are judged all the time, by the model of CloudWatch's rules that the template's tests use.

The emulator as it is adds up all metrics of a name, whatever their dimensions, judges only when asked,
and never notices that nothing comes. Warm-up is CloudWatch's as well: until a new alarm has had one full
window of points, or its warm-up period is over, it says INSUFFICIENT_DATA.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cronce_tools.emulator.parts import Parts
from cronce_tools.emulator.real_time import now, pause
from cronce_tools.emulator.stream_mappings import scope
from cronce_tools.local.alarm_model import AlarmModel

INSUFFICIENT = "INSUFFICIENT_DATA"
QUEUE_NAMESPACE = "AWS/SQS"
QUEUE_DEPTH = "ApproximateNumberOfMessagesVisible"
MINUTE = 60
LOOK_EVERY = 5
"""Seconds. CloudWatch looks once in a period, at a moment of its own choice; this is any of them."""
LOG = logging.getLogger("cronce.alarms")

Alarm = dict[str, Any]


@dataclass(frozen=True)
class WarmUp:
    """How long a new alarm is not judged on missing data.

    Attributes:
        until: seconds since 1970.
        early: a full window of points ends it.
    """

    until: float
    early: bool


def judge(model: AlarmModel, points: list[float | None], warm_up: WarmUp | None, at: float) -> str | None:
    """The state of an alarm after these points; None if it is not judged yet.

    Args:
        model: of the alarm.
        points: one a period, the newest last; None is a period without a point.
        warm_up: of the alarm; None if it has none, or has ended it.
        at: seconds since 1970.
    """
    real = sum(point is not None for point in points)
    if warm_up and at < warm_up.until and not (warm_up.early and real >= model.looked_at):
        return None
    return str(model.state(points))


@dataclass
class AlarmClock:
    """Judges all alarms, every few seconds.

    Attributes:
        parts: of the emulator.
    """

    parts: Parts
    _warm_ups: dict[str, WarmUp] = field(default_factory=dict)

    def remember_warm_up(self, original: Callable[..., Alarm]) -> Callable[..., Alarm]:
        """CloudFormation's reader of an alarm, which drops the warm-up, with its warm-up kept here."""

        def read(name: str, properties: dict[str, Any]) -> Alarm:
            known = name in self.parts["cloudwatch"]._alarms
            alarm = original(name, properties)
            settings = properties.get("WarmUpConfiguration")
            if settings and not known:
                minutes = int(settings["WarmUpPeriodDurationInMinutes"])
                whole = settings.get("OnlyStartEvaluatingAfterWarmUpPeriodEnds", False)
                self._warm_ups[alarm["AlarmArn"]] = WarmUp(now() + minutes * MINUTE, early=not whole)
            return alarm

        return read

    def start(self) -> None:
        """Judge from now on, in a thread of its own."""
        threading.Thread(target=self._run, name="cronce-alarms", daemon=True).start()

    def _run(self) -> None:
        measured = 0.0
        while True:
            at = now()
            self._judge_all(at)
            if at // MINUTE > measured:
                self._measure_queues(at)
                measured = at // MINUTE
            pause(LOOK_EVERY)

    def _judge_all(self, at: float) -> None:
        for key, alarm in list(self.parts["cloudwatch"]._alarms._data.items()):
            with scope(self.parts, key[0], key[1]):
                try:
                    self._judge(alarm, at)
                except Exception:
                    LOG.exception("%s cannot be judged", alarm.get("AlarmName"))

    def _judge(self, alarm: Alarm, at: float) -> None:
        model = AlarmModel.of(alarm)
        points = self._points(alarm, model, at)
        state = judge(model, points, self._warm_ups.get(alarm["AlarmArn"]), at)
        if state is None:
            return
        self._warm_ups.pop(alarm["AlarmArn"], None)
        if state != alarm["StateValue"]:
            self._move(alarm, state, f"points {points}, the newest last", at)

    def _points(self, alarm: Alarm, model: AlarmModel, at: float) -> list[float | None]:
        cloudwatch, period = self.parts["cloudwatch"], int(alarm["Period"])
        dimensions = cloudwatch._dims_key(cloudwatch._dims_from_list(alarm.get("Dimensions") or []))
        stored = cloudwatch._metrics.get((alarm["Namespace"], alarm["MetricName"], dimensions)) or []
        end = at - at % period
        found: list[float | None] = []
        for back in range(model.range, 0, -1):
            start = end - back * period
            values = [point for point in stored if start <= point["Timestamp"] < start + period]
            found.append(cloudwatch._calc_stats(values)[alarm["Statistic"]] if values else None)
        return found

    def _move(self, alarm: Alarm, state: str, reason: str, at: float) -> None:
        cloudwatch, old = self.parts["cloudwatch"], alarm["StateValue"]
        alarm.update(StateValue=state, StateReason=reason, StateUpdatedTimestamp=int(at))
        cloudwatch._record_history(alarm["AlarmName"], old, state, reason)
        cloudwatch._dispatch_alarm_actions(alarm, old, state, reason)

    def _measure_queues(self, at: float) -> None:
        """SQS publishes how many messages wait in each queue; the emulator does not."""
        for (account, region, url), queue in list(self.parts["sqs"]._queues._data.items()):
            with scope(self.parts, account, region):
                visible = sum(message["visible_at"] <= at for message in list(queue["messages"]))
                self.parts["cloudwatch"].record_metric(
                    QUEUE_NAMESPACE, QUEUE_DEPTH, visible, "Count", {"QueueName": url.rsplit("/", 1)[-1]}
                )
