"""Slots of a job.

Invariants:
- never more than `concurrency` runs of a job between first claim and end, through backoff and slices;
- nothing leaks in a crash: whoever finds the slots full looks who really holds them;
- an end is written whatever is in the way of its side effects.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from cronce.core.errors import StoreError
from cronce.core.records import RunRef, Slots
from cronce.core.retry import Retry, RetryAfter
from cronce.core.run import Notice, Reason, RunStatus
from cronce.core.slots import RunPolicy
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from cronce.testing import job_key, run_key
from tests.scenarios.run_world import HOUR, MINUTE, NAME, NOON, SECOND, Gauge, World, kill, running


@pytest.fixture
def world() -> World:
    return World()


def test_i35_the_next_occurrence_never_runs_beside_a_long_one(world: World) -> None:
    gauge, nexts = Gauge(world), list[Outcome]()

    def ten_minutes(run: Run) -> None:
        if run.scheduled_at == NOON:
            world.work(10 * MINUTE)
            nexts.append(world.execute(world.plan(NOON + 10 * MINUTE)).outcome)
        gauge.look()

    world.declare(ten_minutes)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert nexts == [Outcome.NOT_STARTED]
    skipped = world.run(RunRef(NAME, NOON + 10 * MINUTE))
    assert (skipped.status, skipped.reason, skipped.notice) == (
        RunStatus.SKIPPED,
        Reason.OVERLAP,
        Notice.PENDING,
    )
    assert gauge.most == 1
    assert world.execute(world.plan(world.clock.now())).outcome is Outcome.SUCCEEDED


def test_i35_a_run_keeps_its_place_through_backoff_and_between_slices(world: World) -> None:
    def job(run: Run) -> None:
        if run.attempt == 1:
            raise RetryAfter(10 * MINUTE)
        run.step(f"part {run.fencing_token}", int)
        if world.run(ref).slice < 3:
            world.clock.advance(40 * SECOND)
            run.step("not in this slice", pytest.fail)

    world.declare(job)
    ref = world.plan()
    other = []
    outcomes = [one.outcome for one in world.deliver(lasts=45 * SECOND)]
    for _ in range(14):
        world.clock.advance(SECOND)
        other.append(world.execute(world.plan(world.clock.now())).outcome)
        outcomes += [one.outcome for one in world.minute(45 * SECOND) if one.run and one.run.ref == ref]
        if world.run(ref).status.is_final:
            break
    assert outcomes == [Outcome.RETRYING, Outcome.CONTINUES, Outcome.CONTINUES, Outcome.SUCCEEDED]
    assert set(other) == {Outcome.NOT_STARTED}


def test_i41_three_killed_workers_leave_no_slot_behind(world: World) -> None:
    world.declare(lambda run: None, concurrency=3, retry=Retry(attempts=1))
    dead = [world.plan(NOON + number * SECOND) for number in range(3)]
    for ref in dead:
        kill(world, ref)
    assert world.slots().held == {ref.id for ref in dead}
    world.minutes(2)
    assert {world.run(ref).reason for ref in dead} == {Reason.LOST}
    assert world.slots() == Slots(held=frozenset(), queued=0, fencing_token=3)
    late = [world.manual(suffix) for suffix in "abc"]
    assert [world.execute(ref).outcome for ref in late] == [Outcome.SUCCEEDED] * 3


def test_i41_who_finds_the_slots_full_of_dead_workers_does_not_wait_for_the_sweep(world: World) -> None:
    world.declare(lambda run: None, concurrency=3, retry=Retry(attempts=1))
    dead = [world.plan(NOON + number * SECOND) for number in range(3)]
    for ref in dead:
        kill(world, ref)
    world.clock.advance(71 * SECOND)
    assert world.execute(world.manual("a")).outcome is Outcome.SUCCEEDED
    assert {world.run(ref).reason for ref in dead} == {Reason.LOST}
    assert world.slots().held == frozenset()


def test_a_dead_worker_that_will_be_tried_again_keeps_its_slot(world: World) -> None:
    world.declare(lambda run: None)
    dead = world.plan()
    kill(world, dead)
    world.clock.advance(71 * SECOND)
    assert world.execute(world.manual("a")).outcome is Outcome.QUEUED
    assert (world.run(dead).status, world.slots().held) == (RunStatus.WAITING, frozenset({dead.id}))


def test_slots_of_final_and_of_missing_runs_are_dropped_by_who_finds_them_full(world: World) -> None:
    ended = RunRef(NAME, NOON - HOUR)
    names = {ended.id, "menu@2020-01-01T00:00:00Z", "edited by hand"}
    world.declare(lambda run: None, concurrency=3, slots=Slots(held=frozenset(names)))
    world.store.place(
        world.record(ended.scheduled_at, status=RunStatus.SUCCEEDED, dispatch=None, due_at=None)
    )
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert world.slots().held == frozenset()


def test_the_slot_of_a_run_that_cannot_be_read_is_left_alone(world: World) -> None:
    world.declare(lambda run: None)
    dead = world.plan()
    kill(world, dead)
    world.store.spoil(run_key(dead))
    assert world.execute(world.manual("a")).outcome is Outcome.QUEUED
    assert world.slots().held == {dead.id}


def test_i26_two_runs_that_claim_in_the_same_millisecond_both_run(world: World) -> None:
    done: list[str] = []
    raced: list[Outcome] = []

    def race(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before") and not raced:
            raced.append(Outcome.LEFT)
            raced[0] = world.execute(two).outcome

    world.declare(lambda run: done.append(run.id), concurrency=2)
    one, two = world.plan(), world.plan(NOON + SECOND)
    world.store.on_call(race)
    assert world.execute(one).outcome is Outcome.SUCCEEDED
    assert raced == [Outcome.SUCCEEDED]
    assert sorted(done) == [one.id, two.id]


def test_i26_of_two_that_race_for_the_last_slot_one_starts_and_one_waits(world: World) -> None:
    gauge, raced = Gauge(world), list[Outcome]()

    def race(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before") and not raced:
            raced.append(Outcome.LEFT)
            kill(world, two)

    world.declare(lambda run: gauge.look())
    one, two = world.manual("a"), world.manual("b")
    world.store.on_call(race)
    assert world.execute(one).outcome is Outcome.QUEUED
    assert world.slots().held == {two.id}
    gauge.look()
    assert gauge.most == 1


def test_i26_many_runs_without_a_limit_do_not_fight_over_the_job(world: World) -> None:
    tokens: list[int] = []
    world.declare(lambda run: tokens.append(run.fencing_token), concurrency=None)
    refs = [world.manual(f"n{number}") for number in range(60)]
    outcomes: list[Outcome] = []

    def work(part: list[RunRef]) -> None:
        outcomes.extend(world.execute(ref).outcome for ref in part)

    threads = [threading.Thread(target=work, args=(refs[number::4],)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [Outcome.SUCCEEDED] * 60
    assert len(set(tokens)) == 60
    assert world.clock.pauses == []
    assert world.slots() == Slots(fencing_token=60)


def test_after_five_conflicts_a_run_stays_pending(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id))
    ref = world.plan()
    world.store.conflict(5)
    assert world.execute(ref).outcome is Outcome.LEFT
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.PENDING, 0)
    assert world.clock.pauses == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert done == [ref.id]


def test_a_claim_survives_four_conflicts(world: World) -> None:
    world.declare(lambda run: None)
    world.store.conflict(4)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("conflicts", range(10))
def test_an_end_is_written_whatever_is_in_the_way(world: World, conflicts: int) -> None:
    world.declare(lambda run: world.store.conflict(conflicts))
    first = world.plan()
    second = world.plan_queued(NOON + HOUR)
    assert world.execute(first).outcome is Outcome.SUCCEEDED
    assert world.run(first).status is RunStatus.SUCCEEDED
    woken = world.run(second).status is RunStatus.PENDING
    assert woken == (conflicts < 3)
    assert (first.id in world.slots().held) == (conflicts >= 5)


def test_an_end_that_ten_conflicts_prevent_is_a_store_error_and_the_run_is_recovered(world: World) -> None:
    world.declare(lambda run: world.store.conflict(10) if run.attempt == 1 else None)
    ref = world.plan()
    with pytest.raises(StoreError, match="menu@2026-01-05T12:00:00Z"):
        world.execute(ref)
    world.store.conflict(0)
    world.minutes(4)
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 2)


def test_i34_an_end_does_not_need_the_job_item(world: World) -> None:
    world.declare(lambda run: world.store.remove(job_key(NAME)))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert world.run(ref).status is RunStatus.SUCCEEDED


def test_i34_an_end_does_not_need_a_readable_job_item(world: World) -> None:
    world.declare(lambda run: world.store.spoil(job_key(NAME)))
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED


def test_an_unreadable_queued_run_does_not_hold_up_an_end(world: World) -> None:
    world.declare(lambda run: world.store.spoil(run_key(second)))
    first = world.plan()
    second = world.plan_queued(NOON + HOUR)
    assert world.execute(first).outcome is Outcome.SUCCEEDED
    assert world.slots().held == frozenset()


def test_a_lower_limit_than_before_is_reached_as_runs_end(world: World) -> None:
    started = []
    world.declare(lambda run: started.append(run.id), concurrency=3)
    for number in range(3):
        kill(world, world.plan(NOON + number * SECOND))
    queued = world.plan_queued(NOON + MINUTE)
    world.declare(lambda run: started.append(run.id), concurrency=2, retry=Retry(attempts=1))
    policy = RunPolicy.of(world.job_of(NAME))
    world.clock.advance(71 * SECOND)
    held = []
    for number in range(3):
        world.ledger.lose(
            replace(world.run(RunRef(NAME, NOON + number * SECOND)), attempt=3), policy, world.clock.now()
        )
        held.append((len(world.slots().held), world.run(queued).status))
    assert held == [(2, RunStatus.WAITING), (2, RunStatus.PENDING), (1, RunStatus.PENDING)]


def test_p43_a_run_left_running_does_not_block_the_next_time_of_its_job(world: World) -> None:
    world.declare(lambda run: None, retry=Retry(attempts=1))
    dead = world.plan()
    kill(world, dead)
    world.minutes(2)
    assert (world.run(dead).status, world.run(dead).reason) == (RunStatus.FAILED, Reason.LOST)
    assert world.execute(world.plan(world.clock.now())).outcome is Outcome.SUCCEEDED


def stands_still(world: World, call: str, number: int = 1) -> RunRef:
    """At a call of that name 150 s pass; at their end a living worker renews its claim. The worker's run."""
    ref, calls = running(world, owner="alive"), [call] * number

    def hook(name: str, when: str) -> None:
        if when == "before" and calls and name == call:
            calls.pop()
            if not calls:
                world.clock.advance(150 * SECOND)
                run = world.run(ref)
                world.store.place(replace(run, claim_until=world.clock.now() + MINUTE, rev=run.rev + 1))

    world.store.on_call(hook)
    return ref


