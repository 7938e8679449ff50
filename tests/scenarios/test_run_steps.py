"""What a job's function sees of its run: steps, items, keys, values.

Invariants:
- a finished step is never executed again, in whatever attempt or slice;
- the value of a step is the one that JSON carries, the first time too;
- the idempotency key of a step is the same in every attempt;
- every wrong use of a step is an error that names run and step, and is not repeated;
- after an interrupted `each`, recorded items are not done again, whatever their order is now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pytest

from cronce.core.errors import (
    DuplicateStepError,
    StepError,
    StepResultNotSerializableError,
    StepResultTooLargeError,
)
from cronce.core.run import Reason, RunStatus, Trigger
from cronce.core.schedule import Cron
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import MINUTE, NAME, NOON, World

RUN_ID = "menu@2026-01-05T12:00:00Z"


@pytest.fixture
def world() -> World:
    return World()


def attempts(world: World, number: int) -> None:
    """Let so many attempts happen, each when its backoff is over."""
    world.deliver()
    for _ in range(number - 1):
        world.minutes(2)


def raised_by(world: World, function: Callable[[Run], object]) -> BaseException:
    """What a misused run raises in a job."""
    caught: list[BaseException] = []

    def job(run: Run) -> None:
        try:
            function(run)
        except Exception as error:
            caught.append(error)
            raise

    world.declare(job)
    execution = world.execute(world.plan())
    assert execution.outcome is Outcome.FAILED
    assert execution.run is not None
    assert (execution.run.reason, execution.run.attempt) == (Reason.ERROR, 1)
    return caught[0]


def test_a_run_knows_what_it_stands_for(world: World) -> None:
    seen: dict[str, Any] = {}

    def look(run: Run) -> None:
        names = (
            "id job scheduled_at scheduled_local local_date attempt trigger input fencing_token remaining"
        )
        seen.update({name: getattr(run, name) for name in names.split()})

    world.declare(look, schedule=Cron("0 7 * * *", tz="America/New_York"))
    ref = world.plan(scheduled_local="2026-01-04T23:00:00-13:00", input='{"dish": "soup"}', trigger=Trigger.MANUAL)
    assert world.execute(ref, lasts=10 * MINUTE).outcome is Outcome.SUCCEEDED
    assert seen.pop("scheduled_local").isoformat() == "2026-01-04T23:00:00-13:00"
    assert seen == {
        "id": RUN_ID,
        "job": NAME,
        "scheduled_at": NOON,
        "local_date": date(2026, 1, 4),
        "attempt": 1,
        "trigger": Trigger.MANUAL,
        "input": {"dish": "soup"},
        "fencing_token": 1,
        "remaining": 10 * MINUTE,
    }


def test_g7_the_fencing_token_grows_with_every_claim_of_the_job(world: World) -> None:
    tokens: list[int] = []
    world.declare(lambda run: tokens.append(run.fencing_token))
    for minute in range(3):
        world.execute(world.plan(NOON + minute * MINUTE))
    assert tokens == [1, 2, 3]


def test_the_log_lines_of_a_job_carry_its_run(world: World) -> None:
    def chatty(run: Run) -> None:
        run.log.info("menu built", dishes=12)
        run.log.warning("no dessert")

    world.declare(chatty)
    world.execute(world.plan())
    info, warning = world.telemetry.named("job_log")
    assert info.fields == {"run": RUN_ID, "attempt": 1, "message": "menu built", "fields": {"dishes": 12}}
    assert (info.warning, warning.warning) == (False, True)


def test_a_finished_step_is_looked_up_in_the_next_attempt(world: World) -> None:
    built: list[int] = []
    values: list[object] = []

    def job(run: Run) -> None:
        values.append(run.step("build", lambda: built.append(run.attempt) or {"dishes": ("soup", "fish")}))
        if run.attempt < 3:
            raise ValueError("the oven is cold")

    world.declare(job)
    ref = world.plan()
    attempts(world, 3)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert (built, world.run(ref).attempt) == ([1], 3)
    assert values == [{"dishes": ["soup", "fish"]}] * 3


def test_the_first_slice_of_a_run_looks_nothing_up_and_later_ones_look_once(world: World) -> None:
    loads: list[str] = []
    world.store.on_call(
        lambda call, when: loads.append(call) if (call, when) == ("steps.load", "before") else None
    )

    def job(run: Run) -> None:
        run.step("one", int)
        run.each("many", range(3), str)
        if run.attempt == 1:
            raise ValueError
        run.step("two", int)

    world.declare(job)
    world.plan()
    world.deliver()
    assert loads == []
    attempts(world, 2)
    assert loads == ["steps.load"]


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


def test_keys_are_the_same_in_every_attempt_and_never_hold_attempt_or_token(world: World) -> None:
    keys: list[str] = []

    def charge(amount: int, *, idempotency_key: str) -> None:
        keys.append(idempotency_key)
        if len(keys) in {1, 3}:
            raise ConnectionError

    def job(run: Run) -> None:
        assert run.idempotency_key("charge", "a") == f"shop/{RUN_ID}/charge/a"
        run.step("deposit", charge, 5)
        run.each("charge", [10], charge, key=lambda amount: f"invoice-{amount}")

    world.declare(job)
    world.plan()
    attempts(world, 3)
    deposit, item = f"shop/{RUN_ID}/deposit", f"shop/{RUN_ID}/charge/invoice-10"
    assert keys == [deposit, deposit, item, item]


def test_a_key_is_given_to_a_parameter_of_that_name_and_to_nothing_else(world: World) -> None:
    given: list[object] = []

    def positional(idempotency_key: str) -> None:
        given.append(idempotency_key)

    def anything(**rest: object) -> None:
        given.append(rest)

    def job(run: Run) -> None:
        run.step("filled", positional)
        run.step("by-position", positional, "mine")
        run.step("by-name", positional, idempotency_key="mine")
        run.step("anything", anything)
        run.step("builtin", max, 1, 2)
        run.each("items", ["mine"], positional)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert given == [f"shop/{RUN_ID}/filled", "mine", "mine", {}, "mine"]


def test_a_step_that_failed_may_be_called_again_in_the_same_attempt(world: World) -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError
        return "sent"

    def job(run: Run) -> None:
        for _ in range(2):
            try:
                run.step("send", flaky)
            except ConnectionError:
                continue
        assert run.step("send", flaky) == "sent"

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED


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


def test_steps_are_named_so_code_may_change_between_attempts(world: World) -> None:
    done: list[str] = []

    def first(run: Run) -> None:
        run.step("a", lambda: done.append("a"))
        run.step("c", lambda: done.append("c"))
        raise ValueError

    def second(run: Run) -> None:
        run.step("c", lambda: done.append("c"))
        run.step("b", lambda: done.append("b"))
        run.step("a", lambda: done.append("a"))

    world.declare(first)
    world.plan()
    world.deliver()
    world.declare(second)
    world.minutes(2)
    assert done == ["a", "c", "b"]


def nested(run: Run) -> None:
    run.step("outer", lambda: run.step("inner", int))


def nested_each(run: Run) -> None:
    run.each("outer", [1], lambda _: run.step("inner", int))


def twice(run: Run) -> None:
    run.step("build", int)
    run.each("build", [1], str)


def numbers() -> Iterator[int]:
    yield 1


SOURCES: dict[str, tuple[Callable[[Run], object], type[StepError], str]] = {
    "the same name twice": (twice, DuplicateStepError, "'build' already"),
    "a step inside a step": (nested, StepError, "'inner' inside step 'outer'"),
    "a step inside an item": (nested_each, StepError, "'inner' inside step 'outer'"),
    "two items with one key": (
        lambda run: run.each("send", ["a", "b", "a"], str, key=lambda item: item),
        DuplicateStepError,
        "step 'send': two items have the key 'a'",
    ),
    "a key that is no text": (
        lambda run: run.each("send", ["a"], str, key=lambda item: None),
        StepError,
        "step 'send': an item's key",
    ),
    "a name with a separator": (lambda run: run.step("a/b", int), StepError, "'a/b'"),
    "an empty name": (lambda run: run.step("", int), StepError, "not ''"),
    "a name that is no text": (lambda run: run.step(5, int), StepError, "not 5"),  # type: ignore[arg-type]
    "a very long name": (lambda run: run.step("x" * 201, int), StepError, "1 to 200"),
    "no function": (lambda run: run.step("build", 5), StepError, "step 'build' takes a function, not 5"),  # type: ignore[arg-type]
    "no whole number of items": (
        lambda run: run.each("send", [1], str, checkpoint_every=0),
        StepError,
        "step 'send': checkpoint_every takes a whole number",
    ),
    "a set": (lambda run: run.step("build", set), StepResultNotSerializableError, "'build' returned set"),
    "not a number": (
        lambda run: run.step("build", lambda: float("nan")),
        StepResultNotSerializableError,
        "'build' returned float",
    ),
    "half a character": (
        lambda run: run.step("build", lambda: "\ud800"),
        StepResultNotSerializableError,
        "'build' returned str",
    ),
    "a generator": (
        lambda run: run.step("build", numbers),
        StepResultNotSerializableError,
        "'build' returned generator",
    ),
    "an item that JSON cannot hold": (
        lambda run: run.each("send", ["a"], lambda _: {1, 2}, key=lambda item: item),
        StepResultNotSerializableError,
        "'send/a' returned set",
    ),
    "too much": (
        lambda run: run.step("build", lambda: "x" * (256 * 1024)),
        StepResultTooLargeError,
        "'build' returned 262146 bytes",
    ),
    "too much for an item": (
        lambda run: run.each("send", ["a"], lambda _: "x" * 300_000, key=lambda item: item),
        StepResultTooLargeError,
        "'send/a' returned 300002 bytes",
    ),
}


@pytest.mark.parametrize("mistake", SOURCES)
def test_a_misused_step_is_an_error_that_names_run_and_step_and_is_not_repeated(
    world: World, mistake: str
) -> None:
    function, kind, words = SOURCES[mistake]
    error = raised_by(world, function)
    assert type(error) is kind
    assert f"run {RUN_ID}: " in str(error)
    assert words in str(error)


def test_a_result_of_exactly_the_limit_is_kept(world: World) -> None:
    world.declare(lambda run: run.step("build", lambda: "x" * (256 * 1024 - 2)))
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED


def test_a_hand_edited_step_ends_the_run_with_an_error_that_names_it(world: World) -> None:
    def job(run: Run) -> None:
        run.step("build", int)
        if run.attempt == 1:
            raise ValueError

    world.declare(job)
    ref = world.plan()
    world.deliver()

    def spoiled(call: str, when: str) -> None:
        if (call, when) == ("steps.load", "before"):
            from cronce.core.errors import UnreadableItemError  # noqa: PLC0415

            raise UnreadableItemError(f"item {RUN_ID} / STEP#build cannot be read: `result` is missing")

    world.store.on_call(spoiled)
    world.minutes(2)
    run = world.run(ref)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.ERROR)
    assert run.error is not None
    assert "STEP#build cannot be read" in run.error
