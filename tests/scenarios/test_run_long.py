"""Runs much longer than an invocation, and processes that are told to end.

Invariants:
- a run of hours passes through many slices, spends no attempt, and does every item once;
- what does not fit into an invocation is reported with what helps;
- a process that is told to end records what is finished, hands the run back, and then ends.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from datetime import timedelta
from types import FrameType

import pytest

from cronce.core.retry import Retry
from cronce.core.run import Dispatch, Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from cronce.engine.termination import ended_gently
from tests.scenarios.run_world import HOUR, LONG, MINUTE, SECOND, Killed, World, dead


@pytest.fixture
def world() -> World:
    return World(jitter=0.0)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_g8_three_hours_and_ten_thousand_items_pass_through_many_slices_each_item_once(
    world: World, concurrency: int
) -> None:
    sent: list[int] = []
    lock = threading.Lock()

    def send(item: int) -> None:
        with lock:
            sent.append(item)
            if len(sent) % 30 == 0:
                world.work(timedelta(seconds=32.4))

    def job(run: Run) -> None:
        run.step("begin", int)
        run.each("send", range(10_000), send, checkpoint_every=100, concurrency=concurrency, results=False)
        run.step("end", int)

    world.declare(job, timeout="4h")
    ref = world.plan()
    outcomes = [one.outcome for one in world.deliver(LONG)]
    for _ in range(40):
        if world.run(ref).status.is_final:
            break
        outcomes += [one.outcome for one in world.minute(LONG)]
    run = world.run(ref)
    assert (run.status, run.attempt, run.slice) == (RunStatus.SUCCEEDED, 1, len(outcomes))
    assert set(outcomes[:-1]) == {Outcome.CONTINUES}
    assert len(outcomes) >= 12
    assert sorted(sent) == list(range(10_000))
    assert run.executed >= 2.9 * HOUR
    assert world.operations().progress(ref) == {"send": 10_000}


def test_how_far_it_is_can_be_seen_while_it_works(world: World) -> None:
    seen: list[dict[str, int]] = []

    def send(item: int) -> None:
        if item in {10, 60}:
            seen.append(world.operations().progress(ref))

    def job(run: Run) -> None:
        run.step("begin", int)
        run.each("send", range(70), send, checkpoint_every=25)
        run.each("tell", range(3), str)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert seen == [{}, {"send": 50}]
    assert world.operations().progress(ref) == {"send": 70, "tell": 3}


def test_a_step_longer_than_an_invocation_is_reported_with_what_helps(world: World) -> None:
    def endless(run: Run) -> None:
        world.work(LONG - SECOND)
        world.store.on_call(dead)  # Lambda ends the invocation
        raise Killed

    world.declare(lambda run: run.step("endless", endless, run), timeout="2h", retry=Retry(attempts=1))
    ref = world.plan()
    with pytest.raises(Killed):
        world.execute(ref, LONG)
    world.store.on_call(None)
    world.minutes(3)
    run = world.run(ref)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.LOST)
    assert run.error is not None
    assert "its invocation ended at 12:15:00Z in the middle of a step: no step may take longer" in run.error
    assert "`run.each`" in run.error
    assert "ExecutorTimeout" in run.error


def test_a_worker_that_dies_long_before_the_end_of_its_invocation_is_just_lost(world: World) -> None:
    def dies() -> None:
        world.work(5 * MINUTE)
        world.store.on_call(dead)
        raise Killed

    world.declare(lambda run: run.step("dies", dies), retry=Retry(attempts=1))
    ref = world.plan()
    with pytest.raises(Killed):
        world.execute(ref, LONG)
    world.store.on_call(None)
    world.minutes(3)
    assert "worker lost: no sign of life" in str(world.run(ref).error)


def test_a_slice_without_progress_says_what_helps(world: World) -> None:
    world.reserve = HOUR
    world.declare(lambda run: run.step("one", pytest.fail), retry=Retry(attempts=1))
    ref = world.plan()
    world.execute(ref)
    assert str(world.run(ref).error).endswith("Make its steps smaller, or set ExecutorTimeout")


# --- SIGTERM ------------------------------------------------------------------------------------------------


@pytest.fixture
def told() -> Iterator[list[str]]:
    """Whoever handles SIGTERM besides: here it ends nothing."""
    heard: list[str] = []

    def hear(_signal: int, _frame: FrameType | None) -> None:
        heard.append("passed on")

    before = signal.signal(signal.SIGTERM, hear)
    yield heard
    signal.signal(signal.SIGTERM, before)


def test_p38_a_step_under_way_is_recorded_and_the_claim_handed_back_when_the_process_is_told_to_end(
    world: World, told: list[str]
) -> None:
    done: list[str] = []

    def work(name: str) -> None:
        if name == "one":
            signal.raise_signal(signal.SIGTERM)
        done.append(name)
        assert told == []

    def job(run: Run) -> None:
        run.step("one", work, "one")
        run.step("two", work, "two")

    world.declare(job)
    ref = world.plan()
    assert [one.outcome for one in world.deliver()] == [Outcome.CONTINUES]
    assert told == ["passed on"]
    assert done == ["one"]
    run = world.run(ref)
    assert (run.status, run.owner, run.dispatch, run.attempt) == (
        RunStatus.PENDING,
        None,
        Dispatch.STREAM,
        1,
    )
    told.clear()
    assert [one.outcome for one in world.deliver()] == [Outcome.SUCCEEDED]
    assert (done, told) == (["one", "two"], [])


def test_items_that_were_finished_when_the_process_was_told_to_end_are_recorded(
    world: World, told: list[str]
) -> None:
    def send(item: int) -> None:
        if item == 7:
            signal.raise_signal(signal.SIGTERM)

    world.declare(lambda run: run.each("send", range(50), send, checkpoint_every=100))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CONTINUES
    assert world.operations().progress(ref) == {"send": 8}


def test_a_job_that_ends_all_the_same_has_succeeded(world: World, told: list[str]) -> None:
    world.declare(lambda run: signal.raise_signal(signal.SIGTERM))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert told == ["passed on"]


def test_what_was_counted_is_published_before_the_process_ends(world: World, told: list[str]) -> None:
    published: list[dict[str, float]] = []

    def hear(_signal: int, _frame: FrameType | None) -> None:
        published.append(dict(world.telemetry.flushed))

    signal.signal(signal.SIGTERM, hear)
    world.declare(lambda run: signal.raise_signal(signal.SIGTERM))
    world.execute(world.plan())
    assert [list(metrics) for metrics in published] == [list(world.telemetry.metrics)]


def test_outside_the_main_thread_the_signal_is_left_alone(told: list[str]) -> None:
    handlers: list[object] = []

    def elsewhere() -> None:
        with ended_gently(pytest.fail, pytest.fail):
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(10)
    assert handlers == [signal.getsignal(signal.SIGTERM)]
