"""Services outside AWS are told of runs and patrols, once that is on record, and change nothing about them.

Invariants:
- a run's start is told at its first claim, its success or failure after the record says so, each once,
  however many attempts, slices and workers it takes;
- a worker that died or lost its claim tells nothing of an end; a false alarm outside, never a false calm;
- a run comes out the same whatever becomes of a signal; one that failed is a line and a count;
- a signal ends before its invocation does: with no time left it is not sent;
- the heartbeat comes after a patrol that vouches for the stack, and after no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from cronce.core import pings
from cronce.core.errors import PermanentError, StoreError
from cronce.core.pings import Signal
from cronce.core.records import RunRef
from cronce.core.retry import Retry
from cronce.core.run import RunStatus, Trigger
from cronce.engine.executor import Outcome
from cronce.engine.metrics import PINGS_FAILED
from cronce.engine.pinging import NO_TIME, Pings
from cronce.engine.run_handle import Run
from cronce.engine.vouching import VouchingWatchdog
from tests.contract.makers import failed
from tests.scenarios import patrol_world
from tests.scenarios.run_world import (
    HOUR,
    LONG,
    MINUTE,
    NAME,
    NOON,
    SECOND,
    Killed,
    World,
    ask_to_cancel,
    kill,
)


@dataclass
class Service:
    """A service outside AWS, that looks at the store whenever it is told something.

    Attributes:
        told: what came, with the run's state at that moment.
        problem: what goes wrong with every signal.
        within: the time that each signal was given.
        published: the metrics that are out.
        flushed: those when each signal came.
        waited: signals that were waited for.
    """

    state: Callable[[], str] = lambda: ""
    told: list[tuple[str, str]] = field(default_factory=list)
    rids: set[object] = field(default_factory=set)
    problem: str | None = None
    within: list[timedelta] = field(default_factory=list)
    published: Callable[[], dict[str, float]] = dict
    flushed: list[dict[str, float]] = field(default_factory=list)
    waited: int = 0

    def send(self, signal: Signal, within: timedelta) -> Service:
        self.told.append((signal.kind.value, self.state()))
        self.rids.add(signal.rid)
        self.within.append(within)
        self.flushed.append(self.published())
        return self

    def outcome(self) -> str | None:
        self.waited += 1
        return self.problem

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.told]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def service(world: World) -> Service:
    told = Service(state=lambda: ", ".join(run.status for run in world.store.all_runs()))
    told.published = lambda: world.telemetry.flushed
    world.pings = Pings(pinger=told, clock=world.clock, telemetry=world.telemetry, prefix="shop")
    return told


def fails(_: Run) -> None:
    raise ValueError("not today")


def test_a_run_is_told_when_it_begins_and_when_its_success_is_on_record(
    world: World, service: Service
) -> None:
    inside: list[list[str]] = []
    world.declare(lambda run: inside.append(service.kinds), ping="healthchecks")
    world.execute(world.plan())

    assert inside == [["start"]]
    assert service.told == [("start", "RUNNING"), ("success", "SUCCEEDED")]
    assert (service.waited, len(service.rids)) == (2, 1)


@pytest.mark.parametrize("ping, told", [("get", ["success"]), (None, [])])
def test_a_plain_url_is_told_of_successes_and_nobody_is_told_of_other_jobs(
    world: World, service: Service, ping: str | None, told: list[str]
) -> None:
    world.declare(lambda run: None, ping=ping)
    world.execute(world.plan())
    assert service.kinds == told


def test_attempts_are_one_run_with_one_start(world: World, service: Service) -> None:
    def third_time(run: Run) -> None:
        if run.attempt < 3:
            raise ValueError("not yet")

    world.declare(third_time, ping="healthchecks")
    ref = world.plan()
    world.minutes(60)
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 3)
    assert service.told == [("start", "RUNNING"), ("success", "SUCCEEDED")]
    assert len(service.rids) == 1


def test_slices_and_sleeps_are_one_run_with_one_start(world: World, service: Service) -> None:
    def long(run: Run) -> None:
        run.step("first", world.work, LONG)
        run.step("second", world.work, MINUTE)
        run.sleep("rest", HOUR)

    world.declare(long, ping="healthchecks", timeout="2h")
    ref = world.plan()
    world.minutes(120)
    assert (world.run(ref).status, world.run(ref).slice) == (RunStatus.SUCCEEDED, 3)
    assert service.told == [("start", "RUNNING"), ("success", "SUCCEEDED")]


@pytest.mark.parametrize("ping, told", [("healthchecks", ["start", "fail"]), ("get", [])])
def test_a_failure_is_told_once_it_is_final(
    world: World, service: Service, ping: str, told: list[str]
) -> None:
    world.declare(fails, ping=ping, retry=Retry(attempts=2, base="1s"))
    world.execute(world.plan())
    assert service.kinds == told[:1]
    world.minutes(2)
    assert service.kinds == told


def test_a_run_out_of_time_at_its_claim_is_told_as_failed(world: World, service: Service) -> None:
    world.declare(lambda run: None, ping="healthchecks")
    ref = world.plan(attempt=1, slice=1, executed=LONG)
    assert world.execute(ref).outcome is Outcome.NOT_STARTED
    assert service.told == [("fail", "FAILED")]


def test_a_run_that_is_too_late_is_told_nobody(world: World, service: Service) -> None:
    world.declare(lambda run: None, ping="healthchecks", max_lateness="2m")
    world.clock.advance(HOUR)
    assert world.execute(world.plan()).outcome is Outcome.NOT_STARTED
    assert service.told == []


def test_a_dead_worker_tells_nothing_and_the_next_one_tells_the_end(world: World, service: Service) -> None:
    world.declare(lambda run: None, ping="healthchecks")
    ref = world.plan()
    kill(world, ref)
    assert service.kinds == ["start"]
    world.minutes(10)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert service.kinds == ["start", "success"]


def test_a_run_that_the_sweep_ends_is_told_by_the_success_that_does_not_come(
    world: World, service: Service
) -> None:
    world.declare(lambda run: None, ping="healthchecks", retry=Retry(attempts=1))
    ref = world.plan()
    kill(world, ref)
    world.minutes(10)
    assert world.run(ref).status is RunStatus.FAILED
    assert service.kinds == ["start"]


def test_a_worker_that_lost_its_claim_tells_no_end(world: World, service: Service) -> None:
    def loses(run: Run) -> None:
        world.clock.advance(5 * MINUTE)
        world.sweep()

    world.declare(loses, ping="healthchecks")
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST
    assert (service.kinds, service.waited) == (["start"], 1)


def test_an_end_that_is_not_on_record_is_told_nobody(world: World, service: Service) -> None:
    def cut_off(run: Run) -> None:
        def broken(call: str, when: str) -> None:
            raise StoreError("the store does not answer")

        world.store.on_call(broken)

    world.declare(cut_off, ping="healthchecks")
    ref = world.plan()
    with pytest.raises(StoreError):
        world.execute(ref)
    world.store.on_call(None)
    assert (service.kinds, service.waited) == (["start"], 1)


def test_a_worker_that_dies_after_the_record_and_before_the_signal_leaves_a_false_alarm(
    world: World, service: Service
) -> None:
    """Signals are best effort: nobody sends it later."""
    world.declare(lambda run: None, ping="get")
    ref = world.plan()

    def dies(signal: Signal, within: timedelta) -> Service:
        raise Killed

    service.send = dies  # type: ignore[method-assign]
    with pytest.raises(Killed):
        world.execute(ref)
    world.minutes(20)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert service.told == []


def test_what_a_person_started_is_told_nobody(world: World, service: Service) -> None:
    world.declare(lambda run: None, ping="healthchecks", concurrency=None)
    world.execute(world.manual("by-hand"))
    world.execute(world.plan(NOON - HOUR, trigger=Trigger.BACKFILL))
    assert [run.status for run in world.store.all_runs()] == [RunStatus.SUCCEEDED] * 2
    assert service.told == []


def test_a_failed_run_that_a_person_retries_is_still_the_schedules(world: World, service: Service) -> None:
    broken = True

    def heals(run: Run) -> None:
        if broken:
            raise PermanentError("not today")

    world.declare(heals, ping="healthchecks")
    ref = world.plan()
    world.execute(ref)
    broken = False
    world.operations().retry(ref, by="ann", why="it is back")
    world.minutes(3)
    assert service.kinds == ["start", "fail", "success"]
    assert len(service.rids) == 1


def test_a_cancelled_run_is_no_success_and_no_failure(world: World, service: Service) -> None:
    def cancelled(run: Run) -> None:
        ask_to_cancel(world, ref)
        world.work(MINUTE)
        run.step("late", str)

    world.declare(cancelled, ping="healthchecks")
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CANCELLED
    assert service.kinds == ["start"]


def test_a_signal_that_fails_is_a_line_and_a_count_and_the_run_is_the_same(
    world: World, service: Service
) -> None:
    service.problem = "it answered 500"
    world.declare(lambda run: None, ping="healthchecks")
    execution = world.execute(world.plan())

    assert execution.outcome is Outcome.SUCCEEDED
    lines = [line.fields for line in world.telemetry.named("ping.failed")]
    run = f"{NAME}@2026-01-05T12:00:00Z"
    assert lines == [
        {"of": NAME, "signal": kind, "run": run, "problem": "it answered 500"}
        for kind in ("start", "success")
    ]
    assert world.telemetry.metrics[PINGS_FAILED] == 2
    assert service.flushed[-1] == {
        "RunsSucceeded": 1,
        PINGS_FAILED: 1,
    }  # what is known, before the last signal


@pytest.mark.parametrize(
    "left, within",
    [
        (LONG, pings.WITHIN),
        (pings.MARGIN + 3 * SECOND, 3 * SECOND),
        (pings.MARGIN, None),
        (timedelta(0), None),
        (-SECOND, None),
    ],
)
def test_a_signal_ends_before_its_invocation(
    world: World, service: Service, left: timedelta, within: timedelta | None
) -> None:
    assert world.pings is not None
    declared = world.declare(lambda run: None, ping="get")
    run = replace(world.record(), status=RunStatus.SUCCEEDED)
    world.pings.ended(declared, run, world.clock.now() + left)

    assert service.within == ([within] if within else [])
    problems = [line.fields["problem"] for line in world.telemetry.named("ping.failed")]
    assert problems == ([] if within else [NO_TIME])


# --- the heartbeat ---


@pytest.fixture
def stack() -> patrol_world.World:
    return patrol_world.World()


def beats(stack: patrol_world.World) -> list[str]:
    """What a service is told by the next minute's patrol."""
    service = Service()
    stack.clock.advance(MINUTE)
    if stack.ticking:
        stack.tick()
    told = Pings(pinger=service, clock=stack.clock, telemetry=stack.telemetry, prefix="")
    VouchingWatchdog(watchdog=stack.watchdog(), pings=told).patrol(stack.clock.now() + 45 * SECOND)
    return service.kinds


