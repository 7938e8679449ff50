"""A tick that dies at any of its store calls, before the call or after it, is made up for by the next one.

Invariants:
- every store call of a tick is tried as the place of death: none is left out, and a new one is found by
  itself;
- after the next tick the ledger and the jobs are what they are without the death;
- what a dying tick leaves behind is whole: no record without its `planned_to`, no `planned_to` without its
  records.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import replace
from datetime import date

import pytest

from cronce.core.errors import StoreError
from cronce.core.jobstate import Gap, JobState
from cronce.core.records import RunRecord, Slots
from cronce.core.schedule import At, Cron
from cronce.engine.scheduler import TickEnd
from cronce.testing import MemoryStore
from tests.scenarios.tick_world import HOUR, MINUTE, MORNING, Killed, World, declare

BACK = MORNING.replace(hour=9, minute=20)
"""The first tick after an outage from five o'clock; nothing falls due in the minute that follows."""
HOURLY, EVERY_FIVE = Cron("0 * * * *"), Cron("*/5 * * * *")
OLD, NEW = Cron("30 5,6,7 * * *"), Cron("15 9 * * *")


def after_an_outage() -> World:
    """One job for everything that can happen to a job, and a deployment that changed meanwhile."""
    world = World()
    kept = [
        declare("latest", HOURLY),
        declare("all", HOURLY, catch_up="all"),
        declare("skip", HOURLY, catch_up="skip"),
        declare("excluded", Cron("*/30 * * * *"), exclude=lambda day: day == date(2026, 1, 5)),
        declare("resumed", HOURLY, catch_up="all"),
        declare("paused", HOURLY),
        declare("queue", HOURLY, catch_up="all"),
        declare("long", EVERY_FIVE, catch_up="all"),
    ]
    world.deploy(*kept, declare("changed", OLD), declare("gone", HOURLY), declare("lost", HOURLY))
    world.tick()
    world.pause("paused")
    world.change("resumed", resumed_at=MORNING + 2 * HOUR)
    world.change("queue", slots=Slots(held=frozenset({"queue@2026-01-04T00:00:00Z"}), queued=1))
    world.store.remove(("JOB#lost", "JOB"))
    one_off = declare("one-off", At(MORNING.replace(hour=8, second=0)))
    world.deploy(*kept, declare("changed", NEW), declare("lost", HOURLY), one_off)
    world.clock.set(BACK)
    return world


Ledger = tuple[AbstractSet[object], AbstractSet[object], Mapping[str, object]]


def ledger_of(world: World) -> Ledger:
    """All that does not say when it was written."""
    items = world.store.items().values()
    runs = {(run.ref, run.status, run.reason, run.rev) for run in items if isinstance(run, RunRecord)}
    gaps = {(gap.job, gap.first, gap.last, gap.count, gap.reason) for gap in items if isinstance(gap, Gap)}
    jobs = {
        state.name: (
            state.schedule,
            state.next_at,
            state.due_at,
            state.expect_by,
            state.held,
            state.paused,
            state.resumed_at,
            state.removed_at is None,
            state.slots.queued,
            len(world.store.markers(state.name)),
        )
        for state in items
        if isinstance(state, JobState)
    }
    return runs, gaps, jobs


def calls_of_a_tick() -> list[str]:
    world = after_an_outage()
    calls: list[str] = []
    world.store.on_call(lambda name, when: calls.append(name) if when == "before" else None)
    world.tick()
    return calls


CALLS = calls_of_a_tick()


def die_at(store: MemoryStore, number: int, when: str, error: type[BaseException]) -> None:
    """Let the call of that number be the last: it does not reach the store, or its reply is lost."""
    begun = -1

    def hook(_name: str, moment: str) -> None:
        nonlocal begun
        begun += moment == "before"
        if begun == number and moment == when:
            raise error("here")

    store.on_call(hook)


def test_a_tick_makes_every_kind_of_call() -> None:
    assert set(CALLS) == {
        "lease.take",
        "registry.read",
        "jobs.get_many",
        "plans.commit",
        "registry.write",
        "index.due",
        "lease.release",
    }
    assert CALLS.count("plans.commit") >= 3


@pytest.mark.parametrize("error", [Killed, StoreError])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(len(CALLS)), ids=[f"{n}-{name}" for n, name in enumerate(CALLS)])
def test_p13_a_tick_that_dies_is_made_up_for_by_the_next(
    number: int, when: str, error: type[BaseException]
) -> None:
    undisturbed = after_an_outage()
    assert undisturbed.tick().end is TickEnd.COMPLETED
    undisturbed.ticks(3)

    world = after_an_outage()
    die_at(world.store, number, when, error)
    goes_on = CALLS[number] == "registry.write" and error is StoreError  # planning does not need it
    with nullcontext() if goes_on else pytest.raises(error):
        world.tick()
    assert world.heartbeat == int(goes_on)
    world.store.on_call(None)
    assert_whole(world)
    assert [report.end for report in world.ticks(3)] == 3 * [TickEnd.COMPLETED]

    runs, gaps, jobs = ledger_of(world)
    expected_runs, expected_gaps, expected_jobs = ledger_of(undisturbed)
    assert jobs == expected_jobs
    assert gaps == expected_gaps
    assert runs == expected_runs


def assert_whole(world: World) -> None:
    """What is accounted for is what `planned_to` says."""
    for name, schedule in (("latest", HOURLY), ("all", HOURLY), ("skip", HOURLY), ("long", EVERY_FIVE)):
        accounts = world.accounts(name, schedule)
        due = schedule.between(MORNING - MINUTE, world.job(name).planned_to)
        assert dict(accounts) == dict.fromkeys(due, 1)


def test_the_undisturbed_ledger_is_what_the_policies_say() -> None:
    world = after_an_outage()
    world.ticks(3)

    assert world.ran("latest") == ["05T05:00", "05T09:00"]
    assert world.gaps("latest") == ["05T06:00-05T08:00: 3 superseded"]
    assert world.ran("all") == [f"05T0{hour}:00" for hour in range(5, 10)]
    assert world.gaps("skip") == ["05T06:00-05T09:00: 4 late"]
    assert world.gaps("excluded") == ["05T05:30-05T09:00: 8 excluded"]
    assert world.skipped("excluded") == ["05T05:00 excluded"]
    assert world.ran("resumed") == world.ran("all")
    assert world.ran("paused") == ["05T05:00"]
    assert len(world.store.markers("queue")) == 4
    assert len(world.ran("long")) == 53
    assert world.ran("changed") == ["05T07:30"]
    assert world.job("changed").schedule == NEW.spec()
    assert world.job("gone").removed_at is not None
    assert world.job("lost").slots.fencing_token == int((BACK + MINUTE).timestamp())
    assert world.ran("one-off") == ["05T08:00"]
    assert replace(world.job("paused"), paused=None).due_at is None
