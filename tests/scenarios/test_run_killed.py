"""A worker is killed in the middle of its work: what is repeated then, and how soon it is noticed.

Every place at which it can be killed is in `tests/crashes`.

Invariants:
- what was recorded is not done again, and what is done again has the keys that it had;
- a dead worker is noticed within two minutes.
"""

from __future__ import annotations

from collections import Counter

import pytest

from cronce.core.records import RunRef
from cronce.core.run import RunStatus
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import MINUTE, NOON, Killed, World, dead


def recover(world: World, ref: RunRef) -> None:
    """Minutes pass, with sweep and stream, until the run has ended."""
    for _ in range(15):
        if world.run(ref).status.is_final:
            return
        world.minute()


def test_g5_a_worker_killed_after_600_of_1000_messages_goes_on_with_601() -> None:
    world, sent = World(jitter=0.0), list[int]()

    def send(number: int) -> None:
        if number == 601 and not killed:
            killed.append(number)
            world.store.on_call(dead)
            raise Killed
        sent.append(number)

    killed: list[int] = []
    world.declare(lambda run: run.each("send", range(1, 1001), send, checkpoint_every=25))
    ref = world.plan()
    with pytest.raises(Killed):
        world.execute(ref)
    assert len(sent) == 600
    world.store.on_call(None)
    recover(world, ref)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert sent == list(range(1, 1001))


def test_g5_g6_what_lies_after_the_last_checkpoint_is_repeated_under_the_same_keys() -> None:
    world, calls = World(jitter=0.0), list[str]()

    def send(number: int, *, idempotency_key: str) -> None:
        calls.append(idempotency_key)
        if len(calls) == 610:
            world.store.on_call(dead)
            raise Killed

    world.declare(
        lambda run: run.each("send", range(1, 1001), send, key=lambda number: number, checkpoint_every=25)
    )
    ref = world.plan()
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    recover(world, ref)
    repeated = [key for key, times in Counter(calls).items() if times > 1]
    assert repeated == [f"shop/{ref.id}/send/{number}" for number in range(601, 611)]
    assert len(set(calls)) == 1000


def test_p16_a_dead_worker_is_noticed_within_two_minutes() -> None:
    world = World(jitter=0.0)

    def job(run: Run) -> None:
        if run.attempt == 1:
            world.store.on_call(dead)

    world.declare(job)
    ref = world.plan()
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    world.minutes(2)
    run = world.run(ref)
    assert run.status is RunStatus.WAITING or run.attempt == 2
    assert run.attempt_started_at is not None
    assert world.clock.now() - NOON <= 3 * MINUTE
