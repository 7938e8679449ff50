"""An operator says what came of an at-most-once step.

Invariants:
- the run goes on behind the step, with the value that was given, or does it again, once;
- who said it and why is kept with the step and in the log;
- what is written is what was decided on: whoever moves the run or the step meanwhile makes it look again.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import NoReturn

import pytest

from cronce.core.errors import OperationRefusedError, StoreError
from cronce.core.records import RunRef, StepStatus
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import LONG, MINUTE, NOON, Killed, World, dead

WHY = "it is on the statement"


@pytest.fixture
def world() -> World:
    return World(jitter=0.0)


def broken() -> NoReturn:
    raise ConnectionError("no answer")


class Bank:
    """Fails at the first payment."""

    def __init__(self) -> None:
        self.asked = 0
        self.receipts: list[object] = []

    def charge(self) -> str:
        self.asked += 1
        if self.asked == 1:
            raise ConnectionError("no answer")
        return "paid at last"

    def job(self, run: Run) -> None:
        self.receipts.append(run.once("charge", self.charge))


def uncertain(world: World, bank: Bank) -> RunRef:
    world.declare(bank.job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.FAILED
    assert world.run(ref).reason is Reason.STEP_UNCERTAIN
    return ref


def test_done_goes_on_with_the_value_that_was_given(world: World) -> None:
    bank = Bank()
    ref = uncertain(world, bank)
    after = world.operations().resolve(ref, "charge", '{"receipt": 17}', by="ann", why=WHY)
    assert after.status is RunStatus.PENDING
    assert [one.outcome for one in world.deliver()] == [Outcome.SUCCEEDED]
    assert (bank.asked, bank.receipts) == (1, [{"receipt": 17}])
    (line,) = world.telemetry.named("operator.resolve")
    assert line.fields == {"run": ref.id, "step": "charge", "done": True, "by": "ann", "why": WHY}


def test_redo_does_it_again_once(world: World) -> None:
    bank = Bank()
    ref = uncertain(world, bank)
    world.clock.advance(LONG + MINUTE)
    world.operations().resolve(ref, "charge", None, by="ann", why="the bank has no such payment")
    assert [one.outcome for one in world.deliver()] == [Outcome.SUCCEEDED]
    assert (bank.asked, bank.receipts) == (2, ["paid at last"])


def test_redo_is_refused_while_the_starter_could_still_act(world: World) -> None:
    ref = uncertain(world, Bank())
    with pytest.raises(OperationRefusedError, match=r"until 2026-01-05 12:16:00Z"):
        world.operations().resolve(ref, "charge", None, by="ann", why="?")
    assert world.run(ref).status is RunStatus.FAILED


def test_a_step_may_be_resolved_before_the_next_attempt_finds_it(world: World) -> None:
    def charge() -> None:
        world.store.on_call(dead)
        raise Killed

    receipts: list[object] = []
    world.declare(lambda run: receipts.append(run.once("charge", charge)))
    ref = world.plan()
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    world.clock.advance(2 * MINUTE)
    world.sweep()
    assert world.run(ref).reason is Reason.BACKOFF
    world.operations().resolve(ref, "charge", "5", by="ann", why=WHY)
    world.minutes(3)
    assert (world.run(ref).status, receipts) == (RunStatus.SUCCEEDED, [5])


def test_a_run_whose_worker_is_at_work_is_not_touched(world: World) -> None:
    def charge() -> None:
        with pytest.raises(OperationRefusedError, match="is RUNNING"):
            world.operations().resolve(ref, "charge", "1", by="ann", why="?")

    world.declare(lambda run: run.once("charge", charge))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("step", ["ship", "each"])
def test_what_was_never_started_is_refused(world: World, step: str) -> None:
    def job(run: Run) -> None:
        run.each("each", range(3), str)
        run.once("charge", broken)

    world.declare(job)
    ref = world.plan()
    world.execute(ref)
    with pytest.raises(OperationRefusedError, match="was never started"):
        world.operations().resolve(ref, step, "1", by="ann", why="?")


def test_a_run_that_is_not_there_is_refused(world: World) -> None:
    with pytest.raises(OperationRefusedError, match="there is no run menu@2026-01-05T12:00:00Z"):
        world.operations().resolve(RunRef("menu", NOON), "charge", "1", by="ann", why="?")


def test_a_host_with_a_wrong_clock_decides_nothing(world: World) -> None:
    ref = uncertain(world, Bank())
    world.store.clock.offset = timedelta(hours=-1)
    with pytest.raises(OperationRefusedError, match="clock"):
        world.operations().resolve(ref, "charge", "1", by="ann", why="?")


def test_a_run_that_moves_meanwhile_is_looked_at_again(world: World) -> None:
    """Its notice is marked as told between the operator's read and write."""
    bank = Bank()
    ref = uncertain(world, bank)

    def told(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before"):
            world.store.on_call(None)
            run = world.run(ref)
            world.store.place(replace(run, rev=run.rev + 1))

    world.store.on_call(told)
    world.operations().resolve(ref, "charge", "1", by="ann", why=WHY)
    world.deliver()
    assert (world.run(ref).status, bank.receipts) == (RunStatus.SUCCEEDED, [1])


def test_two_operators_at_once_one_of_them_is_told_that_there_is_nothing_left(world: World) -> None:
    ref = uncertain(world, Bank())

    def other(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before"):
            world.store.on_call(None)
            world.operations().resolve(ref, "charge", "1", by="bob", why="?")

    world.store.on_call(other)
    with pytest.raises(OperationRefusedError, match="is DONE"):
        world.operations().resolve(ref, "charge", "2", by="ann", why="?")
    (step,) = world.store.steps.load(ref)
    assert (step.status, step.owner) == (StepStatus.DONE, "operator bob")


def test_a_store_in_which_others_are_in_the_way_all_the_time_says_so(world: World) -> None:
    ref = uncertain(world, Bank())
    world.store.conflict(100)
    with pytest.raises(StoreError, match="in the way"):
        world.operations().resolve(ref, "charge", "1", by="ann", why="?")
