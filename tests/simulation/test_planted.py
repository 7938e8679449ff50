"""The simulation finds what it is there to find: each planted mistake, in a bounded number of histories."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest

from tests.simulation.lottery import drawn
from tests.simulation.planted import PLANTED, Planted
from tests.simulation.world import Violation, World

WITHIN = 120
"""Histories of some hours. Most mistakes take one of them; two workers of one run that meet are rarer."""
SEEN_IN = {
    "attempts are not counted": 2,
    "a run is brought back without an attempt": 2,
    "records are put whether they exist or not": 2,
    "nobody moves up when a record exists": 2,
    "a claim is trusted past its end": 3,
    "a rewind is not conditional on the job as read": 4,
    "an input is written before the condition of its run": 4,
    "a resumed job is not in the index": 4,
    "an alert closes when its job leaves the index": 5,
    "slots are not compared": 5,
    "the guard tells whose write it was": 5,
    "ends are marked as told before the alert is written": 5,
    "a backfill is not conditional on absence": 5,
    "an at-most-once step has no start on record": 6,
    "redo is not refused while a worker may be at it": 7,
    "a manual run is known by its first state only": 7,
    "what a lost run had finished is done again": 11,
    "the plan is not conditional on the job as read": 13,
    "a worker's writes are not conditional on its claim": 13,
    "the owner is the request": 14,
    "the lease is given back by whoever wants to": 21,
    "`queued` is not compared": 21,
    "the plan is not conditional on the lease": 21,
    "a gap's key does not say where it ends": 42,
    "steps are read as they were half a minute ago": 43,
}
"""Where the search begins: the first history that showed the mistake when all were played. It saves minutes,
no more: when histories have changed, the search goes on through all others."""
LEAST = 20
"""So many mistakes at least."""


def _histories(planted: Planted) -> Iterator[int]:
    """All of them, from the one on in which the mistake was seen."""
    seen = SEEN_IN.get(planted.name, 1)
    return chain(range(seen, WITHIN), range(1, seen))


def test_there_are_enough_mistakes_each_with_its_history() -> None:
    assert len({planted.name for planted in PLANTED}) == len(PLANTED) >= LEAST
    assert all(planted.history.endswith(".") for planted in PLANTED)


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name.replace(" ", "-"))
def test_a_planted_mistake_is_found(planted: Planted) -> None:
    with planted.planted():
        found = next((seed for seed in _histories(planted) if _violation(seed, planted)), None)
    assert found is not None, f"{planted.history} Not found in {WITHIN} histories."
    healthy = _violation(found, planted)
    assert healthy is None, f"seed {found} violates without the mistake: {healthy}"


def _violation(seed: int, planted: Planted) -> Violation | None:
    return World(drawn(seed, planted.shape)).play()
