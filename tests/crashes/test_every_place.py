"""Every call that small lives of a stack make to the store, to Lambda and to people goes wrong, each in turn.

Places are not chosen: a life without a fault counts them. Each then goes wrong in every way that it can (see
`Fault`), and ordinary minutes follow.

Invariants, for every place and fault:
- whatever the checker looks at after each write holds (tokens, ends, slots, queue, ledger);
- a step whose end is recorded is never executed again, and all keys took effect;
- the life comes out as it does without the fault, told to people at most twice under one id;
- it does so within the scenario's bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crashes import operator_scenarios, planning_scenarios, run_scenarios
from tests.crashes.lives import Scenario, judge, undisturbed
from tests.crashes.places import LIVES_WITHIN, Fault, faults_at

SCENARIOS = (
    *planning_scenarios.SCENARIOS,
    *run_scenarios.SCENARIOS,
    *operator_scenarios.SCENARIOS,
)
QUICK = ("claim", "patrol")
"""Where processes meet also in the normal run."""
KEPT = ("runs.apply", "runs.renew", "steps.record")
"""Writes of a worker that are sent again, or not needed, when their reply was lost."""


def cases() -> Iterator[object]:
    """Each place of each scenario, with each of its faults."""
    for scenario in SCENARIOS:
        for number, name in enumerate(undisturbed(scenario).places):
            for fault in faults_at(name):
                slow = fault is Fault.STALLS or (fault in LIVES_WITHIN and scenario.name not in QUICK)
                yield pytest.param(
                    scenario,
                    number,
                    fault,
                    id=f"{scenario.name}-{number}-{name}-{fault.value.replace(' ', '-')}",
                    marks=[pytest.mark.slow] if slow else [],
                )


@pytest.mark.parametrize("scenario, number, fault", list(cases()))
def test_p13_p44_i49_what_goes_wrong_at_any_place_is_made_good(
    scenario: Scenario, number: int, fault: Fault
) -> None:
    name = undisturbed(scenario).places[number]

    life = judge(scenario, {number: fault})

    assert list(life.reached) == [(number, name, fault)]
    if fault is Fault.LOSES_REPLY and name in KEPT:
        assert life.attempts == undisturbed(scenario).attempts, "a lost reply costs no attempt"
