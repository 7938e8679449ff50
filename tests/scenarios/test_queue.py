"""The queue of a job.

Invariants:
- late, caught-up, backfilled and manual runs wait in order whatever the policy, on-time ones if it says so;
- every end hands its slot to the first of the queue in the same write;
- so does a run that ends before it had a slot, if one is free.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.core import moves
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.records import RunRef, Slots
from cronce.core.run import Dispatch, Reason, RunStatus, Trigger
from cronce.core.slots import RunPolicy
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from cronce.engine.sweep import SweepReport
from tests.scenarios.run_world import HOUR, NAME, NOON, RETENTION, SECOND, Gauge, World, kill


@pytest.fixture
def world() -> World:
    return World()


def test_i36_eight_missed_runs_run_in_order_and_none_is_skipped(world: World) -> None:
    gauge, order = Gauge(world), list[str]()

    def job(run: Run) -> None:
        gauge.look()
        order.append(run.id)

    world.clock.set(NOON + 8 * HOUR)
    world.declare(job, catch_up="all")
    times = [NOON + number * HOUR for number in range(8)]
    refs = [world.plan(times[0], expect_by=None), *(world.plan_queued(at) for at in times[1:])]
    world.minutes(8)
    assert order == [ref.id for ref in refs]
    assert {world.run(ref).status for ref in refs} == {RunStatus.SUCCEEDED}
    assert gauge.most == 1
    assert world.slots() == Slots(held=frozenset(), queued=0, fencing_token=8)
    assert world.store.markers(NAME) == []


def test_i36_a_months_backfill_of_a_daily_job_runs_all_of_it_whatever_the_policy(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id), overlap="skip", catch_up="skip")
    refs = [
        world.plan(NOON - number * timedelta(days=1), trigger=Trigger.BACKFILL, expect_by=None)
        for number in range(30, 0, -1)
    ]
    kill(world, refs[0])
    world.minutes(40)
    assert sorted(done) == sorted(ref.id for ref in refs)
    assert world.slots().queued == 0


def test_i37_a_run_that_queues_while_another_one_finishes_is_woken_at_once(world: World) -> None:
    queued: list[Outcome] = []

    def between(call: str, when: str) -> None:
        # F has read the job (nobody queued) and is about to write its end.
        if (call, when) == ("runs.apply", "before") and started and not queued:
            queued.append(Outcome.LEFT)
            world.store.on_call(None)
            queued[0] = world.execute(manual).outcome

    started: list[str] = []

    def job(run: Run) -> None:
        started.append(run.id)
        if len(started) == 1:
            world.store.on_call(between)

    world.declare(job)
    first = world.plan()
    manual = world.manual("a")
    world.store.drain_stream()
    assert world.execute(first).outcome is Outcome.SUCCEEDED
    assert queued == [Outcome.QUEUED]
    woken = world.run(manual)
    assert (woken.status, woken.dispatch) == (RunStatus.PENDING, Dispatch.STREAM)
    assert world.slots() == Slots(held=frozenset({manual.id}), queued=0, fencing_token=1)
    assert world.store.drain_stream() == [manual]


def test_i38_a_run_cancelled_before_it_had_a_slot_starts_the_next_of_the_queue(world: World) -> None:
    world.declare(lambda run: None)
    first = world.plan()
    second, third = (world.plan_queued(NOON + number * HOUR) for number in (1, 2))
    run = world.run(first)
    cancelled = moves.cancelled(run, world.clock.now(), RETENTION)
    change = RunChange(before=run, after=cancelled, guard=Guard.SEEN)
    assert world.ledger.move(change, RunPolicy.of(world.job_of(NAME))) is Applied.DONE
    assert [world.run(ref).status for ref in (first, second, third)] == [
        RunStatus.CANCELLED,
        RunStatus.PENDING,
        RunStatus.WAITING,
    ]
    assert world.slots() == Slots(held=frozenset({second.id}), queued=1)


def test_i38_a_queued_run_that_is_cancelled_leaves_the_queue_and_starts_nobody_while_slots_are_full(
    world: World,
) -> None:
    world.declare(lambda run: None)
    kill(world, world.plan())
    second, third = (world.plan_queued(NOON + number * HOUR) for number in (1, 2))
    run = world.run(second)
    cancelled = moves.cancelled(run, world.clock.now(), RETENTION)
    world.ledger.move(
        RunChange(before=run, after=cancelled, guard=Guard.SEEN), RunPolicy.of(world.job_of(NAME))
    )
    assert world.run(third).is_queued
    assert world.slots().queued == 1
    assert world.store.markers(NAME) == [third]


def test_a_run_that_is_skipped_as_late_starts_the_next_of_the_queue(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id), catch_up="skip")
    first = world.plan()
    second = world.plan_queued(NOON + HOUR, trigger=Trigger.BACKFILL)
    world.clock.advance(HOUR)
    world.deliver()
    world.deliver()
    assert world.run(first).reason is Reason.LATE
    assert done == [second.id]


def test_i39_two_manual_runs_of_one_second_both_wait_and_both_run(world: World) -> None:
    done: list[str] = []

    def job(run: Run) -> None:
        if run.scheduled_at == NOON and run.trigger is Trigger.SCHEDULE:
            twins.extend(world.manual(suffix) for suffix in "ab")
            assert [world.execute(ref).outcome for ref in twins] == [Outcome.QUEUED] * 2
        done.append(run.id)

    twins: list[RunRef] = []
    world.declare(job)
    first = world.plan()
    world.execute(first)
    world.minutes(2)
    assert done == [first.id, twins[0].id, twins[1].id]
    assert twins[0].id != twins[1].id


def test_i40_an_old_run_brought_back_does_not_overlap_with_todays(world: World) -> None:
    gauge, order = Gauge(world), list[str]()
    old = NOON - timedelta(days=9)

    def job(run: Run) -> None:
        if run.scheduled_at == NOON:
            assert world.execute(back).outcome is Outcome.QUEUED
        gauge.look()
        order.append(run.id)

    world.declare(job)
    back = world.plan(old, attempt=3, max_attempts=6, touched=True, created_at=old, expect_by=None)
    today = world.plan()
    world.execute(today)
    world.deliver()
    assert order == [today.id, back.id]
    assert gauge.most == 2  # the old run has begun long ago, and waits without a slot
    assert world.run(back).attempt == 4


def test_a_queue_whose_wakeup_got_lost_is_woken_by_the_sweep(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: world.store.conflict(6) if not done else None)
    world.execute(world.plan())
    second = world.plan_queued(NOON + HOUR)
    assert world.slots().held != frozenset()
    world.minutes(11)
    assert world.run(second).status is RunStatus.SUCCEEDED


def test_a_queue_left_over_by_a_job_that_has_no_slots_any_more_is_woken_by_the_sweep(world: World) -> None:
    world.declare(lambda run: None, concurrency=None)
    refs = [world.plan_queued(NOON + number * HOUR) for number in range(2)]
    world.set_slots(Slots(queued=1))  # one less than there are
    world.clock.advance(timedelta(minutes=10))
    assert world.sweep() == SweepReport(woken=2)
    assert {world.run(ref).status for ref in refs} == {RunStatus.PENDING}
    assert world.slots() == Slots()


def test_an_on_time_run_under_queue_waits_until_ten_wait_already(world: World) -> None:
    world.declare(lambda run: None, overlap="queue")
    kill(world, world.plan())
    outcomes = [world.execute(world.plan(NOON + number * SECOND)).outcome for number in range(1, 12)]
    assert outcomes == [Outcome.QUEUED] * 10 + [Outcome.NOT_STARTED]
    assert world.slots().queued == 10
    assert world.run(RunRef(NAME, NOON + 11 * SECOND)).reason is Reason.OVERLAP
