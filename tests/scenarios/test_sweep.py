"""The sweep: what the stream does not do, what dead workers leave behind, what waits.

Invariants:
- an expired claim is a lost attempt, a live one is left alone;
- what has waited is woken, queued runs in order of the queue as far as there are slots;
- what nobody claimed in two minutes is started, and counted: the fast path did not do it;
- two sweeps at once, or one that acts on a late index, change nothing twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cronce.core.job import Job
from cronce.core.records import Slots
from cronce.core.retry import Retry
from cronce.core.run import Dispatch, Notice, Reason, RunStatus, Trigger
from cronce.engine.executor import Outcome
from cronce.engine.metrics import STARTS_BY_SWEEP
from cronce.engine.sweep import SweepReport
from tests.scenarios.run_world import DAY, HOUR, MINUTE, NAME, NOON, SECOND, World, running


@pytest.fixture
def world() -> World:
    return World()


def test_p43_p44_an_expired_claim_is_a_lost_attempt_ten_seconds_later(world: World) -> None:
    world.declare(lambda run: None)
    ref = running(world)
    world.clock.advance(68 * SECOND)
    assert world.sweep() == SweepReport(looked_at=1)
    assert world.run(ref).due_at == NOON + 70 * SECOND
    assert world.sweep() == SweepReport(lost=1)
    run = world.run(ref)
    assert (run.status, run.reason, run.owner, run.last_owner) == (
        RunStatus.WAITING,
        Reason.BACKOFF,
        None,
        "dead",
    )
    assert run.due_at == world.clock.now() + 30 * SECOND


def test_p47_no_run_stays_running_with_a_claim_that_expired_minutes_ago(world: World) -> None:
    world.declare(lambda run: None)
    for number in range(150):
        running(world, number)
    world.minutes(3, stream=False)
    assert [run.ref for run in world.store.all_runs() if run.status is RunStatus.RUNNING] == []


def test_a_live_claim_is_looked_at_again_when_it_ends(world: World) -> None:
    world.declare(lambda run: None)
    ref = running(world, claim_until=NOON + 100 * SECOND)
    world.clock.advance(MINUTE)
    assert world.sweep() == SweepReport(looked_at=1)
    assert world.run(ref).due_at == NOON + 100 * SECOND


def test_the_backoff_after_a_lost_attempt_is_that_of_the_job_and_one_when_it_is_unknown(world: World) -> None:
    world.declare(lambda run: None, retry=Retry(base="10m"))
    known, unknown = running(world), running(world, name="gone")
    world.clock.advance(2 * MINUTE)
    world.sweep()
    now = world.clock.now()
    assert world.run(known).due_at == now + 10 * MINUTE
    assert world.run(unknown).due_at == now + 30 * SECOND


def test_what_waits_is_woken_when_its_time_has_come(world: World) -> None:
    world.declare(lambda run: None)
    waits: dict[str, Any] = {"status": RunStatus.WAITING, "reason": Reason.BACKOFF, "dispatch": None}
    ref = world.plan(due_at=NOON + MINUTE, attempt=1, **waits)
    world.clock.advance(58 * SECOND)
    assert world.sweep() == SweepReport()
    assert world.sweep() == SweepReport(woken=1)
    run = world.run(ref)
    assert (run.status, run.dispatch, run.due_at) == (
        RunStatus.PENDING,
        Dispatch.STREAM,
        NOON + 3 * MINUTE,
    )
    assert world.store.drain_stream() == [ref]


def test_queued_runs_are_woken_in_order_of_the_queue_as_far_as_there_are_slots(world: World) -> None:
    world.declare(lambda run: None, concurrency=2)
    due = [NOON + minutes * MINUTE for minutes in (5, 4, 3)]
    refs = [world.plan_queued(NOON + n * HOUR, due_at=at, expect_by=None) for n, at in enumerate(due)]
    world.clock.advance(6 * MINUTE)
    assert world.sweep() == SweepReport(woken=2, looked_at=1)
    assert [world.run(ref).status for ref in refs] == [
        RunStatus.PENDING,
        RunStatus.PENDING,
        RunStatus.WAITING,
    ]
    assert world.run(refs[0]).expect_by == world.clock.now() + 15 * MINUTE
    assert world.slots() == Slots(held=frozenset({refs[0].id, refs[1].id}), queued=1)
    assert world.run(refs[2]).due_at == world.clock.now() + 10 * MINUTE


def test_full_slots_are_looked_at_once_a_sweep_however_many_wait(world: World) -> None:
    world.declare(lambda run: None)
    holder = running(world)
    world.set_slots(Slots(held=frozenset({holder.id}), fencing_token=1))
    for number in range(1, 50):
        world.plan_queued(NOON + number * SECOND, due_at=NOON)
    reads: list[str] = []
    world.store.on_call(
        lambda call, when: reads.append(call) if call == "jobs.get" and when == "after" else None
    )
    assert world.sweep().looked_at == 49
    assert len(reads) == 1


def test_a_queued_run_is_not_held_up_by_dead_holders(world: World) -> None:
    world.declare(lambda run: None, retry=Retry(attempts=1))
    holder = running(world)
    world.set_slots(Slots(held=frozenset({holder.id}), fencing_token=1))
    queued = world.plan_queued(NOON + HOUR, due_at=NOON + MINUTE)
    world.clock.advance(2 * MINUTE)
    world.sweep()
    assert world.run(holder).reason is Reason.LOST
    assert world.run(queued).status is RunStatus.PENDING
    assert world.slots() == Slots(held=frozenset({queued.id}), queued=0, fencing_token=1)


def test_a_queue_without_markers_is_still_woken(world: World) -> None:
    world.declare(lambda run: None)
    waits: dict[str, Any] = {"status": RunStatus.WAITING, "reason": Reason.QUEUED, "dispatch": None}
    ref = world.plan(due_at=NOON, **waits)
    assert world.sweep() == SweepReport(woken=1)
    assert world.slots() == Slots(held=frozenset({ref.id}))


def test_queued_runs_of_a_job_that_lost_its_limit_are_all_woken(world: World) -> None:
    world.declare(lambda run: None, concurrency=None)
    for number in range(3):
        world.plan_queued(NOON + number * SECOND, due_at=NOON)
    assert world.sweep() == SweepReport(woken=3)
    assert world.slots() == Slots()


def test_a_run_that_is_not_final_after_thirty_days_is_expired(world: World) -> None:
    world.declare(lambda run: None)
    old = world.clock.now() - 30 * DAY
    pending = world.plan(created_at=old, due_at=NOON)
    world.set_slots(Slots(held=frozenset({pending.id})))
    queued = world.plan_queued(NOON + SECOND, created_at=old, due_at=NOON)
    young = world.plan(NOON + 2 * SECOND, created_at=old + MINUTE, due_at=NOON)
    report = world.sweep()
    assert report.ended == 2
    for ref in (pending, queued):
        run = world.run(ref)
        assert (run.status, run.reason, run.notice) == (RunStatus.FAILED, Reason.EXPIRED, Notice.PENDING)
    assert world.run(young).status is RunStatus.PENDING
    assert world.slots() == Slots()
    assert world.store.markers(NAME) == []


def test_a_run_that_shall_be_cancelled_is_not_woken(world: World) -> None:
    world.declare(lambda run: None)
    waits: dict[str, Any] = {"status": RunStatus.WAITING, "reason": Reason.BACKOFF, "dispatch": None}
    waiting = world.plan(due_at=NOON, cancel_requested=True, **waits)
    pending = world.plan(NOON + SECOND, due_at=NOON, cancel_requested=True)
    assert world.sweep() == SweepReport(ended=2)
    assert {world.run(ref).status for ref in (waiting, pending)} == {RunStatus.CANCELLED}


def test_a_start_that_the_stream_did_not_make_is_counted_and_told_and_others_are_not(world: World) -> None:
    world.declare(lambda run: None)
    world.plan()
    world.minutes(4)
    assert STARTS_BY_SWEEP not in world.telemetry.metrics
    late = world.plan(world.clock.now())
    world.minutes(4, stream=False)
    assert world.telemetry.metrics[STARTS_BY_SWEEP] == 1
    (told,) = world.telemetry.named("run.started_by_sweep")
    assert told.fields["run"] == late.id


def test_two_sweeps_at_once_do_each_thing_once(world: World) -> None:
    world.declare(lambda run: None)
    lost = running(world)
    world.clock.advance(2 * MINUTE)
    twice: list[SweepReport] = []

    def race(call: str, when: str) -> None:
        if (call, when) == ("runs.get_many", "after") and not twice:
            twice.append(SweepReport())
            twice[0] = world.sweeper.sweep(world.clock.now(), world.clock.now() + MINUTE)

    world.store.on_call(race)
    assert world.sweep().lost + twice[0].lost in {1, 2}
    run = world.run(lost)
    assert (run.attempt, run.executed, run.rev) == (1, MINUTE, 2)


def test_a_run_that_was_renewed_meanwhile_is_not_declared_lost(world: World) -> None:
    world.declare(lambda run: None)
    ref = running(world)
    seen = world.run(ref)
    world.clock.advance(2 * MINUTE)

    def renew(call: str, when: str) -> None:
        if (call, when) == ("runs.get_many", "after"):
            world.store.on_call(None)
            world.store.runs.renew(seen, world.clock.now() + MINUTE)

    world.store.on_call(renew)
    assert world.sweep() == SweepReport()
    assert world.run(ref).status is RunStatus.RUNNING


def test_a_sweep_stops_when_the_ticks_time_is_over_and_says_so(world: World) -> None:
    world.declare(lambda run: None)
    for number in range(20):
        running(world, number)
    world.clock.advance(2 * MINUTE)

    def slow(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "after"):
            world.clock.advance(3 * SECOND)

    world.store.on_call(slow)
    report = world.sweep(lasts=30 * SECOND)
    assert (report.lost, report.complete) == (10, False)
    world.store.on_call(None)
    assert world.sweep().lost == 10


def test_a_run_of_any_trigger_is_swept_and_its_expectation_left_as_it_is(world: World) -> None:
    world.declare(lambda run: None)
    ref = world.manual("a", due_at=NOON)
    world.sweep()
    run = world.run(ref)
    assert (run.trigger, run.expect_by, run.dispatch) == (Trigger.MANUAL, None, Dispatch.SWEEP)


def test_a_sweep_of_nothing_is_four_reads(world: World) -> None:
    calls: list[str] = []
    world.store.on_call(lambda call, when: calls.append(call) if when == "before" else None)
    assert world.sweep() == SweepReport()
    assert calls == 4 * ["index.due"]


def test_the_job_is_asked_for_by_name(world: World) -> None:
    asked: list[str] = []

    def job_of(name: str) -> Job | None:
        asked.append(name)
        return None

    running(world, name="gone")
    world.clock.advance(2 * MINUTE)
    replace(world.sweeper, job_of=job_of).sweep(world.clock.now(), world.clock.now() + MINUTE)
    assert asked == ["gone"]


def test_g9_a_slot_is_freed_by_the_sweep_when_the_last_attempt_is_lost(world: World) -> None:
    world.declare(lambda run: None, retry=Retry(attempts=1))
    holder = running(world)
    world.set_slots(Slots(held=frozenset({holder.id}), fencing_token=1))
    queued = world.plan_queued(NOON + HOUR)
    world.clock.advance(2 * MINUTE)
    assert world.sweep().lost == 1
    assert world.slots() == Slots(held=frozenset({queued.id}), queued=0, fencing_token=1)
    assert [one.outcome for one in world.deliver()] == [Outcome.SUCCEEDED]
