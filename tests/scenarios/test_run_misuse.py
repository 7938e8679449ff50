"""Wrong uses of steps.

Invariants:
- each is an error that names run and step, and is not repeated by further attempts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import pytest

from cronce.core.errors import (
    DuplicateStepError,
    StepError,
    StepResultNotSerializableError,
    StepResultTooLargeError,
    UnreadableItemError,
)
from cronce.core.records import INLINE_LIMIT
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import World

RUN_ID = "menu@2026-01-05T12:00:00Z"


@pytest.fixture
def world() -> World:
    return World()


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


def nested(run: Run) -> None:
    run.step("outer", lambda: run.step("inner", int))


def nested_each(run: Run) -> None:
    run.each("outer", [1], lambda _: run.step("inner", int))


def twice(run: Run) -> None:
    run.step("build", int)
    run.each("build", [1], str)


def numbers() -> Iterator[int]:
    yield 1


async def asynchronous() -> int:
    return 1


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
    "no whole number of threads": (
        lambda run: run.each("send", [1], str, concurrency=0),
        StepError,
        "step 'send': concurrency takes a whole number from 1 to 100, not 0",
    ),
    "too many threads": (
        lambda run: run.each("send", [1], str, concurrency=101),
        StepError,
        "step 'send': concurrency takes a whole number from 1 to 100, not 101",
    ),
    "a step inside an item in a thread": (
        lambda run: run.each("outer", [1, 2], lambda _: run.step("inner", int), concurrency=2),
        StepError,
        "'inner' inside step 'outer'",
    ),
    "an async item in a thread": (
        lambda run: run.each("send", [1], lambda _: asynchronous(), concurrency=2, results=False),
        StepError,
        "step 'send/0' takes an ordinary function, not an `async def`",
    ),
    "no items": (
        lambda run: run.each("send", 5, str),  # type: ignore[call-overload]
        StepError,
        "step 'send': items takes a list or another iterable, not int",
    ),
    "a key that is no function": (
        lambda run: run.each("send", [], str, key="id"),  # type: ignore[call-overload]
        StepError,
        "step 'send': key takes a function of an item, such as `lambda item: item[\"id\"]`, not 'id'",
    ),
    "an async step": (
        lambda run: run.step("build", asynchronous),
        StepError,
        "step 'build' takes an ordinary function, not an `async def`",
    ),
    "an async item": (
        lambda run: run.each("send", [1], lambda _: asynchronous()),
        StepError,
        "step 'send/0' takes an ordinary function, not an `async def`",
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


def test_what_to_return_stands_before_what_json_says_so_the_short_text_has_it(world: World) -> None:
    error = raised_by(world, lambda run: run.step("build", set))
    advice = "return text, numbers, true, false, None, and lists and dicts of these"
    assert advice in str(error)[:INLINE_LIMIT]
    assert str(error).endswith("(Object of type set is not JSON serializable)")


def test_a_coroutine_that_a_step_returned_is_closed(world: World) -> None:
    made = asynchronous()
    raised_by(world, lambda run: run.step("build", lambda: made))
    assert inspect.getcoroutinestate(made) == inspect.CORO_CLOSED


def test_number_keys_of_a_dict_come_back_as_text_at_once(world: World) -> None:
    seen: list[object] = []
    world.declare(lambda run: seen.append(run.step("build", lambda: {1: "one"})))
    world.execute(world.plan())
    assert seen == [{"1": "one"}]


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
            raise UnreadableItemError(f"item {RUN_ID} / STEP#build cannot be read: `result` is missing")

    world.store.on_call(spoiled)
    world.minutes(2)
    run = world.run(ref)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.ERROR)
    assert run.error is not None
    assert "STEP#build cannot be read" in run.error