def test_i23_an_executor_that_stood_still_takes_no_fresh_claim_for_one_from_the_future(world: World) -> None:
    world.declare(lambda run: None, overlap="queue")
    second = world.plan(NOON + SECOND)
    holder = stands_still(world, "jobs.get", number=2)  # the second one is the claim's own look at the job
    world.set_slots(Slots(held=frozenset({holder.id}), fencing_token=1))
    world.execute(second)
    assert world.run(holder).owner == "alive"


def test_i23_a_sweep_that_stood_still_takes_no_fresh_claim_for_one_from_the_future(world: World) -> None:
    world.declare(lambda run: None)
    holder = stands_still(world, "runs.get_many")
    world.clock.advance(65 * SECOND)
    world.sweep(lasts=10 * MINUTE)
    assert world.run(holder).owner == "alive"


def is_set_back(world: World, call: str, number: int = 1) -> None:
    """At a call of that name the host's clock is set back by an hour; the store's answer shows it."""
    calls = [call] * number

    def hook(name: str, when: str) -> None:
        if when == "before" and calls and name == call:
            calls.pop()
            if not calls:
                world.clock.jump(-HOUR)
                world.store.clock.offset = HOUR

    world.store.on_call(hook)


@pytest.mark.parametrize("call, number", [("jobs.get", 2), ("runs.get_many", 1)])
def test_an_executor_whose_clock_is_set_back_while_it_claims_declares_no_live_run_lost(
    world: World, call: str, number: int
) -> None:
    world.declare(lambda run: None, overlap="skip")
    holder, second = running(world, owner="alive"), world.plan(NOON + SECOND)
    world.set_slots(Slots(held=frozenset({holder.id}), fencing_token=1))
    is_set_back(world, call, number)
    assert world.execute(second).outcome is Outcome.LEFT
    assert (world.run(holder).status, world.run(holder).owner) == (RunStatus.RUNNING, "alive")
    assert world.run(second).status is RunStatus.PENDING


def test_a_sweep_whose_clock_is_set_back_declares_no_live_run_lost_and_is_not_complete(world: World) -> None:
    world.declare(lambda run: None)
    holder = running(world, owner="alive")
    world.store.place(replace(world.run(holder), claim_until=NOON + 3 * MINUTE, due_at=NOON + MINUTE))
    world.clock.advance(65 * SECOND)
    is_set_back(world, "runs.get_many")
    assert not world.sweep(lasts=10 * MINUTE).complete
    assert world.run(holder).owner == "alive"


def test_a_sweep_whose_clock_is_set_back_wakes_nobody_by_it(world: World) -> None:
    world.declare(lambda run: None, overlap="queue")
    holder, queued = running(world, owner="alive"), world.plan(NOON + SECOND)
    world.set_slots(Slots(held=frozenset({holder.id}), fencing_token=1))
    assert world.execute(queued).outcome is Outcome.QUEUED
    world.store.place(replace(world.run(holder), claim_until=NOON + 11 * MINUTE))
    world.clock.advance(10 * MINUTE + 5 * SECOND)
    is_set_back(world, "jobs.get")
    world.sweep(lasts=10 * MINUTE)
    assert (world.run(holder).owner, world.run(queued).status) == ("alive", RunStatus.WAITING)
