"""Stop signals: lost claims, cancellation, timeout.

Invariants:
- a stop signal is raised again at every later call, in `finally` blocks too, and swallowing it is no success;
- what a step has done is recorded before its job stops;
- a run never executes for longer than its timeout, over all attempts and slices.
"""

from __future__ import annotations

import pytest

from cronce.core.errors import Cancelled, ClaimLost, OutOfTime
from cronce.core.records import RunRef
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import (
    LONG,
    MINUTE,
    SECOND,
    World,
    ask_to_cancel,
    no_more,
)


@pytest.fixture
def world() -> World:
    return World()


def test_i32_a_bare_except_swallows_the_signal_once_and_finally_gets_it_too(world: World) -> None:
    signals: list[str] = []

    def job(run: Run) -> None:
        world.clock.advance(MINUTE)
        try:
            try:
                run.step("one", pytest.fail)
            except:  # noqa: E722 - what careless jobs do
                signals.append("swallowed")
            run.step("two", pytest.fail)
        finally:
            try:
                run.step("tidy", pytest.fail)
            except ClaimLost as again:
                signals.append(str(again))
                raise

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST
    assert signals == [
        "swallowed",
        "run menu@2026-01-05T12:00:00Z: the claim was not renewed in time and can no longer be trusted",
    ]


def test_i32_a_job_that_swallows_every_signal_and_returns_is_no_success(world: World) -> None:
    def job(run: Run) -> None:
        run.step("one", int)
        world.clock.advance(MINUTE)
        try:
            run.step("two", pytest.fail)
        except BaseException:  # noqa: BLE001 - what careless jobs do
            return

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert world.run(ref).status is RunStatus.RUNNING


def test_a_cancel_request_arrives_with_the_renewal_and_stops_the_job_at_its_next_call(world: World) -> None:
    effects: list[str] = []

    def job(run: Run) -> None:
        run.step("one", lambda: effects.append("one"))
        ask_to_cancel(world, RunRef.parse(run.id))
        world.work(30 * SECOND)
        no_more(run, Cancelled)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CANCELLED
    run = world.run(ref)
    assert (run.status, run.reason, run.notice) == (RunStatus.CANCELLED, Reason.OPERATOR, None)
    assert (effects, world.slots().held) == (["one"], frozenset())


def test_p38_a_step_under_way_is_recorded_before_the_job_stops(world: World) -> None:
    def slow(run: Run) -> None:
        ask_to_cancel(world, RunRef.parse(run.id))
        world.work(30 * SECOND)

    def job(run: Run) -> None:
        run.step("slow", slow, run)
        no_more(run, Cancelled)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CANCELLED
    assert [step.name for step in world.store.steps.load(ref)] == ["slow"]


def test_a_cancel_request_that_comes_too_late_does_not_undo_a_success(world: World) -> None:
    def job(run: Run) -> None:
        ask_to_cancel(world, RunRef.parse(run.id))
        world.renewal.renew()

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED


def test_a_cancel_request_survives_the_workers_own_writes_and_ends_the_run_before_its_next_attempt(
    world: World,
) -> None:
    def job(run: Run) -> None:
        ask_to_cancel(world, RunRef.parse(run.id))
        raise ValueError

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.RETRYING
    world.minutes(2)
    run = world.run(ref)
    assert (run.status, run.attempt) == (RunStatus.CANCELLED, 1)
    assert world.slots().held == frozenset()


def test_p45_the_timeout_stops_the_job_at_its_next_call_and_fails_the_run(world: World) -> None:
    def job(run: Run) -> None:
        run.step("one", int)
        world.work(5 * MINUTE)
        no_more(run, OutOfTime)

    world.declare(job, timeout="5m")
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.FAILED
    run = world.run(ref)
    assert (run.reason, run.executed, run.attempt) == (Reason.TIMEOUT, 5 * MINUTE, 1)
    assert world.slots().held == frozenset()


def test_p45_a_function_that_sleeps_for_ever_while_it_renews_is_timed_out_by_the_sweep(world: World) -> None:
    def job(run: Run) -> None:
        world.work(6 * MINUTE)
        assert world.sweep().lost == 1
        world.work(LONG)

    world.declare(job, timeout="5m")
    ref = world.plan()
    assert world.execute(ref, lasts=60 * MINUTE).outcome is Outcome.CLAIM_LOST
    run = world.run(ref)
    assert (run.status, run.reason, run.executed) == (RunStatus.FAILED, Reason.TIMEOUT, 5 * MINUTE)
    assert world.slots().held == frozenset()


def test_the_timeout_counts_all_attempts_and_slices(world: World) -> None:
    def job(run: Run) -> None:
        world.work(2 * MINUTE)
        run.step(f"try {run.attempt}", int)
        raise ValueError

    world.declare(job, timeout="5m")
    ref = world.plan()
    world.minutes(6)
    run = world.run(ref)
    assert (run.reason, run.executed, run.attempt) == (Reason.TIMEOUT, 5 * MINUTE, 3)
    assert [step.name for step in world.store.steps.load(ref)] == ["try 1", "try 2"]
    world.declare(lambda run: pytest.fail("no time left"), "late", timeout="5m")
    late = world.plan(world.clock.now(), "late", executed=5 * MINUTE)
    assert world.execute(late).outcome is Outcome.NOT_STARTED
    assert world.run(late).reason is Reason.TIMEOUT
