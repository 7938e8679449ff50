"""An operator pauses a job and lets it go on, beside ticks, other operators and hands.

Invariants:
- nothing is planned between pause and resume, wherever either lands within a tick;
- what was missed meanwhile is judged once, by the job's policy, and each time has one entry;
- saying a thing twice changes nothing and says so; who and why stand where the pause stands;
- a command is refused by a wrong clock, and says so when others are in the way all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.acts import What
from cronce.core.errors import JobNotFoundError, OperationRefusedError, StoreError, UnreadableItemError
from cronce.core.jobstate import Held, Pause
from cronce.core.schedule import Cron
from cronce.engine.ledger import Ledger
from cronce.engine.operations import JobAnswer, Operations
from cronce.testing import RecordingTelemetry, job_key
from tests.scenarios.tick_world import HOUR, MINUTE, MORNING, SECOND, World, declare

MINUTELY = Cron("* * * * *")
POLICIES = ["skip", "latest", "all"]


@pytest.fixture
def world() -> World:
    world = World()
    world.deploy(declare("menu", MINUTELY, catch_up="latest"))
    world.tick()
    return world


def operations(world: World, telemetry: RecordingTelemetry | None = None) -> Operations:
    store = world.store
    ledger = Ledger(
        runs=store.runs,
        jobs=store.jobs,
        clock=world.clock,
        telemetry=telemetry or RecordingTelemetry(),
        retention=timedelta(days=400),
    )
    return Operations(
        ledger=ledger,
        steps=store.steps,
        alerts=store.alerts,
        store_clock=store.clock,
        job_of=lambda _: None,
    )


def pause(world: World, by: str = "ann") -> JobAnswer:
    return operations(world).pause("menu", by=by, why="stock-taking")


def resume(world: World, by: str = "bob") -> JobAnswer:
    return operations(world).resume("menu", by=by, why="counted")


def test_a_pause_says_who_when_and_why_and_takes_the_job_out_of_the_index(world: World) -> None:
    telemetry = RecordingTelemetry()

    answer = operations(world, telemetry).pause("menu", by="ann", why="stock-taking")

    assert answer.changed
    assert answer.state.paused == Pause(at=world.clock.now(), by="ann", why="stock-taking")
    assert world.job("menu") == answer.state
    assert (answer.state.due_at, answer.state.expect_by) == (None, None)
    (line,) = telemetry.named("operator.pause")
    assert line.fields == {"job": "menu", "by": "ann", "why": "stock-taking"}


@pytest.mark.parametrize(
    "policy, ran, gaps",
    [
        ("skip", [], ["05T11:32-05T11:35: 4 paused"]),
        ("latest", ["05T11:35"], ["05T11:32-05T11:34: 3 paused"]),
        ("all", ["05T11:32", "05T11:33", "05T11:34", "05T11:35"], []),
    ],
)
def test_p19_i3_four_paused_minutes_are_caught_up_by_policy(
    policy: str, ran: list[str], gaps: list[str]
) -> None:
    world = World()
    world.deploy(declare("menu", MINUTELY, catch_up=policy, concurrency=None))
    world.tick_at(MORNING.replace(hour=11, minute=31))
    before = world.ran("menu")
    world.clock.advance(20 * SECOND)
    pause(world)
    world.ticks(4)
    assert world.ran("menu") == before
    world.clock.set(MORNING.replace(hour=11, minute=35, second=20))

    answer = resume(world)
    assert (answer.state.due_at, answer.state.resumed_at) == (world.clock.now(), world.clock.now())
    world.tick_at(MORNING.replace(hour=11, minute=35, second=40))

    assert world.ran("menu") == [*before, *ran]
    assert world.gaps("menu") == gaps
    assert set(world.accounts("menu", MINUTELY).values()) == {1}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("call", ["index.due", "jobs.get_many", "plans.commit", "lease.release"])
@pytest.mark.parametrize("command", [pause, resume])
def test_i3_a_command_at_any_call_of_a_tick_leaves_each_time_one_entry(
    policy: str, call: str, command: Callable[[World], JobAnswer]
) -> None:
    world = World()
    world.deploy(declare("menu", MINUTELY, catch_up=policy))
    world.tick()
    if command is resume:
        pause(world)
        world.ticks(3)
        world.clock.advance(SECOND)
        if call != "index.due":  # nothing is due of a paused job: only another one takes the tick further
            world.deploy(declare("menu", MINUTELY, catch_up=policy), declare("other", MINUTELY))
    world.clock.advance(MINUTE)

    with world.during(call, "before", lambda: command(world)):
        world.tick()
    known = world.ran("menu")
    world.ticks(3)

    if command is pause:
        assert world.ran("menu") == known, "nothing is planned after the pause"
        resume(world)
        world.ticks(2)
    planned_to = world.job("menu").planned_to
    owed = MINUTELY.between(MORNING - 2 * MINUTE + SECOND * 56, planned_to)
    accounts = world.accounts("menu", MINUTELY)
    assert {at: accounts[at] for at in owed} == dict.fromkeys(owed, 1)
    assert planned_to > world.clock.now() - 2 * MINUTE


def test_saying_it_twice_changes_nothing_and_says_so(world: World) -> None:
    first = pause(world)
    world.clock.advance(MINUTE)

    again = pause(world, by="eve")
    assert (again.changed, again.state) == (False, first.state)
    assert resume(world).changed
    world.clock.advance(MINUTE)
    once_more = resume(world, by="eve")

    assert not once_more.changed
    assert once_more.state.act is not None
    assert once_more.state.act.by == "bob"
    assert world.store.steps.acts("JOB#menu") == [first.state.act]


def test_of_two_operators_at_once_the_second_learns_of_the_first(world: World) -> None:
    answers: list[JobAnswer] = []
    with world.during("jobs.change", "before", lambda: answers.append(pause(world, by="eve"))):
        mine = pause(world)

    assert [answer.changed for answer in (*answers, mine)] == [True, False]
    assert mine.state.paused is not None
    assert mine.state.paused.by == "eve"


def test_a_pause_that_meets_a_tick_decides_anew(world: World) -> None:
    world.clock.advance(MINUTE)
    with world.during("jobs.change", "before", world.tick):
        answer = pause(world)

    assert answer.changed
    assert answer.state.planned_to == MORNING + MINUTE
    assert world.ran("menu")[-1] == "05T05:01"


def test_i15_a_paused_job_whose_module_breaks_stays_paused_and_resumes(world: World) -> None:
    pause(world)
    world.deploy(problems={"jobs.menu": "it does not import"})
    world.tick_at(MORNING + HOUR)
    assert world.job("menu").held is Held.UNAVAILABLE

    world.deploy(declare("menu", MINUTELY, catch_up="latest"))
    world.tick_at(MORNING + HOUR + MINUTE)
    assert (world.job("menu").paused is not None, world.job("menu").held) == (True, None)
    resume(world)
    world.ticks(1)

    assert world.ran("menu")[-1] == "05T06:02"


def test_a_removed_job_is_not_paused_but_a_paused_one_that_was_removed_resumes(world: World) -> None:
    pause(world)
    world.deploy()
    world.tick_at(MORNING + MINUTE)

    assert resume(world).state.due_at is None, "it comes back with its deployment, not before"
    with pytest.raises(OperationRefusedError, match="job menu was removed from the deployment at 2026-01-05"):
        pause(world)


def test_a_job_that_does_not_exist_or_cannot_be_read_is_one_line(world: World) -> None:
    with pytest.raises(JobNotFoundError, match="there is no job 'dinner'"):
        operations(world).pause("dinner", by="ann", why="")
    world.store.spoil(job_key("menu"))
    with pytest.raises(UnreadableItemError, match="cannot be read"):
        pause(world)


def test_i28_a_host_with_a_wrong_clock_changes_nothing(world: World) -> None:
    before = world.job("menu")
    world.store.clock.offset = timedelta(seconds=-6)

    with pytest.raises(OperationRefusedError, match="this host's clock differs from the store's"):
        pause(world)
    with pytest.raises(OperationRefusedError, match="clock"):
        operations(world).acknowledge("menu", by="ann", why="")
    assert world.job("menu") == before


def test_who_gives_no_name_is_refused_before_anything_is_written(world: World) -> None:
    with pytest.raises(OperationRefusedError, match="say who"):
        pause(world, by="")
    assert world.job("menu").paused is None


def test_a_command_that_always_meets_others_says_so_and_writes_nothing(world: World) -> None:
    def others(call: str, when: str) -> None:
        if (call, when) == ("jobs.change", "before"):
            state = world.job("menu")
            world.store.place(replace(state, expect_by=world.clock.now() + len(seen) * SECOND))
            seen.append(call)

    seen: list[str] = []
    world.store.on_call(others)
    with pytest.raises(StoreError, match=r"pause job menu: others were in the way all the time.*try again"):
        pause(world)
    assert world.job("menu").paused is None
    assert len(seen) == 5


def test_a_conflict_passes(world: World) -> None:
    world.store.conflict(2)

    assert pause(world).changed


def test_a_reply_that_was_lost_is_no_second_pause(world: World) -> None:
    lost = True

    def loses(call: str, when: str) -> None:
        nonlocal lost
        if lost and (call, when) == ("jobs.change", "after"):
            lost = False
            raise StoreError("no answer")

    world.store.on_call(loses)
    answer = pause(world)

    assert answer.changed
    assert answer.state == world.job("menu")


def test_the_act_on_a_job_survives_ticks(world: World) -> None:
    pause(world)
    resume(world)
    world.ticks(3)

    act = world.job("menu").act
    assert act is not None
    assert (act.what, act.by, act.why) == (What.RESUME, "bob", "counted")
