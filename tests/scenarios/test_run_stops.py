"""Stop signals: lost claims, cancellation, timeout.

Invariants:
- a stop signal is raised again at every later call, in `finally` blocks too, and swallowing it is no success;
- what a step has done is recorded before its job stops;
- a run never executes for longer than its timeout, over all attempts and slices: what goes on is interrupted,
but never between the effect's end and its record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import NoReturn

import pytest

from cronce.core.acts import What
from cronce.core.errors import Cancelled, ClaimLost, OutOfTime
from cronce.core.records import RunRef
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from cronce.engine.time_limit import AGAIN, TimeLimitExceeded
from tests.scenarios.run_world import (
    HOUR,
    LONG,
    MINUTE,
    NOON,
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


def fails(world: World, run: Run) -> None:
    raise ValueError


def sleeps(world: World, run: Run) -> None:
    run.sleep("a while", HOUR)


def is_nearly_over(world: World, run: Run) -> None:
    run.step("done", int)
    world.work(LONG - 10 * SECOND)
    run.step("in the next slice", pytest.fail)


def has_no_progress(world: World, run: Run) -> None:
    world.work(LONG - 10 * SECOND)
    run.step("in the next slice", pytest.fail)


@pytest.mark.parametrize("goes_on", [fails, sleeps, is_nearly_over, has_no_progress])
@pytest.mark.parametrize("heard", [False, True], ids=["unheard", "heard with the last renewal"])
def test_a_cancel_request_wins_over_whatever_would_let_the_run_go_on(
    world: World, goes_on: Callable[[World, Run], None], heard: bool
) -> None:
    """It is asked after the worker's last look at its record, or seen there after another signal."""

    def job(run: Run) -> None:
        try:
            goes_on(world, run)
        finally:
            ask_to_cancel(world, RunRef.parse(run.id))
            if heard:
                world.renewal.renew()

    world.declare(job, timeout=3 * HOUR)
    ref = world.plan()
    follower = world.plan_queued(NOON + SECOND)

    assert world.execute(ref).outcome is Outcome.CANCELLED

    run = world.run(ref)
    assert (run.status, run.reason, run.attempt) == (RunStatus.CANCELLED, Reason.OPERATOR, 1)
    assert (run.owner, run.last_owner, run.cancel_requested) == (None, "worker-1", False)
    assert run.act is not None
    assert (run.act.what, run.act.by) == (What.CANCEL, "ann")
    assert world.run(follower).status is RunStatus.PENDING, "the slot went on with the same write"
    assert len(world.telemetry.named("attempt.failed")) == int(goes_on is fails)


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


def test_p45_a_function_that_no_signal_reaches_is_timed_out_by_the_sweep(
    world: World,
) -> None:
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


def spin() -> NoReturn:
    while True:
        pass


def busy(seconds: float) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass


def test_p45_a_function_that_never_returns_is_ended_by_its_timeout_and_the_next_run_starts(
    world: World,
) -> None:
    given_up: list[str] = []
    executor = replace(world.executor(), give_up=lambda: given_up.append("all"))
    world.declare(lambda run: spin(), timeout="1s")
    endless, following = world.plan(), world.plan_queued(NOON + 60 * MINUTE)

    began = perf_counter()
    assert executor.execute(endless, world.invocation()).outcome is Outcome.FAILED
    assert 1 <= perf_counter() - began < 5

    run = world.run(endless)
    assert (run.status, run.reason, run.owner) == (RunStatus.FAILED, Reason.TIMEOUT, None)
    assert run.error == "ran longer than its timeout of 0:00:01"
    assert given_up == ["all"]
    assert "in spin" in str(world.telemetry.named("attempt.interrupted")[0].fields["traceback"])
    assert world.slots().held == {following.id}
    world.declare(lambda run: None)
    assert executor.execute(following, world.invocation()).outcome is Outcome.SUCCEEDED
    assert given_up == ["all"]


