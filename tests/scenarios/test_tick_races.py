"""What happens between a tick's reads and its writes, and around them.

Invariants:
- a job that moves between read and write is left alone until the next tick;
- records that exist stay as they are: they are dropped from the window, counted, and the rest is written;
- a tick killed between two writes leaves nothing double and nothing out.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from cronce.core.lease import Lease
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import RunStatus, Trigger
from cronce.core.schedule import Cron
from cronce.engine.scheduler import TickEnd
from cronce.testing import ManualClock, run_key
from tests.scenarios.tick_world import HOUR, MINUTE, MORNING, SECOND, Killed, World, declare

DAILY = declare("daily", Cron("0 6 * * *"))
MINUTELY = declare("minutely", Cron("* * * * *"))
SIX = MORNING.replace(hour=6)


@pytest.fixture
def world() -> World:
    """A stack whose jobs were planned once, at five."""
    world = World()
    world.deploy(DAILY, MINUTELY)
    world.tick()
    return world


def lease_of(world: World) -> Lease:
    lease = world.store.lease.read()
    assert lease is not None
    return lease


# --- between read and write -------------------------------------------------------------------------------


def test_i3_a_pause_that_lands_between_read_and_write_is_obeyed(world: World) -> None:
    world.clock.set(SIX)
    with world.during("plans.commit", "before", lambda: world.pause("daily")):
        report = world.tick()

    assert report.stale == {"daily"}
    assert world.ran("daily") == []
    assert world.ran("minutely") == ["05T05:00", "05T06:00"]
    assert world.heartbeat == 1
    world.ticks(3)
    assert world.ran("daily") == []


@pytest.mark.parametrize(
    "policy, runs, gaps",
    [
        ("skip", [], ["05T05:32-05T05:35: 4 paused"]),
        ("latest", ["05T05:35"], ["05T05:32-05T05:34: 3 paused"]),
        ("all", ["05T05:32", "05T05:33", "05T05:34", "05T05:35"], []),
    ],
)
def test_p19_i3_a_job_paused_for_four_minutes(policy: str, runs: list[str], gaps: list[str]) -> None:
    world = World(clock=ManualClock(MORNING.replace(minute=31)))
    world.deploy(declare("menu", Cron("* * * * *"), catch_up=policy))
    world.tick()
    world.clock.advance(10 * SECOND)
    world.pause("menu")
    world.ticks(4)
    assert world.ran("menu") == ["05T05:31"]

    world.resume("menu")
    world.tick_at(world.clock.now() + 20 * SECOND)

    assert world.ran("menu") == ["05T05:31", *runs]
    assert world.gaps("menu") == gaps


def test_i16_a_time_that_was_backfilled_while_paused_is_not_planned_again(world: World) -> None:
    world.pause("daily")
    at_six = SIX.replace(second=0)
    world.tick_at(SIX + HOUR)
    world.store.place(backfilled(world, "daily", at_six))
    world.resume("daily")

    report = world.ticks(1)[0]

    assert report.duplicates == 1
    (run,) = world.runs("daily")
    assert (run.trigger, run.status) == (Trigger.BACKFILL, RunStatus.SUCCEEDED)
    assert world.job("daily").next_at == at_six + 24 * HOUR
    assert [line.fields["job"] for line in world.telemetry.named("plan.exists_already")] == ["daily"]


def test_p27_a_backfill_of_past_times_does_not_move_what_is_planned_next(world: World) -> None:
    planned_to = world.job("daily").planned_to
    for days in range(1, 30):
        world.store.place(backfilled(world, "daily", SIX.replace(second=0) - days * 24 * HOUR))

    report = world.tick_at(SIX)

    assert report.runs == 2
    assert world.job("daily").planned_to > planned_to
    planned = [run for run in world.runs("daily") if run.trigger is Trigger.SCHEDULE]
    assert [run.ref.scheduled_at for run in planned] == [SIX.replace(second=0)]


def test_p34_a_rolled_back_planned_to_starts_nothing_twice(world: World) -> None:
    world.ticks(30)
    before = world.runs("minutely")
    at_five = MORNING - MINUTE
    world.change("minutely", planned_to=at_five, next_at=at_five, due_at=at_five)

    report = world.ticks(1)[0]

    # Half an hour is caught up as one run and one gap; the newest is new, the older records outrank the gap.
    assert world.runs("minutely")[: len(before)] == before
    assert len(world.runs("minutely")) == len(before) + 1
    assert report.runs == 1


def test_p34_records_that_exist_are_dropped_and_counted() -> None:
    world = World()
    world.deploy(declare("menu", Cron("* * * * *"), catch_up="all", concurrency=None))
    world.tick()
    world.ticks(10)
    before = world.runs("menu")
    world.change("menu", planned_to=MORNING + 2 * MINUTE, due_at=MORNING)

    report = world.ticks(1)[0]

    assert (report.duplicates, report.runs) == (8, 1)
    assert world.runs("menu")[:-1] == before
    assert world.ran("menu")[-1] == "05T05:11"


def test_p34_a_set_back_job_whose_gap_grew_has_no_time_without_a_record() -> None:
    """The gap is planned again, from the same time on, when more time has passed."""
    world = World()
    world.deploy(declare("menu", Cron("* * * * *"), catch_up="skip"))
    world.tick()
    as_it_was = world.job("menu")
    world.tick_at(MORNING + 10 * MINUTE)
    world.change("menu", planned_to=as_it_was.planned_to, due_at=MORNING)

    world.tick_at(MORNING + 20 * MINUTE)

    assert world.gaps("menu") == ["05T05:01-05T05:07: 7 late", "05T05:01-05T05:17: 17 late"]
    assert world.ran("menu")[-2:] == ["05T05:19", "05T05:20"]


def test_p34_who_is_in_line_behind_a_run_that_exists_moves_up() -> None:
    """Else all that is planned would be queued behind a run that was over long ago."""
    world = World()
    world.deploy(declare("menu", Cron("* * * * *"), catch_up="all"))
    world.tick()
    as_it_was = world.job("menu")
    world.store.place(backfilled(world, "menu", (MORNING + MINUTE).replace(second=0)))
    world.change("menu", planned_to=as_it_was.planned_to, due_at=MORNING)

    world.tick_at(MORNING + 10 * MINUTE)

    first, *others = [run for run in world.runs("menu") if run.created_at == world.clock.now()]
    assert (first.status, first.expect_by) == (RunStatus.PENDING, first.created_at + world.job("menu").grace)
    assert all(run.is_queued for run in others)
    assert world.job("menu").slots.queued == len(others) == len(world.store.markers("menu"))


def test_i11_records_past_their_time_count_until_the_store_deletes_them_and_are_not_made_again() -> None:
    """A restored table is two years old: what may have run is skipped, whether its record is there or not."""
    world = World()
    world.deploy(declare("daily", Cron("0 6 * * *"), catch_up="all", max_lateness="3650d", catch_up_cap=500))
    world.tick()
    at_six = SIX.replace(second=0)
    expired = replace(
        backfilled(world, "daily", at_six), forget_at=at_six + timedelta(days=400), trigger=Trigger.SCHEDULE
    )
    world.store.place(expired)  # not deleted yet; that of the next day is gone

    for _ in range(20):
        world.tick_at(world.clock.now() + (timedelta(days=401) if world.clock.now() < SIX else MINUTE))

    runs = world.runs("daily")
    assert runs[0] == expired
    planned = [run for run in runs[1:] if run.status is not RunStatus.SKIPPED]
    assert min(run.ref.scheduled_at for run in planned) > SIX + timedelta(days=1)
    assert len(planned) == 399


def backfilled(world: World, name: str, scheduled_at: datetime) -> RunRecord:
    """A run that an operator asked for and that succeeded."""
    return RunRecord(
        ref=RunRef(name, scheduled_at),
        trigger=Trigger.BACKFILL,
        status=RunStatus.SUCCEEDED,
        created_at=world.clock.now(),
        scheduled_local=scheduled_at.isoformat(),
        timeout=timedelta(minutes=15),
        max_attempts=3,
        ended_at=world.clock.now(),
        forget_at=world.clock.now() + timedelta(days=400),
        rev=3,
    )


def test_p32_a_lease_that_lapses_during_the_sweep_is_not_completed(world: World) -> None:
    world.clock.set(SIX)
    scheduler = world.scheduler()
    with world.during("lease.release", "before", lambda: world.store.lease.take("b", SIX + MINUTE)):
        report = scheduler.tick("a")

    assert report.end is TickEnd.LEASE_LOST
    assert world.heartbeat == 0


def test_two_ticks_under_one_lease_account_for_each_time_once(world: World) -> None:
    """The lease alone does not say that nothing was planned since the job was read: `planned_to` does."""
    world.clock.set(SIX.replace(second=30))
    slow = world.scheduler()

    def plan_and_die() -> None:
        def die(name: str, _when: str) -> None:
            if name == "lease.release":
                raise Killed

        world.store.on_call(die)
        world.clock.advance(40 * SECOND)  # the next minute, and the lease still stands
        with pytest.raises(Killed):
            world.tick("one")
        world.store.on_call(None)

    with world.during("plans.commit", "before", plan_and_die):
        report = slow.tick("one")
    world.ticks(1)

    assert report.stale == {"daily", "minutely"}
    assert set(world.accounts("minutely", MINUTELY.schedule).values()) == {1}
    assert world.ran("daily") == ["05T06:00"]


# --- killed -----------------------------------------------------------------------------------------------


def test_i2_a_tick_killed_between_two_writes_leaves_one_run_for_the_outage() -> None:
    world = World()
    jobs = [declare(f"job-{n:03}", Cron("* * * * *")) for n in range(120)]
    world.deploy(*jobs)
    world.tick()
    after_outage = MORNING + 250 * MINUTE  # 09:10
    writes = 0

    def die_at_the_second_write(name: str, when: str) -> None:
        nonlocal writes
        writes += (name, when) == ("plans.commit", "before")
        if writes == 2:
            raise Killed

    world.clock.set(after_outage)
    world.store.on_call(die_at_the_second_write)
    with pytest.raises(Killed):
        world.tick()
    world.store.on_call(None)
    assert 0 < sum(len(world.runs(each.name)) == 2 for each in jobs) < 120

    world.tick_at(after_outage + MINUTE)

    for each in jobs:
        ledger = world.accounts(each.name, each.schedule)
        assert set(ledger.values()) == {1}
        assert len(ledger) == 252
        assert len(world.gaps(each.name)) == 1
    assert run_key(world.runs("job-000")[0].ref)[1] == "RUN#2026-01-05T05:00:00Z"
