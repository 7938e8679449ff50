"""Faults against the template's own alarms: who finds out, after how many minutes, and what people read.

Invariants:
- what the page says of each fault is what happens;
- a dead scheduler, dispatcher, executor, watchdog or table raises an alarm within seven minutes;
- P12: a time that is missed is told by name within its grace and three minutes, and in alarm within its grace
  and five, unless the fault is in those who tell;
- P94: when a fault is mended every alarm ends;
- what repairs itself within minutes (a tick that dies, a lease that nobody gives back) is told to nobody;
- every metric that an alarm looks at is one that the replay publishes.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from cronce.engine import metrics
from cronce_tools.local.alarms import alarms
from cronce_tools.local.metrics import Metrics, Series
from cronce_tools.local.stack import STACK
from cronce_tools.local.template import Template
from tests.alarms.faults import FAULTS, Fault
from tests.alarms.outcome import MADE, Outcome, outcome_of, row
from tests.alarms.page import rows_of_the_page
from tests.alarms.played import moto_stack
from tests.alarms.replay import ERRORS, FUNCTIONS, QUEUES, THROTTLES, of_function, of_queue
from tests.template.stack import Stack

DEAD = timedelta(minutes=7)
TOLD, ALARMED = timedelta(minutes=3), timedelta(minutes=5)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_p12_p94_a_fault_is_found_told_and_over_as_the_page_says(fault: Fault, deployed: Stack) -> None:
    """One test, because playing the fault is what takes time."""
    outcome = outcome_of(fault, deployed)
    assert row(outcome) == rows_of_the_page()[fault.name], "python -m tests.alarms writes the table anew"
    assert outcome.left == set()
    if fault.dies:
        assert _first_alarm(outcome) <= DEAD
    if fault.loses is not None:
        assert (outcome.alarms, outcome.told, outcome.missed) == ({}, [], {})
        assert outcome.lost_ticks == fault.loses
    if not fault.mute:
        _told_in_time(outcome)


def _first_alarm(outcome: Outcome) -> timedelta:
    return min(timedelta(minutes=minutes) for minutes in outcome.alarms.values())


def _told_in_time(outcome: Outcome) -> None:
    """The first time that each job missed: later ones are part of an alert that stands already."""
    first = dict(sorted(outcome.missed, reverse=True))
    for job, at in first.items():
        end = outcome.missed[job, at]
        naming = [told.at for told in outcome.told if _names(told.subject, told.body, job, f"{at:%H:%M}")]
        assert min(naming) <= end + TOLD, (job, at)
    if first:
        gauges = (outcome.alarm_at("JobsMissedAlarm"), outcome.alarm_at("JobsFailedAlarm"))
        alarmed = min(each for each in gauges if each is not None)
        assert alarmed <= min(outcome.missed[each] for each in first.items()) + ALARMED


def _names(subject: str, body: str, job: str, time: str) -> bool:
    """A notice's subject names its job, one about the scheduler names jobs in its lines."""
    return any(job in f"{subject} {line}" and time in line for line in body.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_ends_alike_with_the_adapters_on_moto(fault: Fault, deployed: Stack) -> None:
    assert row(outcome_of(fault, deployed, moto_stack)) == row(outcome_of(fault, deployed))


def test_the_page_has_a_row_for_each_fault_and_no_other() -> None:
    assert list(rows_of_the_page()) == [fault.name for fault in FAULTS]
    assert len(FAULTS) >= 15


def test_every_metric_that_an_alarm_looks_at_is_one_that_the_replay_publishes(deployed: Stack) -> None:
    """An alarm on another one would never be in ALARM here, whatever goes wrong."""
    asked: set[Series] = set()

    class Asked(Metrics):
        def statistic(self, series: Series, *rest: object) -> list[float | None]:
            asked.add(series)
            return []

    names = [name for key, name in vars(metrics).items() if key.isupper() and isinstance(name, str)]
    published = {Series.named("cronce", name, {"stack": STACK}) for name in names}
    published |= {of_function(ERRORS, function) for function in FUNCTIONS}
    published |= {of_function(THROTTLES, function) for function in ("scheduler", "watchdog", "executor")}
    published |= {of_queue(queue) for queue in QUEUES}
    template = Template.parse(json.dumps(deployed.template), "the translated template")
    for alarm in alarms(template, STACK):
        alarm.points(Asked(), MADE)
    assert asked - published == set()
    assert len(asked) == len(alarms(template, STACK))
