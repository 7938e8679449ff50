"""The first minutes of a stack, from its first patrol on: nobody is told anything.

Invariants:
- P95: with a first tick that comes minutes after alarms and watchdog exist, no alarm and no notice is raised;
- P95: nor if the mapping reads the stream minutes after the first run was due; if it never does, one is;
- a stack whose scheduler never starts is told within the warm-up plus the alarm's own minutes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronce.engine.metrics import STARTS_BY_SWEEP
from cronce_tools.local.alarm_model import State
from cronce_tools.local.alarms import AlarmWatch, alarms
from cronce_tools.local.metrics import Series
from cronce_tools.local.stack import AFTER_THE_MINUTE, STACK, LocalStack, event, local_stack
from cronce_tools.local.template import Template
from tests.support.jobs_modules import only_jobs_of
from tests.template.stack import Stack

MADE = datetime(2026, 3, 1, 11, 50, tzinfo=UTC)
"""When the alarms are made. The hourly sample job is due ten minutes later."""
MINUTE = timedelta(minutes=1)


def live(
    local: LocalStack, stack: Stack, minutes: int, *, first_tick: int, first_poll: int = 0
) -> dict[str, list[State]]:
    """Let the minutes since the alarms were made pass; the scheduler's rule begins to tick late.

    Args:
        local: the stack.
        stack: its template.
        minutes: how many.
        first_tick: the minute of the first tick.
        first_poll: the minute in which the mapping begins to read the stream.

    Returns:
        The states of all alarms after each minute.
    """
    template = Template.parse(json.dumps(stack.template), "the translated template")
    watch = AlarmWatch(alarms(template, STACK), MADE)
    found: dict[str, list[State]] = defaultdict(list)
    for number in range(minutes):
        local.clock.set(MADE + number * MINUTE + AFTER_THE_MINUTE)
        local.stream.enabled = number >= first_poll
        if number >= first_tick:
            local.invoke("scheduler", event("scheduler"))
            local.settle()
        if number > 0:  # the watchdog's rule begins one minute after the alarms
            local.invoke("watchdog", event("watchdog"))
        local.hear()
        watch.judge(local.metrics, MADE + (number + 1) * MINUTE)
        for name, state in watch.states.items():
            found[name].append(state)
    return found


@pytest.mark.parametrize("first_tick", [0, 3])
def test_p95_the_first_minutes_are_quiet_however_late_the_first_tick_comes(
    plain: Stack, first_tick: int
) -> None:
    minutes = first_tick + 7
    with local_stack(MADE) as local:
        judged = live(local, plain, minutes, first_tick=first_tick)
        assert local.notices == []
    assert set(judged) == set(plain.of_type("AWS::CloudWatch::Alarm"))
    assert {name for name, row in judged.items() if State.ALARM in row} == set()
    assert judged["SchedulerSilentAlarm"][-1] == State.OK


LATE = """
from cronce import Cron, job

@job("late", schedule=Cron("* * * * *"))
def late(run):
    pass
"""


def test_p95_a_new_mapping_that_polls_minutes_late_is_no_alarm(plain: Stack, tmp_path: Path) -> None:
    """The Lambda guide: after a mapping was made it may take several minutes until it polls."""
    (tmp_path / "late.py").write_text(LATE)
    with local_stack(MADE) as local, only_jobs_of(tmp_path):
        judged = live(local, plain, 20, first_tick=0, first_poll=11)
        assert local.notices == [], local.notices[0][2]
    lag = Series.named("cronce", STARTS_BY_SWEEP, {"stack": STACK})
    swept = local.metrics.statistic(lag, "Sum", MADE + 20 * MINUTE, 20)
    assert sum(each is not None for each in swept) >= 3, "there were runs that the stream did not start"
    assert {name for name, row in judged.items() if State.ALARM in row} == set()
    assert judged["StreamLagAlarm"] == [State.INSUFFICIENT_DATA] * 15 + [State.OK] * 5


def test_a_mapping_that_never_polls_is_told_after_the_warm_up(plain: Stack, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    with local_stack(MADE) as local, only_jobs_of(tmp_path):
        judged = live(local, plain, 19, first_tick=0, first_poll=19)
    assert State.ALARM in judged["StreamLagAlarm"][15:]


def test_a_scheduler_that_never_starts_is_told(plain: Stack) -> None:
    with local_stack(MADE) as local:
        judged = live(local, plain, 18, first_tick=18)
    assert judged["SchedulerSilentAlarm"] == [State.INSUFFICIENT_DATA] * 15 + [State.ALARM] * 3
    assert judged["WatchdogSilentAlarm"][-1] == State.OK
