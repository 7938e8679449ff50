"""Claims while workers stop, come twice, or are declared lost.

Invariants:
- at most one live claim per run; a worker that lost it records nothing, ends nothing, frees nothing;
- a duplicate dispatch is a quiet end;
- what is written to a run while it stays PENDING costs no executor its claim.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from cronce.core import moves
from cronce.core.changes import left_running
from cronce.core.errors import ClaimLost, NewerItemError, UnreadableItemError
from cronce.core.records import RunRef, StepRecord
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.ledger import TRIES
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import (
    MINUTE,
    NAME,
    NOON,
    RETENTION,
    SECOND,
    World,
    kill,
    no_more,
)


@pytest.fixture
def world() -> World:
    return World()


def while_stopped(world: World, meanwhile: Callable[[RunRef], object]) -> list[str]:
    """A stops between two effects for three minutes, in which something happens; then it goes on."""
    effects: list[str] = []

    def job(run: Run) -> None:
        if run.attempt > 1:
            effects.append("B")
            return
        run.step("one", lambda: effects.append("A one"))
        world.clock.advance(3 * MINUTE)
        meanwhile(RunRef.parse(run.id))
        run.step("two", lambda: effects.append("A two"))
        effects.append("A end")

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST
    return effects


def test_p42_i25_one_event_delivered_twice_is_one_execution(world: World) -> None:
    done: list[str] = []
    invocation = world.invocation(request_id="the same")
    twin = replace(invocation, owner="twin")

    def job(run: Run) -> None:
        done.append(run.id)
        second = world.executor().execute(RunRef.parse(run.id), twin)
        assert second.outcome is Outcome.NOT_PENDING

    world.declare(job)
    ref = world.plan()
    assert world.executor().execute(ref, invocation).outcome is Outcome.SUCCEEDED
    assert world.executor().execute(ref, twin).outcome is Outcome.NOT_PENDING
    assert done == [ref.id]
    assert world.telemetry.warnings == []


def test_i25_two_workers_that_both_read_a_pending_run_do_not_both_claim_it(world: World) -> None:
    done: list[str] = []
    outcomes: list[Outcome] = []
    together = threading.Barrier(2, timeout=10)
    reads = count(1)

    def meet(call: str, when: str) -> None:
        # Each reads first when both are there; the loser reads once more, alone.
        if (call, when) == ("runs.get", "after") and next(reads) <= 2:
            together.wait()

    def work(number: int) -> None:
        twin = replace(world.invocation(request_id="the same"), owner=f"twin-{number}")
        outcomes.append(world.executor().execute(ref, twin).outcome)

    world.declare(lambda run: done.append(run.id))
    ref = world.plan()
    world.store.on_call(meet)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [ref.id]
    assert sorted(outcomes) == [Outcome.NOT_PENDING, Outcome.SUCCEEDED]


def between_read_and_claim(world: World, act: Callable[[], object]) -> None:
    """Something happens after an executor has read the run and before it claims it."""

    def hook(call: str, when: str) -> None:
        if (call, when) == ("jobs.get", "after"):
            world.store.on_call(None)
            act()

    world.store.on_call(hook)


def test_i18_the_sweeps_note_of_a_dispatch_costs_the_executor_that_came_first_no_claim(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id))
    ref = world.plan()
    world.clock.advance(2 * MINUTE)
    between_read_and_claim(world, world.sweep)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert world.invoker.drain() == [ref], "the sweep has asked for a second executor"
    assert world.execute(ref).outcome is Outcome.NOT_PENDING
    assert done == [ref.id]
    assert [line.name for line in world.telemetry.warnings] == ["run.started_by_sweep"]


def test_i18_a_request_to_cancel_between_read_and_claim_is_heeded_at_once(world: World) -> None:
    world.declare(lambda run: pytest.fail("it must not run"))
    ref = world.plan()
    asked = replace(world.run(ref), cancel_requested=True, rev=2)
    between_read_and_claim(world, lambda: world.store.place(asked))
    assert world.execute(ref).outcome is Outcome.NOT_STARTED
    assert world.run(ref).status is RunStatus.CANCELLED


def test_i18_a_run_that_moves_at_every_try_is_left_pending_and_reported(world: World) -> None:
    world.declare(lambda run: pytest.fail("it must not run"))
    ref = world.plan()

    def moves_on(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before"):
            world.store.place(replace(world.run(ref), rev=world.run(ref).rev + 1))

    world.store.on_call(moves_on)
    assert world.execute(ref).outcome is Outcome.LEFT
    assert world.run(ref).rev == 1 + TRIES
    assert [line.name for line in world.telemetry.warnings] == ["claim.left"]


@pytest.mark.parametrize("problem", [NewerItemError, UnreadableItemError])
def test_a_run_that_cannot_be_read_again_is_left_to_the_sweep(
    world: World, problem: type[UnreadableItemError]
) -> None:
    world.declare(lambda run: pytest.fail("it must not run"))
    ref = world.plan()

    def unreadable(call: str, when: str) -> None:
        if (call, when) == ("runs.get", "before"):
            raise problem("a field of it is not known")

    def rewritten() -> None:
        world.store.place(replace(world.run(ref), rev=2))
        world.store.on_call(unreadable)

    between_read_and_claim(world, rewritten)
    assert world.execute(ref).outcome is Outcome.NOT_PENDING


def finish(status: RunStatus, **values: Any) -> Callable[[World, RunRef], None]:
    """Somebody else moves the run on while its worker stands still."""

    def act(world: World, ref: RunRef) -> None:
        gone = left_running(world.run(ref), world.clock.now())
        world.store.place(replace(gone, status=status, rev=gone.rev + 1, **values))

    return act


ELSEWHERE: dict[str, Callable[[World, RunRef], object]] = {
    "failed as lost": finish(RunStatus.FAILED, reason=Reason.LOST),
    "failed as timed out": finish(RunStatus.FAILED, reason=Reason.TIMEOUT),
    "cancelled": finish(RunStatus.CANCELLED, reason=Reason.OPERATOR),
    "waiting": finish(RunStatus.WAITING, reason=Reason.BACKOFF, due_at=NOON + 9 * MINUTE),
    "pending again": finish(RunStatus.PENDING, slice=0, due_at=NOON + 9 * MINUTE),
    "swept": lambda world, ref: world.sweep(),
}


@pytest.mark.parametrize("how", ELSEWHERE)
def test_i23_a_stopped_worker_that_wakes_up_does_nothing_more(world: World, how: str) -> None:
    after: list[object] = []

    def meanwhile(ref: RunRef) -> None:
        ELSEWHERE[how](world, ref)
        after.append((world.run(ref), world.slots()))

    effects = while_stopped(world, meanwhile)
    ref = RunRef(NAME, NOON)
    assert effects == ["A one"]
    assert (world.run(ref), world.slots()) == after[0]


@pytest.mark.parametrize("how", ELSEWHERE)
def test_i23_the_store_refuses_the_end_of_a_worker_that_trusts_its_claim_wrongly(
    world: World, how: str
) -> None:
    after: list[object] = []

    def job(run: Run) -> None:
        if run.attempt == 1:
            world.clock.advance(3 * MINUTE)
            ELSEWHERE[how](world, RunRef.parse(run.id))
            after.append(world.run(RunRef.parse(run.id)))

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert world.run(ref) == after[0]


def test_p37_the_run_is_that_of_the_second_worker(world: World) -> None:
    effects: list[str] = []

    def job(run: Run) -> None:
        me = f"token {run.fencing_token}"
        run.step("one", lambda: effects.append(f"{me} one"))
        if run.attempt == 1:
            world.clock.advance(3 * MINUTE)
            world.minutes(3)
        run.step("two", lambda: effects.append(f"{me} two"))
        run.step("three", lambda: effects.append(f"{me} three"))

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert effects == ["token 1 one", "token 2 two", "token 2 three"]
    run = world.run(ref)
    assert (run.status, run.attempt, run.fencing_token) == (RunStatus.SUCCEEDED, 2, 2)
    assert run.last_owner != "worker-1"


def test_i24_a_worker_declared_lost_within_its_step_does_not_believe_its_record(world: World) -> None:
    effects: list[str] = []

    def slow() -> None:
        effects.append("slow")
        # Renewed on the way, so the worker trusts its claim; then lost by the judgement of a fast clock.
        world.work(30 * SECOND)
        run = world.run(RunRef(NAME, NOON))
        world.store.place(replace(moves.lost(run, world.clock.now(), MINUTE, RETENTION), rev=run.rev + 1))

    def job(run: Run) -> None:
        if run.attempt > 1:
            run.step("slow", lambda: effects.append("again"))
            return
        with pytest.raises(ClaimLost):
            run.step("slow", slow)
        no_more(run)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert world.store.steps.load(ref) == []
    world.minutes(3)
    assert effects == ["slow", "again"]


def test_i27_a_step_recorded_just_before_the_takeover_is_seen_by_the_next_worker(world: World) -> None:
    effects: list[str] = []
    world.declare(lambda run: run.step("one", lambda: effects.append("one")))
    ref = world.plan()
    kill(world, ref)
    dying = world.run(ref)
    world.clock.advance(71 * SECOND)

    def last_words(call: str, when: str) -> None:
        # The sweep has read the run; now, before it writes, the record of A's step arrives.
        if (call, when) == ("runs.get_many", "after"):
            world.store.on_call(None)
            step = StepRecord(
                ref=ref, name="one", result="null", owner="worker-1", fencing_token=1, at=world.clock.now()
            )
            assert world.store.steps.record(dying, step)

    world.store.on_call(last_words)
    assert world.sweep().lost == 1
    world.minutes(2)
    assert effects == []
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 2)


def test_p36_without_renewals_the_end_is_a_clean_lost_claim(world: World) -> None:
    def job(run: Run) -> None:
        if run.attempt == 1:
            world.clock.advance(3 * MINUTE)
            world.minutes(3)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 2)
    assert world.slots().held == frozenset()
