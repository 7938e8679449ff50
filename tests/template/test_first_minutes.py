"""The first minutes of a stack, from its first patrol on: nobody is told anything.

Invariants:
- P95: with a first tick that comes minutes after alarms and watchdog exist, no alarm and no notice is raised;
- a stack whose scheduler never starts is told within the warm-up plus the alarm's own minutes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cronce_tools.local.alarms import STATISTICS, AlarmModel, State
from cronce_tools.local.stack import AFTER_THE_MINUTE, LocalStack, event, local_stack
from tests.template.stack import Stack

MADE = datetime(2026, 3, 1, 11, 50, tzinfo=UTC)
"""When the alarms are made. The hourly sample job is due ten minutes later."""
MINUTE = timedelta(minutes=1)


def live(local: LocalStack, minutes: int, *, first_tick: int) -> None:
    """Let the minutes since the alarms were made pass; the scheduler's rule begins to tick late."""
    for number in range(minutes):
        local.clock.set(MADE + number * MINUTE + AFTER_THE_MINUTE)
        if number >= first_tick:
            local.invoke("scheduler", event("scheduler"))
            local.settle()
        if number > 0:  # the watchdog's rule begins one minute after the alarms
            local.invoke("watchdog", event("watchdog"))
        local.hear()


def states(local: LocalStack, stack: Stack, minutes: int) -> dict[str, list[State]]:
    """The states of our alarms, minute by minute."""
    found: dict[str, list[State]] = {}
    for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items():
        if alarm["Namespace"] != "cronce":
            continue
        statistic, points = STATISTICS[alarm["Statistic"]], local.metrics.points[alarm["MetricName"]]
        row = [
            statistic(points[minute]) if minute in points else None
            for minute in (MADE + number * MINUTE for number in range(minutes))
        ]
        found[name] = AlarmModel.of(alarm).first_states(row)
    return found


@pytest.mark.parametrize("first_tick", [0, 3])
def test_p95_the_first_minutes_are_quiet_however_late_the_first_tick_comes(
    plain: Stack, first_tick: int
) -> None:
    minutes = first_tick + 7
    with local_stack(MADE) as local:
        live(local, minutes, first_tick=first_tick)
        judged = states(local, plain, minutes)
        assert local.notices == []
    assert len(judged) == 8
    assert {name for name, row in judged.items() if State.ALARM in row} == set()
    assert judged["SchedulerSilentAlarm"][-1] == State.OK


def test_a_scheduler_that_never_starts_is_told(plain: Stack) -> None:
    with local_stack(MADE) as local:
        live(local, 18, first_tick=18)
        judged = states(local, plain, 18)
    assert judged["SchedulerSilentAlarm"] == [State.INSUFFICIENT_DATA] * 15 + [State.ALARM] * 3
    assert judged["WatchdogSilentAlarm"][-1] == State.OK
