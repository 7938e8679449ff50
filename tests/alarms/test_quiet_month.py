"""Thirty quiet days: nobody is told anything, and no alarm is ever up.

Invariants:
- with deployments, pauses, a removed job, one that rests at night and all four nights in which clocks change,
  not one alarm and not one notice, from the first minute of a new stack on (P91, P93, P94, P95, P96);
- P98: a job that was removed, or paused, is missed by nobody;
- P100: a job that rests at night is missed by nobody;
- every job ran at each of its times meanwhile, so there was something to be quiet about;
- what is left out of the minutes is what the minutes that are played would have shown.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from cronce import Cron
from cronce.engine.metrics import PATROL_COMPLETED, TICK_COMPLETED
from cronce_tools.local.alarm_model import State
from cronce_tools.local.metrics import MINUTE, OWN, Metrics, Series
from cronce_tools.local.stack import STACK
from tests.alarms.quiet_month import AUTUMN, SPRING, Weeks, at, weeks
from tests.template.stack import Stack

PERIODS = {
    "spring": (at("03-07 00:00"), at("03-30 12:00"), SPRING),
    "autumn": (at("10-24 00:00"), at("11-02 12:00"), AUTUMN),
}
CLOCK_CHANGES = [at("03-08 07:00"), at("03-29 01:00"), at("10-25 01:00"), at("11-01 06:00")]
"""When clocks change in New York, Amsterdam, Amsterdam and New York."""
WINDOWED = Cron("*/5 6-23 * * *", tz="Europe/Amsterdam")
NIGHT = (at("10-24 23:00"), at("10-25 05:00"))


def test_the_two_periods_have_thirty_days_and_all_four_clock_changes() -> None:
    spans = [(start, end) for start, end, _ in PERIODS.values()]
    assert sum((end - start for start, end in spans), timedelta(0)) >= timedelta(days=30)
    assert all(any(start < change < end for start, end in spans) for change in CLOCK_CHANGES)


@pytest.mark.parametrize(
    "every_minute",
    [pytest.param(True, marks=pytest.mark.slow, id="every minute"), pytest.param(False, id="")],
)
@pytest.mark.parametrize("period", PERIODS)
def test_p91_p93_p94_p95_p96_p98_p100_thirty_quiet_days_are_quiet(
    period: str, every_minute: bool, deployed: Stack
) -> None:
    """One test, because playing the days is what takes time."""
    start, end, acts = PERIODS[period]
    with weeks(start, deployed) as quiet:
        quiet.play(end, acts, every_minute=every_minute)
        assert quiet.stack.notices == []
        for alarm in quiet.alarms:
            states = quiet.states(alarm)
            assert State.ALARM not in states, alarm.logical_id
            assert (len(states), states[-1]) == ((end - start) // MINUTE, State.OK), alarm.logical_id
        _beat_each_minute(quiet, start, end)
        _ran_well(quiet)
        if period == "spring":
            _ran_in_spring(quiet, end)
        else:
            _ran_in_autumn(quiet)


def _beat_each_minute(quiet: Weeks, start: datetime, end: datetime) -> None:
    for name in (TICK_COMPLETED, PATROL_COMPLETED):
        series = Series.named(OWN, name, {"stack": STACK})
        beats = quiet.stack.metrics.statistic(series, "Sum", end, (end - start) // MINUTE)
        assert beats[1:] == [1.0] * (len(beats) - 1)  # the first minute is the one in which it is made


def _ran_well(quiet: Weeks) -> None:
    jobs = ["menu", "night-close", "new-york-close", "delivery", "sync", "survey", "paper-round", "weekly"]
    jobs += ["old-job", "windowed"]
    assert [run for job in jobs for run in quiet.not_well(job)] == []
    assert all(quiet.ran(job) for job in jobs)


def _ran_in_spring(quiet: Weeks, end: datetime) -> None:
    assert quiet.ran("windowed") == WINDOWED.between(at("03-27 04:00"), end - MINUTE)
    assert quiet.ran("old-job")[-1] == at("03-13 13:10")
    assert at("03-29 01:00") in quiet.ran("night-close"), "02:30 is skipped: it runs when the clocks jump"
    assert at("03-08 07:00") in quiet.ran("new-york-close")


def _ran_in_autumn(quiet: Weeks) -> None:
    assert quiet.ran("windowed") == WINDOWED.between(at("10-24 00:00"), at("10-27 13:00"))
    assert [when for when in quiet.ran("night-close") if when.day == 25] == [at("10-25 00:30")]
    assert [when for when in quiet.ran("night-close") if when.day in {27, 28}] == [at("10-28 01:30")], (
        "it was paused from the 26th to noon of the 28th, and caught up with the newest time"
    )
    nights = [when for when in quiet.ran("new-york-close") if (when.month, when.day) == (11, 1)]
    assert nights == [at("11-01 05:30"), at("11-01 07:30")]


def test_what_is_left_out_is_what_the_minutes_that_are_played_show(deployed: Stack) -> None:
    """A night with a clock change, once with every minute and once without those in which nothing is due."""
    start, end = NIGHT
    points: list[Metrics] = []
    for every_minute in (True, False):
        with weeks(start, deployed) as quiet:
            quiet.play(end, AUTUMN[1:2], every_minute=every_minute)
            points.append(quiet.stack.metrics)
            assert (quiet.played == (end - start) // MINUTE - 1) is every_minute
    assert points[0].points == points[1].points
