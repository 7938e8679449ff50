"""A few histories in every test run, and that a history is what its seed says.

Invariants:
- the histories of a fixed set of seeds violate nothing;
- a seed is played the same way every time, and by every interpreter;
- a history can be repeated without some of its faults, and a failing one is made smaller.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256

import pytest

from cronce.core.records import RunRecord
from tests.simulation.lottery import STORMY, drawn
from tests.simulation.scenario import Scenario
from tests.simulation.shrink import shrunk
from tests.simulation.world import World

SEEDS = (5, 12, 30, 75, 81, 94, 96, 98)
"""Chosen for speed, and because nearly every kind of fault and incident is among them."""
EVENTFUL = 4
"""Of the short and stormy ones."""


def history(seed: int) -> str:
    """What happened, in a few bytes: the faults, and what became of every run."""
    world = World(drawn(seed, STORMY))
    world.play()
    runs = [
        (item.ref.id, item.status.value, item.rev, item.fencing_token, str(item.ended_at))
        for item in world.store.table.items().values()
        if isinstance(item, RunRecord)
    ]
    text = repr((world.hub.events, world.counts["calls"], world.faults.sites, runs, world.violation))
    return sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_violates_nothing(seed: int) -> None:
    world = World(drawn(seed))
    violation = world.play()
    assert violation is None, f"{violation}: make simulate SEED={seed}"


def test_a_seed_is_one_history() -> None:
    assert history(EVENTFUL) == history(EVENTFUL)


def test_the_hash_seed_of_the_interpreter_changes_nothing() -> None:
    code = f"from tests.simulation.test_simulation import history; print(history({EVENTFUL}))"

    def told(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout

    assert told("1") == told("2")


def test_a_fault_can_be_spared_and_the_others_stay() -> None:
    scenario = drawn(EVENTFUL, STORMY)
    whole = World(scenario)
    whole.play()
    middle = len(whole.faults.sites) // 2
    spared = whole.faults.sites[middle]
    without = World(replace(scenario, spared=frozenset({spared})))
    without.play()
    assert spared not in without.faults.sites
    assert without.faults.sites[:middle] == whole.faults.sites[:middle]
    assert without.faults.sites


def test_a_failing_history_is_made_smaller() -> None:
    """What counts as a failure here is a crash of any worker: one fault is enough for it."""

    def play(scenario: Scenario) -> World:
        world = World(scenario)
        world.play()
        if world.faults.injected["crash after"]:
            world.violated("no worker dies", "one did")
        return world

    scenario = drawn(EVENTFUL, STORMY)
    found = shrunk(scenario, play, tries=60)
    assert found is not None
    assert len(found.scenario.jobs) < len(scenario.jobs) or len(scenario.jobs) == 1
    assert len(found.sites) < len(play(scenario).faults.sites)


def test_a_history_without_a_violation_is_not_made_smaller() -> None:
    assert shrunk(drawn(SEEDS[0])) is None