def test_p45_a_function_that_swallows_the_interruption_is_interrupted_again_and_is_no_success(
    world: World,
) -> None:
    swallowed: list[str] = []

    def job(run: Run) -> None:
        for _ in range(2):
            try:
                spin()
            except BaseException as error:  # noqa: BLE001 - what careless jobs do
                swallowed.append(str(error))

    world.declare(job)
    ref = world.plan(timeout=SECOND / 10)
    assert world.execute(ref).outcome is Outcome.FAILED
    assert world.run(ref).reason is Reason.TIMEOUT
    assert swallowed == ["the function of job menu took longer than 0.1 s"] * 2


def test_i33_a_function_that_is_interrupted_within_a_store_call_still_gets_its_end_on_record(
    world: World,
) -> None:
    def stuck(call: str, when: str) -> None:
        if (call, when) == ("steps.load", "before"):
            spin()

    world.declare(lambda run: run.step("one", int))
    world.store.on_call(stuck)
    ref = world.plan(timeout=SECOND / 10, attempt=1, slice=2)
    assert world.execute(ref).outcome is Outcome.FAILED
    run = world.run(ref)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.TIMEOUT)
    assert world.slots().held == frozenset()


def slow_record(world: World, when: str) -> None:
    """Recording takes longer than the run may, by several interruptions."""

    def slow(call: str, moment: str) -> None:
        if (call, moment) == ("steps.record", when):
            busy(3 * AGAIN)

    world.store.on_call(slow)


@pytest.mark.parametrize("when", ["before", "after"])
def test_i33_a_step_whose_record_is_being_written_is_recorded_and_then_the_job_is_interrupted(
    world: World, when: str
) -> None:
    reached: list[str] = []

    def job(run: Run) -> None:
        run.step("one", reached.append, "done")
        reached.append("behind")

    world.declare(job)
    slow_record(world, when)
    ref = world.plan(timeout=SECOND / 10)
    assert world.execute(ref).outcome is Outcome.FAILED
    assert world.run(ref).reason is Reason.TIMEOUT
    assert [step.name for step in world.store.steps.load(ref)] == ["one"]
    assert reached == ["done"]
    assert world.slots().held == frozenset()


def test_i33_items_that_an_interrupted_each_has_done_are_recorded_however_long_that_takes(
    world: World,
) -> None:
    def work(item: int) -> int:
        return item if item < 3 else spin()

    world.declare(lambda run: run.each("send", range(5), work, checkpoint_every=100))
    slow_record(world, "before")
    ref = world.plan(timeout=SECOND / 10)
    assert world.execute(ref).outcome is Outcome.FAILED
    assert [step.keys for step in world.store.steps.load(ref)] == [("0", "1", "2")]


def test_i33_a_record_that_is_refused_after_the_time_is_over_leaves_the_run_to_who_has_it(
    world: World,
) -> None:
    def taken(call: str, when: str) -> None:
        if (call, when) == ("steps.record", "before"):
            busy(2 * AGAIN)
            world.store.place(replace(world.run(ref), owner="another", fencing_token=9))

    world.declare(lambda run: run.step("one", int))
    ref = world.plan(timeout=SECOND / 10)
    world.store.on_call(taken)
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert world.run(ref).owner == "another"


def test_an_interruption_after_a_cancel_request_was_heard_leaves_the_run_cancelled(world: World) -> None:
    def job(run: Run) -> None:
        ask_to_cancel(world, RunRef.parse(run.id))
        world.renewal.renew()
        no_more(run, Cancelled)
        spin()

    world.declare(job)
    assert world.execute(world.plan(timeout=SECOND / 5)).outcome is Outcome.CANCELLED


def test_an_exception_that_only_looks_like_the_interruption_is_an_error_of_the_job(world: World) -> None:
    def job(run: Run) -> None:
        raise TimeLimitExceeded("somebody's own limit", 1)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.RETRYING


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
