"""What happens while parts are switched off.

* Without the stream, the sweep starts what is due.
* A watchdog that is not woken any more is told by an alarm; the scheduler, which ticks on, is not.
"""

from __future__ import annotations

from tests.e2e.driver import SWEEP, delay
from tests.e2e.stage import Stage


def test_without_the_stream_the_sweep_starts_runs(stage: Stage) -> None:
    run = stage.degraded.first_run("minutely", status="SUCCEEDED", seconds=240)
    assert delay(run) >= SWEEP
    logs = stage.degraded.client("logs")
    group = stage.degraded.output("DispatcherLogGroupName")
    assert logs.filter_log_events(logGroupName=group)["events"] == []  # nobody else can have started it


def test_a_watchdog_that_is_not_woken_is_told_by_an_alarm(stage: Stage) -> None:
    driver = stage.degraded
    driver.alarm("WatchdogSilentAlarm", 300)
    assert not any(driver.is_alarm(message, "SchedulerSilentAlarm") for message in driver.messages)
    names = [driver.physical_ids[name] for name in ("WatchdogSilentAlarm", "SchedulerSilentAlarm")]
    answer = driver.client("cloudwatch").describe_alarms(AlarmNames=names)
    states = {each["AlarmName"]: each["StateValue"] for each in answer["MetricAlarms"]}
    assert [states[name] for name in names] == ["ALARM", "OK"]
