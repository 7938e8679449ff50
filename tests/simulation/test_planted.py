"""The simulation finds what it is there to find: each planted mistake, in a bounded number of histories."""

from __future__ import annotations

import pytest

from tests.simulation.lottery import drawn
from tests.simulation.planted import PLANTED, Planted
from tests.simulation.world import Violation, World

WITHIN = 120
"""Histories of some hours. Most mistakes take one of them; two workers of one run that meet are rarer."""
LEAST = 20
"""So many mistakes at least."""


def test_there_are_enough_mistakes_each_with_its_history() -> None:
    assert len({planted.name for planted in PLANTED}) == len(PLANTED) >= LEAST
    assert all(planted.history.endswith(".") for planted in PLANTED)


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name.replace(" ", "-"))
def test_a_planted_mistake_is_found(planted: Planted) -> None:
    with planted.planted():
        found = next((seed for seed in range(1, WITHIN) if _violation(seed, planted)), None)
    assert found is not None, f"{planted.history} Not found in {WITHIN} histories."
    healthy = _violation(found, planted)
    assert healthy is None, f"seed {found} violates without the mistake: {healthy}"


def _violation(seed: int, planted: Planted) -> Violation | None:
    return World(drawn(seed, planted.shape)).play()
