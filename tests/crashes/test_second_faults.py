"""A process that dies while another one makes good what a first one left behind.

Invariant: after two deaths, at any two places, everything holds that holds after one.
"""

from __future__ import annotations

import pytest

from tests.crashes.lives import Scenario, judge, undisturbed
from tests.crashes.places import Fault, faults_at
from tests.crashes.test_every_place import SCENARIOS

DEATHS = (Fault.DIES_BEFORE, Fault.DIES_AFTER)
PAIRED = ("claim", "lost", "queue", "patrol")
"""Scenarios whose pairs are affordable; those of the first are in the normal run, for some first deaths."""
QUICK = ("plans.commit", "runs.apply")


def first_deaths() -> list[object]:
    """Each place of the scenarios at which a first process dies."""
    return [
        pytest.param(
            scenario,
            number,
            fault,
            id=f"{scenario.name}-{number}-{name}-{fault.value.replace(' ', '-')}",
            marks=[] if scenario.name == "claim" and name in QUICK else [pytest.mark.slow],
        )
        for scenario in SCENARIOS
        if scenario.name in PAIRED
        for number, name in enumerate(undisturbed(scenario).places)
        for fault in DEATHS
        if fault in faults_at(name)
    ]


@pytest.mark.parametrize("scenario, first, fault", first_deaths())
def test_p44_a_death_while_a_death_is_made_good_is_made_good_too(
    scenario: Scenario, first: int, fault: Fault
) -> None:
    calls = judge(scenario, {first: fault}).all_calls

    for second in range(first + 1, len(calls)):
        for again in DEATHS:
            if again in faults_at(calls[second]):
                life = judge(scenario, {first: fault, second: again})
                assert [number for number, _, _ in life.reached] == [first, second]
    assert first + 1 < len(calls)
