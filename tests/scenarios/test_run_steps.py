"""What a job's function sees of its run: steps, values, keys.

Invariants:
- a finished step is never executed again, in whatever attempt or slice;
- the value of a step is the one that JSON carries, the first time too;
- the idempotency key of a step is the same in every attempt;
- what a later release recorded is waited for, not done again.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from cronce.core.errors import NewerItemError
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


def test_a_run_knows_what_it_stands_for(world: World) -> None:
    seen: dict[str, Any] = {}

    def look(run: Run) -> None:
        names = "id job scheduled_at scheduled_local local_date attempt trigger input fencing_token remaining"
        seen.update({name: getattr(run, name) for name in names.split()})

    world.declare(look, schedule=Cron("0 7 * * *", tz="America/New_York"))
    ref = world.plan(
        scheduled_local="2026-01-04T23:00:00-13:00", input='{"dish": "soup"}', trigger=Trigger.MANUAL
    )
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
    info, warning = world.telemetry.named("job.log")
    assert info.fields == {"run": RUN_ID, "attempt": 1, "message": "menu built", "fields": {"dishes": 12}}
    assert (info.warning, warning.warning) == (False, True)


def test_a_finished_step_is_looked_up_in_the_next_attempt(world: World) -> None:
    built: list[int] = []
    values: list[object] = []

    def build(run: Run) -> object:
        built.append(run.attempt)
        return {"dishes": ("soup", "fish")}

    def job(run: Run) -> None:
        values.append(run.step("build", build, run))
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


def test_a_run_whose_steps_a_later_release_recorded_waits_for_it_without_spending_an_attempt(
    world: World,
) -> None:
    done: list[str] = []

    def job(run: Run) -> None:
        try:
            run.step("pay", done.append, "pay")
        except Exception:  # noqa: BLE001 - as authors do
            done.append("swallowed")
        if run.attempt == 1:
            raise ValueError("once")

    def newer(call: str, when: str) -> None:
        if (call, when) == ("steps.load", "before"):
            raise NewerItemError("shape 2")

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.store.on_call(newer)
    world.minutes(7)
    waiting = world.run(ref)
    assert (waiting.status, waiting.reason, waiting.attempt) == (RunStatus.WAITING, Reason.BACKOFF, 2)
    assert "shape 2" in (waiting.error or "")
    assert waiting.slice > 2, "it was looked for more than once"
    assert done == ["pay"]

    world.store.on_call(None)
    world.minutes(3)
    after = world.run(ref)
    assert (after.status, after.attempt, done) == (RunStatus.SUCCEEDED, 2, ["pay"])


def test_a_run_that_waits_for_a_later_release_can_be_cancelled(world: World) -> None:
    def newer(call: str, when: str) -> None:
        if (call, when) == ("steps.load", "before"):
            raise NewerItemError("shape 2")

    def job(run: Run) -> None:
        if run.attempt == 2:
            world.store.place(replace(world.run(ref), cancel_requested=True))
        run.step("pay", int)
        raise ValueError("once")

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.store.on_call(newer)
    world.minutes(4)
    assert world.run(ref).status is RunStatus.CANCELLED
