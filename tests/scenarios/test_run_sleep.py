"""`run.sleep`: a run that waits for an instant without a worker.

Invariants:
- when it goes on is decided once, at the first call, whatever happens afterwards;
- meanwhile no invocation runs, no attempt is spent, no execution counted, the slot kept;
- it is woken by the sweep within a minute after the instant, never before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from cronce.core.errors import Asleep, DuplicateStepError, StepError
from cronce.core.records import RunRef, StepRecord, StepStatus
from cronce.core.retry import Retry
from cronce.core.run import Dispatch, Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import (
    DAY,
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    Killed,
    World,
    dead,
    no_more,
)


@pytest.fixture
def world() -> World:
    return World(jitter=0.0)


class Trace:
    """A job that sleeps between two steps, and when it did what."""

    def __init__(self, world: World, delay: timedelta | str = 2 * HOUR) -> None:
        self.world, self.delay = world, delay
        self.done: list[tuple[str, datetime]] = []

    def mark(self, name: str) -> None:
        self.done.append((name, self.world.clock.now()))

    def job(self, run: Run) -> None:
        run.step("before", self.mark, "before")
        run.sleep("nap", self.delay)
        run.step("after", self.mark, "after")


def asleep(world: World, ref: RunRef) -> StepRecord:
    return next(step for step in world.store.steps.load(ref) if step.status is StepStatus.ASLEEP)


@pytest.mark.parametrize("delay", [2 * HOUR, "2h"])
def test_it_goes_on_after_the_delay_in_another_invocation_of_the_same_attempt(
    world: World, delay: timedelta | str
) -> None:
    trace = Trace(world, delay)
    world.declare(trace.job)
    ref = world.plan()
    assert [one.outcome for one in world.deliver()] == [Outcome.ASLEEP]
    run = world.run(ref)
    assert (run.status, run.reason, run.due_at) == (RunStatus.WAITING, Reason.SLEEP, NOON + 2 * HOUR)
    assert (run.owner, run.claim_until, run.attempt, run.slice) == (None, None, 1, 2)
    assert world.slots().held == {ref.id}
    assert world.minutes(117) == []
    assert [one.outcome for one in world.minutes(3)] == [Outcome.SUCCEEDED]
    assert [name for name, _ in trace.done] == ["before", "after"]
    assert NOON + 2 * HOUR <= trace.done[1][1] <= NOON + 2 * HOUR + 2 * MINUTE
    run = world.run(ref)
    assert (run.attempt, run.slice, run.executed) == (1, 2, timedelta(0))


def test_the_woken_run_is_dispatched_from_its_record(world: World) -> None:
    world.declare(Trace(world).job)
    ref = world.plan()
    world.deliver()
    world.clock.advance(2 * HOUR)
    world.sweep()
    assert (world.run(ref).status, world.run(ref).dispatch) == (RunStatus.PENDING, Dispatch.STREAM)
    assert world.store.drain_stream() == [ref]


def test_until_an_instant_of_any_zone(world: World) -> None:
    seen: list[datetime] = []
    morning = datetime(2026, 1, 6, 9, 0, 0, 123_456, tzinfo=timezone(timedelta(hours=1)))

    def job(run: Run) -> None:
        run.sleep_until("morning", morning)
        seen.append(world.clock.now())

    world.declare(job)
    ref = world.plan()
    assert [one.outcome for one in world.deliver()] == [Outcome.ASLEEP]
    assert world.run(ref).due_at == datetime.fromisoformat("2026-01-06T08:00:00.123+00:00")
    world.clock.set(NOON + 20 * HOUR)
    world.minutes(2)
    assert len(seen) == 1
    assert seen[0] >= morning - timedelta(milliseconds=1)


def test_a_time_that_has_passed_costs_no_invocation(world: World) -> None:
    def job(run: Run) -> None:
        run.sleep_until("past", NOON - HOUR)
        run.sleep("no time", 0 * SECOND)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED


def test_no_later_attempt_extends_it_and_none_is_spent_by_it(world: World) -> None:
    """The job fails after its sleep: the next attempts find it slept."""
    woken: list[datetime] = []

    def job(run: Run) -> None:
        run.sleep("nap", HOUR)
        woken.append(world.clock.now())
        if run.attempt == 1:
            raise ConnectionError

    world.declare(job)
    ref = world.plan()
    world.deliver()
    first = asleep(world, ref)
    world.minutes(65)
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 2)
    assert asleep(world, ref) == first
    assert first.until == NOON + HOUR
    assert all(at <= NOON + HOUR + 5 * MINUTE for at in woken)


def test_other_code_after_a_deployment_does_not_extend_it(world: World) -> None:
    done: list[datetime] = []

    def longer(run: Run) -> None:
        run.sleep("nap", 10 * HOUR)
        done.append(world.clock.now())

    world.declare(lambda run: run.sleep("nap", HOUR))
    ref = world.plan()
    world.deliver()
    world.declare(longer)
    world.minutes(62)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert len(done) == 1


def test_a_worker_that_dies_before_the_run_lies_down_leaves_the_wake_up_as_it_was(world: World) -> None:
    def dies(call: str, when: str) -> None:
        if (call, when) == ("steps.record", "after") and len(list(world.store.steps.load(ref))) == 2:
            world.store.on_call(dead)
            raise Killed

    trace = Trace(world, 10 * MINUTE)
    world.declare(trace.job, retry=Retry(attempts=2))
    ref = world.plan()
    world.store.on_call(dies)
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    world.minutes(13)
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 2)
    assert trace.done[1][1] - NOON < 12 * MINUTE


def test_a_night_without_a_scheduler_wakes_late_and_once(world: World) -> None:
    trace = Trace(world, HOUR)
    world.declare(trace.job)
    world.plan()
    world.deliver()
    world.clock.advance(10 * HOUR)
    world.minutes(3)
    assert [name for name, _ in trace.done] == ["before", "after"]


def test_woken_too_early_it_sleeps_on(world: World) -> None:
    """A sweep whose clock is ahead, or a hand that edits the record."""
    trace = Trace(world, HOUR)
    world.declare(trace.job)
    ref = world.plan()
    world.deliver()
    run = world.run(ref)
    world.store.place(replace(run, due_at=world.clock.now(), rev=run.rev + 1))
    assert [one.outcome for one in world.minutes(2)] == [Outcome.ASLEEP]
    assert world.run(ref).due_at == NOON + HOUR
    world.minutes(60)
    assert [name for name, _ in trace.done] == ["before", "after"]
    assert world.run(ref).attempt == 1


def test_a_sleep_without_any_step_is_progress(world: World) -> None:
    def job(run: Run) -> None:
        for number in range(3):
            run.sleep(f"nap {number}", HOUR)

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.minutes(190)
    run = world.run(ref)
    assert (run.status, run.attempt, run.slice) == (RunStatus.SUCCEEDED, 1, 4)


def test_the_timeout_bounds_execution_not_sleep(world: World) -> None:
    def job(run: Run) -> None:
        world.work(4 * MINUTE)
        run.sleep("nap", 3 * DAY)
        run.sleep("nap again", 3 * DAY)

    world.declare(job, timeout="10m")
    ref = world.plan()
    world.deliver()
    for _ in range(2):
        world.clock.advance(3 * DAY)
        world.minutes(2)
    run = world.run(ref)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.TIMEOUT)
    assert run.executed == 10 * MINUTE


def test_it_is_expected_as_much_later_as_it_sleeps(world: World) -> None:
    world.declare(lambda run: run.sleep("nap", DAY))
    ref = world.plan()
    expected = world.run(ref).expect_by
    assert expected is not None
    world.clock.advance(MINUTE)
    world.deliver()
    assert world.run(ref).expect_by == expected + DAY


def test_a_run_that_is_overdue_stays_so_while_it_sleeps(world: World) -> None:
    world.declare(lambda run: run.sleep("nap", DAY))
    ref = world.plan()
    expected = world.run(ref).expect_by
    world.clock.advance(16 * MINUTE)
    world.execute(ref)
    assert world.run(ref).reason is Reason.SLEEP
    assert world.run(ref).expect_by == expected


def test_a_cancelled_run_is_not_woken(world: World) -> None:
    trace = Trace(world, HOUR)
    world.declare(trace.job)
    ref = world.plan()
    world.deliver()
    run = world.run(ref)
    world.store.place(replace(run, cancel_requested=True, rev=run.rev + 1))
    world.minutes(62)
    assert (world.run(ref).status, world.slots().held) == (RunStatus.CANCELLED, frozenset())
    assert [name for name, _ in trace.done] == ["before"]


def test_a_job_that_swallows_the_signal_sleeps_all_the_same(world: World) -> None:
    def job(run: Run) -> None:
        for _ in range(2):
            with pytest.raises(Asleep, match="sleeps until 2026-01-05 13:00:00Z"):
                run.sleep("nap", HOUR)
        no_more(run, Asleep)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.ASLEEP
    assert world.run(ref).reason is Reason.SLEEP


def test_a_job_that_swallows_the_signal_and_never_ends_is_timed_out(world: World) -> None:
    def job(run: Run) -> None:
        try:
            run.sleep("nap", HOUR)
        except Asleep:
            while True:
                pass

    world.declare(job, timeout="1s")
    assert world.execute(world.plan()).outcome is Outcome.FAILED


WRONG: dict[str, tuple[Callable[[Run], object], str]] = {
    "no duration": (lambda run: run.sleep("nap", 5), "delay takes a timedelta or text"),  # type: ignore[arg-type]
    "a negative one": (lambda run: run.sleep("nap", -1 * SECOND), "delay takes 0:00:00 to"),
    "a wall time": (lambda run: run.sleep_until("nap", datetime(2026, 1, 6)), "with a time zone"),  # noqa: DTZ001
    "no time": (lambda run: run.sleep_until("nap", "noon"), "with a time zone, not 'noon'"),  # type: ignore[arg-type]
    "too long": (
        lambda run: run.sleep("nap", 25 * DAY + SECOND),
        "a run ends 30 days after its creation: sleep until 2026-01-30 12:00Z at the latest",
    ),
    "too late": (lambda run: run.sleep_until("nap", NOON + 26 * DAY), "at the latest"),
    "within a step": (lambda run: run.step("outer", lambda: run.sleep("nap", HOUR)), "inside step 'outer'"),
    "a bad name": (lambda run: run.sleep("a/b", HOUR), "'a/b'"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_misused_sleep_is_an_error_that_is_not_repeated(world: World, mistake: str) -> None:
    function, words = WRONG[mistake]
    caught: list[str] = []

    def job(run: Run) -> None:
        try:
            function(run)
        except StepError as error:
            caught.append(str(error))
            raise

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.FAILED
    assert (world.run(ref).reason, world.run(ref).attempt) == (Reason.ERROR, 1)
    assert words in caught[0]


def test_25_days_are_not_too_long(world: World) -> None:
    world.declare(lambda run: run.sleep("nap", 25 * DAY))
    ref = world.plan()
    world.deliver()
    world.clock.advance(25 * DAY)
    world.minutes(2)
    assert world.run(ref).status is RunStatus.SUCCEEDED


def test_a_name_stands_for_one_thing_in_every_attempt(world: World) -> None:
    def first(run: Run) -> None:
        run.sleep("nap", 0 * SECOND)
        run.step("work", int)
        with pytest.raises(DuplicateStepError):
            run.step("nap", int)
        raise ValueError

    def second(run: Run) -> None:
        with pytest.raises(StepError, match="'nap' an earlier attempt has a sleep"):
            run.step("nap", int)
        with pytest.raises(StepError, match="'work' an earlier attempt has a step"):
            run.sleep("work", HOUR)

    world.declare(first)
    ref = world.plan()
    world.deliver()
    world.declare(second)
    world.minutes(2)
    assert world.run(ref).status is RunStatus.SUCCEEDED
