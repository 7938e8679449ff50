"""`each`: one piece of work per item.

Invariants:
- values come in order of the items; recorded items are not done again, whatever their order is now;
- a failed item costs none of those before it, between checkpoints either;
- chunks fit into an item, whatever the values' size.
"""

from __future__ import annotations

import pytest

from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import World


@pytest.fixture
def world() -> World:
    return World()


def attempts(world: World, number: int) -> None:
    """Let so many attempts happen, each when its backoff is over."""
    world.deliver()
    for _ in range(number - 1):
        world.minutes(2)


def test_each_does_every_item_once_and_gives_the_values_in_order(world: World) -> None:
    done: list[str] = []
    values: list[list[str]] = []

    def send(item: str, greeting: str) -> str:
        done.append(item)
        if item == "eve" and done.count("eve") == 1:
            raise ConnectionError("line broken")
        return f"{greeting} {item}"

    world.declare(lambda run: values.append(run.each("send", ["ann", "eve", "bob"], send, "hi", key=str)))
    world.plan()
    attempts(world, 2)
    assert done == ["ann", "eve", "eve", "bob"]
    assert values == [["hi ann", "hi eve", "hi bob"]]


def test_a_failed_item_does_not_cost_the_ones_before_it_even_between_checkpoints(world: World) -> None:
    done: list[int] = []

    def send(item: int) -> None:
        done.append(item)
        if done == [0, 1, 2]:
            raise ConnectionError("line broken")

    world.declare(lambda run: run.each("send", range(5), send, checkpoint_every=100))
    world.plan()
    attempts(world, 2)
    assert done == [0, 1, 2, 2, 3, 4]


def test_items_may_come_in_another_order_and_number_in_the_next_attempt(world: World) -> None:
    done: list[str] = []
    values: list[list[str]] = []

    def send(item: str) -> str:
        if item == "dan" and len(done) == 2:
            raise ConnectionError("line broken")
        done.append(item)
        return item.upper()

    def job(run: Run) -> None:
        people = ["ann", "bob", "dan"] if run.attempt == 1 else ["eve", "dan", "ann", "kim"]
        if run.attempt > 1:
            done.append("|")
        values.append(run.each("send", people, send, key=lambda person: person, checkpoint_every=2))

    world.declare(job)
    world.plan()
    attempts(world, 2)
    assert done == ["ann", "bob", "|", "eve", "dan", "kim"]
    assert values == [["EVE", "DAN", "ANN", "KIM"]]


def test_large_values_make_smaller_chunks(world: World) -> None:
    world.declare(lambda run: run.each("read", range(5), lambda _: "x" * 100_000, checkpoint_every=5))
    ref = world.plan()
    world.execute(ref)
    assert [(step.chunk, len(step.keys)) for step in world.store.steps.load(ref)] == [(2, 2), (4, 2), (5, 1)]


def test_an_each_that_failed_may_be_called_again_in_the_same_attempt(world: World) -> None:
    done: list[int] = []

    def send(item: int) -> int:
        done.append(item)
        if done == [0, 1]:
            raise ConnectionError
        return item

    def job(run: Run) -> None:
        try:
            run.each("send", range(3), send)
        except ConnectionError:
            assert run.each("send", range(3), send) == [0, 1, 2]

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert done == [0, 1, 1, 2]
