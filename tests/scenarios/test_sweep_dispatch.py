"""The sweep as a dispatcher: the path that does not need the stream.

Invariants:
- every PENDING run is dispatched, with or without the stream, ever more rarely;
- the sweep's own writes dispatch nothing a second time;
- a run is counted as started by the sweep once, however often it is asked for;
- ten thousand pending runs delay nothing else, nor do thousands of queued ones.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce.core.records import RunRef, Slots
from cronce.core.retry import Retry
from cronce.core.run import Dispatch, Reason, RunStatus
from cronce.engine.metrics import DISPATCH_FAILURES, STARTS_BY_SWEEP
from cronce.engine.run_handle import Run
from cronce.engine.sweep import PER_KIND, SweepReport
from tests.scenarios.run_world import HOUR, MINUTE, NOON, SECOND, World, running


@pytest.fixture
def world() -> World:
    return World()


def test_i18_without_the_stream_runs_start_through_the_sweep_alone(world: World) -> None:
    done: list[tuple[str, timedelta]] = []

    def job(run: Run) -> None:
        done.append((run.id, world.clock.now() - NOON))
        if run.attempt == 1:
            raise ValueError

    world.declare(job)
    ref = world.plan()
    world.minutes(8, stream=False)
    assert [run for run, _ in done] == [ref.id] * 2
    assert done[0][1] < 3 * MINUTE
    assert world.run(ref).status is RunStatus.SUCCEEDED


def test_i18_an_every_minute_job_under_latest_runs_without_the_stream(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id), planned_to=NOON + 20 * MINUTE, concurrency=2, grace="1m")
    refs = []
    for number in range(20):
        refs.append(world.plan(NOON + number * MINUTE))
        world.minute(stream=False)
    world.minutes(4, stream=False)
    assert done == [ref.id for ref in refs]


def test_i22_p79_the_sweeps_own_writes_make_no_invocation_through_the_stream(world: World) -> None:
    world.declare(lambda run: None)
    ref = world.plan()
    assert world.store.drain_stream() == [ref]
    world.clock.advance(2 * MINUTE)
    assert world.sweep() == SweepReport(dispatched=1)
    assert world.invoker.refs == [ref]
    assert world.store.drain_stream() == []
    run = world.run(ref)
    assert (run.dispatch, run.dispatches) == (Dispatch.SWEEP, 1)


def test_p74_a_pending_run_is_dispatched_directly_after_two_minutes_not_before(world: World) -> None:
    world.declare(lambda run: None)
    world.plan()
    world.clock.advance(MINUTE + 58 * SECOND)
    assert world.sweep() == SweepReport()
    world.clock.advance(SECOND)
    assert world.sweep() == SweepReport(dispatched=1)


def test_i19_a_throttled_hour_makes_no_pile_of_invocations_and_everything_runs_afterwards(
    world: World,
) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id), concurrency=None)
    refs = [world.plan(NOON + number * SECOND) for number in range(500)]
    asked: list[RunRef] = []
    world.store.drain_stream()
    for _ in range(60):
        world.clock.advance(MINUTE)
        world.sweep()
        asked += world.invoker.drain()
    assert len(asked) <= 500 * 5
    assert set(asked) == set(refs)
    for ref in asked:
        world.execute(ref)
    assert sorted(done) == sorted(ref.id for ref in refs)


def test_a_dispatch_that_is_refused_is_counted_and_tried_again_in_two_minutes(world: World) -> None:
    world.declare(lambda run: None)
    refs = [world.plan(NOON + number * SECOND) for number in range(3)]
    world.invoker.down = True
    world.clock.advance(2 * MINUTE)
    assert world.sweep() == SweepReport(refused=3)
    assert world.telemetry.metrics == {STARTS_BY_SWEEP: 3, DISPATCH_FAILURES: 3}
    world.invoker.down = False
    assert world.sweep() == SweepReport()
    world.clock.advance(2 * MINUTE)
    assert world.sweep() == SweepReport(dispatched=3)
    assert sorted(world.invoker.refs) == refs
    assert world.telemetry.metrics[STARTS_BY_SWEEP] == 3


def test_a_run_that_the_sweep_asks_for_again_and_again_counts_once_and_again_when_it_waits_anew(
    world: World,
) -> None:
    world.declare(lambda run: 1 / 0, retry=Retry(attempts=2, base="1s"))
    ref = world.plan()
    world.store.drain_stream()
    for _ in range(12 * 60):
        world.clock.advance(MINUTE)
        world.sweep()
    assert world.run(ref).dispatches > 20
    assert len(world.telemetry.named("run.started_by_sweep")) == world.run(ref).dispatches
    assert world.telemetry.metrics[STARTS_BY_SWEEP] == 1
    world.invoker.drain()
    world.execute(ref)
    world.minutes(4, stream=False)
    assert world.telemetry.metrics[STARTS_BY_SWEEP] == 2


def test_i21_ten_thousand_pending_runs_delay_no_lost_claim_no_wakeup_and_no_timeout(world: World) -> None:
    world.declare(lambda run: None, concurrency=None)
    world.declare(lambda run: None, "other", concurrency=None, retry=Retry(attempts=1))
    for number in range(10_000):
        world.plan(NOON - number * SECOND, due_at=NOON - HOUR)
    lost = running(world, 1, "other")
    late = running(world, 2, "other", timeout=MINUTE)
    waits = world.plan(
        NOON + 3 * SECOND,
        "other",
        status=RunStatus.WAITING,
        reason=Reason.BACKOFF,
        dispatch=None,
        due_at=NOON,
    )
    world.clock.advance(2 * MINUTE)
    report = world.sweep()
    assert report == SweepReport(lost=2, woken=1, dispatched=PER_KIND)
    assert [world.run(ref).reason for ref in (lost, late)] == [Reason.LOST, Reason.TIMEOUT]
    assert world.run(waits).status is RunStatus.PENDING


def test_i21_a_thousand_queued_runs_of_one_job_delay_no_backoff_of_another(world: World) -> None:
    world.declare(lambda run: None)
    world.declare(lambda run: None, "other")
    world.set_slots(Slots(held=frozenset({running(world).id})))
    for number in range(1, 1_001):
        world.plan_queued(NOON - number * SECOND, due_at=NOON)
    waits: dict[str, Any] = {"status": RunStatus.WAITING, "reason": Reason.BACKOFF, "dispatch": None}
    backoff = world.plan(NOON, "other", due_at=NOON + SECOND, **waits)
    world.clock.advance(10 * SECOND)
    assert world.sweep() == SweepReport(woken=1, looked_at=PER_KIND)
    assert world.run(backoff).status is RunStatus.PENDING
