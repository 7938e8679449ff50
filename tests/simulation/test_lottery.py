"""Every value of every policy has its place in the histories, and everything that may happen does.

Invariants:
- whatever argument `job` takes is drawn, and each of its values that means something of its own;
- all kinds of schedules, pieces, faults and incidents are drawn;
- operators know every command.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from inspect import Parameter, signature
from itertools import chain

import pytest

from cronce.core.acts import What
from cronce.core.job import CatchUp, Overlap, job
from cronce.core.schedule import At, Cron, Every
from tests.simulation.faults import Fault
from tests.simulation.lottery import ALL_PACES, Calendar, drawn
from tests.simulation.operators import COMMANDS
from tests.simulation.scenario import Definition, Happening, Part, Scenario

SEEDS = 150
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return [drawn(seed) for seed in range(SEEDS)]


def _definitions(scenarios: list[Scenario]) -> Iterator[Definition]:
    plans = chain.from_iterable(scenario.jobs for scenario in scenarios)
    return chain.from_iterable(plan.definitions for plan in plans)


def test_every_value_of_every_policy_is_drawn(scenarios: list[Scenario]) -> None:
    values: defaultdict[str, set[object]] = defaultdict(set)
    for definition in _definitions(scenarios):
        for name, value in definition.policies.items():
            values[name].add(value)
    arguments = signature(job).parameters.values()
    policies = {one.name for one in arguments if one.kind is Parameter.KEYWORD_ONLY} - {
        "schedule",
        "ping",
    }  # no policy of a run
    assert set(values) == policies

    assert values["overlap"] == set(Overlap)
    assert values["catch_up"] == set(CatchUp)
    assert values["concurrency"] == {None, 1, 2, 3}
    assert values["max_lateness"] == {None, 4 * MINUTE, 120 * MINUTE}
    assert min(values["catch_up_cap"]) < max(values["catch_up_cap"])  # type: ignore[operator, type-var]
    assert {type(excluded) for excluded in values["exclude"]} == {tuple, frozenset, Calendar}
    retries = list(values["retry"])
    assert {retry.attempts for retry in retries} == {1, 2, 3, 4}  # type: ignore[attr-defined]
    for name in ("base", "cap"):
        assert len({getattr(retry, name) for retry in retries}) > 1
    paces = [timedelta(seconds=pace) for pace in ALL_PACES]
    assert any(timeout < max(paces) for timeout in values["timeout"])  # type: ignore[operator]
    assert any(timeout > max(paces) for timeout in values["timeout"])  # type: ignore[operator]
    assert min(values["grace"]) == MINUTE  # type: ignore[type-var]


def test_every_kind_of_schedule_and_of_work_is_drawn(scenarios: list[Scenario]) -> None:
    schedules = [definition.schedule for definition in _definitions(scenarios)]
    assert {type(schedule) for schedule in schedules} == {At, Cron, Every}
    crons = [schedule for schedule in schedules if isinstance(schedule, Cron)]
    assert {(cron.dst_gap.value, cron.dst_repeat.value) for cron in crons} == {
        (gap, repeat) for gap in ("next_valid", "skip") for repeat in ("first", "last", "both")
    }
    plans = chain.from_iterable(scenario.jobs for scenario in scenarios)
    assert {piece.part for plan in plans for piece in plan.pieces} == set(Part)


def test_everything_that_may_happen_is_drawn(scenarios: list[Scenario]) -> None:
    incidents = chain.from_iterable(scenario.incidents for scenario in scenarios)
    assert {incident.what for incident in incidents} == set(Happening)
    assert {kind for scenario in scenarios for kind in scenario.weather.kinds} == set(Fault)


def test_operators_know_every_command() -> None:
    assert {*COMMANDS, What.RESUME} == set(What)