def test_a_quiet_stack_beats_each_minute(stack: patrol_world.World) -> None:
    assert [beats(stack) for _ in range(3)] == [["success"]] * 3


def test_a_silent_scheduler_holds_it_back_until_it_ticks_again(stack: patrol_world.World) -> None:
    beats(stack)
    stack.ticking = False
    quiet = [beats(stack) for _ in range(10)]
    assert quiet[0] == ["success"]
    assert quiet[-1] == []
    stack.ticking = True
    assert beats(stack) == ["success"]


def test_a_scheduler_that_never_ticked_is_not_vouched_for(stack: patrol_world.World) -> None:
    stack.ticking = False
    assert beats(stack) == []


def test_a_store_that_does_not_answer_holds_it_back(stack: patrol_world.World) -> None:
    stack.tick()

    def broken(call: str, when: str) -> None:
        if "due" in call:
            raise StoreError("no")

    stack.ticking = False
    stack.store.on_call(broken)
    assert beats(stack) == []
    stack.store.on_call(None)
    assert beats(stack) == ["success"]


def test_clocks_that_differ_hold_it_back(stack: patrol_world.World) -> None:
    stack.store.clock.offset = 10 * SECOND
    assert beats(stack) == []


def test_a_job_that_failed_does_not_hold_it_back_but_a_notice_that_is_not_out_does(
    stack: patrol_world.World,
) -> None:
    stack.store.place(patrol_world.job_state(NAME), failed(RunRef(NAME, stack.now)))
    stack.notifier.down = True
    assert [beats(stack) for _ in range(3)] == [[]] * 3
    stack.notifier.down = False
    assert [beats(stack) for _ in range(3)] == [["success"]] * 3
    assert stack.told() == [("opened", NAME)]


def test_nobody_is_told_if_there_is_no_service(stack: patrol_world.World) -> None:
    stack.tick()
    report = VouchingWatchdog(watchdog=stack.watchdog(), pings=None).patrol(stack.now + 45 * SECOND)
    assert report.vouches


def test_a_heartbeat_that_fails_is_a_line_and_the_patrol_is_complete(stack: patrol_world.World) -> None:
    stack.tick()
    service = Service(problem="it answered 404")
    told = Pings(pinger=service, clock=stack.clock, telemetry=stack.telemetry, prefix="")
    report = VouchingWatchdog(watchdog=stack.watchdog(), pings=told).patrol(stack.now + 45 * SECOND)

    assert report.complete
    (line,) = stack.telemetry.named("ping.failed")
    assert line.fields == {"of": "heartbeat", "signal": "success", "run": "", "problem": "it answered 404"}
    assert stack.telemetry.flushed["PatrolCompleted"] == 1  # out before the service was asked
