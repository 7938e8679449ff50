"""A worker dies wherever it can: before and after each store call of an execution, and within each effect.

Invariants, for every place:
- the run is recovered by the sweep and ends SUCCEEDED, once; its slot is free;
- a step or item that was recorded is never executed again;
- what is executed again is executed under the same idempotency key, so each key took effect once.
"""

from __future__ import annotations

from collections import Counter

import pytest

from cronce.core.errors import StoreError
from cronce.core.records import RunRef
from cronce.core.retry import Retry
from cronce.core.run import RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.metrics import RUNS_SUCCEEDED
from cronce.engine.run_handle import Run
from cronce.testing.table import Hook
from tests.scenarios.run_world import MINUTE, NOON, Killed, World, dead

ITEMS = 5


class Service:
    """Something outside that honours idempotency keys."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.effects: Counter[str] = Counter()

    def call(self, key: str) -> str:
        self.calls.append(key)
        self.effects[key] = 1
        return key


class Crashing:
    """Kills the worker at the nth place of an execution, counted over store calls and effects.

    Attributes:
        at: which place; None kills nobody.
        places: names of the places that were passed.
        dead: the worker was killed: it does not come any further.
    """

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.places: list[str] = []
        self.dead = False

    def __call__(self, call: str, when: str) -> None:
        if call.startswith(("test.", "stream.")):
            return
        if self.dead:
            raise Killed
        self.places.append(f"{when} {call}")
        if len(self.places) - 1 == self.at:
            self.dead = True
            raise Killed


class LosingReplies:
    """The reply of the nth write is lost, with everything else well."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.writes = 0

    def __call__(self, call: str, when: str) -> None:
        if when == "after" and call in {"runs.apply", "steps.record", "runs.renew"}:
            self.writes += 1
            if self.writes - 1 == self.at:
                raise StoreError("connection reset")


def scene(service: Service, hook: Hook) -> tuple[World, RunRef]:
    """A job with steps and items, and one run of it."""
    world = World(jitter=0.0)

    def effect(*_: object, idempotency_key: str) -> str:
        hook("effect", "before")
        said = service.call(idempotency_key)
        hook("effect", "after")
        return said

    def job(run: Run) -> None:
        first = run.step("first", effect)
        values = run.each("each", range(ITEMS), effect, checkpoint_every=2)
        last = run.step("last", effect)
        assert [first, *values, last] == [f"shop/{run.id}/{name}" for name in expected()]

    world.declare(job, retry=Retry(attempts=3))
    return world, world.plan()


def expected() -> list[str]:
    return ["first", *(f"each/{number}" for number in range(ITEMS)), "last"]


def recorded(world: World, ref: RunRef) -> set[str]:
    """Idempotency keys of what is recorded."""
    return {
        f"shop/{ref.id}/{step.name}" + (f"/{key}" if step.keys else "")
        for step in world.store.steps.load(ref)
        for key in (step.keys or ("",))
    }


def places() -> list[str]:
    """Every place of one undisturbed execution, in order."""
    hook = Crashing(None)
    world, ref = scene(Service(), hook)
    world.store.on_call(hook)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    return hook.places


PLACES = places()


def recover(world: World, ref: RunRef) -> None:
    """Minutes pass, with sweep and stream, until the run has ended."""
    for _ in range(15):
        if world.run(ref).status.is_final:
            return
        world.minute()


def check_recovered(world: World, ref: RunRef, service: Service, before: list[str]) -> None:
    """The run ended well, once, and nothing recorded by then was executed again."""
    run = world.run(ref)
    assert run.status is RunStatus.SUCCEEDED
    assert world.telemetry.metrics[RUNS_SUCCEEDED] == 1
    assert world.slots().held == frozenset()
    assert service.effects == Counter(f"shop/{ref.id}/{name}" for name in expected())
    assert not set(before) & set(service.calls)
    world.minutes(5)
    assert world.run(ref) == run


def test_the_execution_has_the_places_that_are_worth_a_crash() -> None:
    assert {"before runs.apply", "after runs.apply", "before steps.record", "after steps.record"} <= set(
        PLACES
    )
    assert PLACES.count("before effect") == len(expected())
    assert PLACES.count("before steps.record") == 5
    assert len(PLACES) > 30


@pytest.mark.parametrize("at", range(len(PLACES)), ids=[f"{n}-{place}" for n, place in enumerate(PLACES)])
def test_p44_a_worker_killed_anywhere_is_recovered_and_repeats_nothing_recorded(at: int) -> None:
    service, hook = Service(), Crashing(at)
    world, ref = scene(service, hook)
    world.store.on_call(hook)
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    hook.dead, hook.at = False, None
    done = recorded(world, ref)
    success = world.run(ref).status is RunStatus.SUCCEEDED
    service.calls.clear()
    if success:
        # Killed between the last write and its reply: the line of the log is missing, nothing else.
        assert at == len(PLACES) - 1
        assert world.slots().held == frozenset()
        return
    recover(world, ref)
    check_recovered(world, ref, service, list(done))


@pytest.mark.parametrize("second", [7, 9, 11])
@pytest.mark.parametrize("first", range(0, len(PLACES) - 1, 3))
def test_p44_a_second_worker_killed_as_well_changes_nothing(first: int, second: int) -> None:
    service, hook = Service(), Crashing(first)
    world, ref = scene(service, hook)
    for at in (first, second):
        hook.dead, hook.at, hook.places = False, at, []
        world.store.on_call(hook)
        with pytest.raises(Killed):
            world.execute(ref)
        world.store.on_call(None)
        while world.run(ref).status is not RunStatus.PENDING:
            world.clock.advance(MINUTE)
            world.sweep()
    hook.dead, hook.at = False, None
    done = recorded(world, ref)
    service.calls.clear()
    recover(world, ref)
    check_recovered(world, ref, service, list(done))


WRITES = 7


@pytest.mark.parametrize("at", range(WRITES))
def test_a_lost_reply_of_any_write_costs_no_attempt(at: int) -> None:
    service, hook = Service(), LosingReplies(at)
    world, ref = scene(service, hook)
    world.store.on_call(hook)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert hook.writes == WRITES + 1
    assert world.run(ref).attempt == 1
    assert service.calls == [f"shop/{ref.id}/{name}" for name in expected()]
    assert world.slots().held == frozenset()


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
