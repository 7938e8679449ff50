"""Runs that take longer than one invocation.

Invariants:
- a run whose invocation is nearly over goes on in the next one, from its last finished step, same attempt;
- the next slice is dispatched from the record, and keeps the run's slot;
- each slice ends with one line: how long it took, and its slowest step;
- a slice that recorded nothing new is a failed attempt: no endless loop.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.errors import OutOfTime
from cronce.core.run import Dispatch, Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import HOUR, MINUTE, SECOND, Killed, World, dead


@pytest.fixture
def world() -> World:
    return World()


def test_g8_a_run_goes_on_in_the_next_invocation_from_its_last_item(world: World) -> None:
    done: list[tuple[int, int]] = []

    def send(item: int, run: Run) -> None:
        world.work(MINUTE)
        done.append((item, run.fencing_token))

    world.declare(lambda run: run.each("send", range(10), send, run, checkpoint_every=4))
    ref = world.plan()
    outcomes = [one.outcome for one in world.deliver(260 * SECOND)]
    assert outcomes == [Outcome.CONTINUES]
    handed = world.run(ref)
    assert (handed.status, handed.dispatch, handed.attempt, handed.slice) == (
        RunStatus.PENDING,
        Dispatch.STREAM,
        1,
        2,
    )
    assert world.slots().held == {ref.id}
    outcomes = [one.outcome for one in world.minute(260 * SECOND)]
    assert outcomes == [Outcome.CONTINUES, Outcome.SUCCEEDED]
    assert [item for item, _ in done] == list(range(10))
    assert {token for _, token in done} == {1, 2, 3}
    run = world.run(ref)
    assert (run.attempt, run.slice, run.executed) == (1, 3, 10 * MINUTE)


def test_a_slice_ends_with_a_line_that_says_what_was_slow(world: World) -> None:
    def job(run: Run) -> None:
        run.step("quick", world.work, SECOND)
        run.each("slow", range(2), lambda item: world.work(20 * SECOND))
        run.step("last", world.work, SECOND)

    world.declare(job)
    ref = world.plan()
    assert [one.outcome for one in world.deliver(MINUTE)] == [Outcome.SUCCEEDED]
    (told,) = world.telemetry.named("slice.ended")
    assert told.fields == {
        "run": ref.id,
        "attempt": 1,
        "slice": 1,
        "status": "SUCCEEDED",
        "seconds": 42,
        "recorded": 4,
        "slowest_step": "slow",
        "slowest_seconds": 40,
    }


def test_a_slice_whose_claim_was_lost_has_a_line_that_says_so_instead(world: World) -> None:
    """What it did last is not on record: the worker that goes on tells what was slow."""

    def loses(run: Run) -> None:
        world.clock.advance(5 * MINUTE)
        world.sweep()

    world.declare(loses)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert world.telemetry.named("slice.ended") == []
    (told,) = world.telemetry.named("claim.lost")
    assert (told.fields["run"], told.fields["attempt"]) == (ref.id, 1)


def test_a_step_that_fails_is_among_those_that_are_timed(world: World) -> None:
    def fails() -> None:
        world.work(5 * SECOND)
        raise ValueError("no ink")

    def job(run: Run) -> None:
        run.step("print", fails)

    world.declare(job)
    world.execute(world.plan())
    (told,) = world.telemetry.named("slice.ended")
    assert (told.fields["slowest_step"], told.fields["slowest_seconds"]) == ("print", 5)
    assert (told.fields["status"], told.fields["recorded"]) == ("WAITING", 0)


def test_the_handle_stays_closed_when_the_invocation_is_nearly_over(world: World) -> None:
    def job(run: Run) -> None:
        run.step("one", int)
        world.work(46 * SECOND)
        for _ in range(2):
            with pytest.raises(OutOfTime, match="the next one goes on"):
                run.step("two", pytest.fail)

    world.declare(job)
    assert world.execute(world.plan(), lasts=MINUTE).outcome is Outcome.CONTINUES


def test_i31_a_slice_that_recorded_nothing_new_is_a_failed_attempt(world: World) -> None:
    def job(run: Run) -> None:
        run.step("one", int)
        world.work(50 * SECOND)
        run.step("two", int)
        raise AssertionError("never reached")

    world.declare(job)
    ref = world.plan()
    outcomes = [one.outcome for one in world.deliver(MINUTE)]
    for _ in range(8):
        outcomes += [one.outcome for one in world.minute(MINUTE)]
    assert outcomes == [Outcome.CONTINUES, Outcome.RETRYING, Outcome.RETRYING, Outcome.FAILED]
    run = world.run(ref)
    assert (run.reason, run.attempt) == (Reason.NO_PROGRESS, 3)
    assert [kept.outcome for kept in world.store.steps.attempts(ref)] == ["no_progress", "no_progress"]


def test_i31_a_reserve_larger_than_the_invocation_ends_after_the_attempts(world: World) -> None:
    world.reserve = HOUR
    world.declare(lambda run: run.step("one", pytest.fail))
    ref = world.plan()
    outcomes = [one.outcome for one in world.deliver()] + [one.outcome for one in world.minutes(5)]
    assert outcomes == [Outcome.RETRYING, Outcome.RETRYING, Outcome.FAILED]
    assert world.run(ref).reason is Reason.NO_PROGRESS


def test_p52_a_run_of_three_hours_is_taken_over_soon_after_a_crash_and_never_while_renewed(
    world: World,
) -> None:
    done: list[int] = []

    def send(item: int) -> None:
        for _ in range(15):
            world.work(MINUTE)
            assert world.sweep().lost == 0
        done.append(item)
        if done == [0, 1, 2, 3, 4]:
            world.store.on_call(dead)
            raise Killed

    world.declare(lambda run: run.each("part", range(12), send), timeout="4h")
    ref = world.plan()
    for _ in range(2):
        world.deliver(45 * MINUTE)
    world.dispatcher.dispatch([("1", one) for one in world.store.drain_stream()])
    with pytest.raises(Killed):
        world.execute(world.invoker.drain()[0], 45 * MINUTE)
    world.store.on_call(None)
    at = world.clock.now()
    while world.run(ref).status is RunStatus.RUNNING:
        world.clock.advance(MINUTE)
        world.sweep()
    assert world.clock.now() - at < timedelta(minutes=3)
    while not world.run(ref).status.is_final:
        world.minute(45 * MINUTE)
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 2)
    # The item whose effect was done and not recorded when the worker died is done again, all others once.
    assert done == [0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11]


def test_a_cancelled_run_does_not_start_its_next_slice(world: World) -> None:
    def job(run: Run) -> None:
        run.step("one", int)
        world.work(50 * SECOND)
        run.step("two", pytest.fail)

    world.declare(job)
    ref = world.plan()
    world.execute(ref, lasts=MINUTE)
    run = world.run(ref)
    world.store.place(replace(run, cancel_requested=True, rev=run.rev + 1))
    assert world.execute(ref).outcome is Outcome.NOT_STARTED
    assert (world.run(ref).status, world.slots().held) == (RunStatus.CANCELLED, frozenset())
