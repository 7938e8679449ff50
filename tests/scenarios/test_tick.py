"""The tick, step by step.

Invariants:
- one scheduler plans at a time; one that was paused, doubled or has a wrong clock plans nothing, or nothing
  twice;
- what is planned depends on the table and the time, never on what a process remembers;
- the heartbeat is sent only after everything due was planned and swept.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.errors import StoreError
from cronce.core.lease import Lease
from cronce.core.run import RunStatus
from cronce.core.schedule import Cron
from cronce.engine.scheduler import TICK_TIME, TickEnd
from cronce.testing import LeaseItem
from tests.scenarios.tick_world import HOUR, MINUTE, MORNING, SECOND, World, declare

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


# --- an ordinary tick -------------------------------------------------------------------------------------


def test_the_first_tick_of_a_stack_creates_the_jobs_and_plans_what_is_due() -> None:
    world = World()
    world.deploy(DAILY, MINUTELY)

    report = world.tick()

    assert (report.end, report.reconciled, report.runs) == (TickEnd.COMPLETED, True, 1)
    assert world.ran("minutely") == ["05T05:00"]
    assert world.job("daily").next_at == SIX.replace(second=0)
    assert (world.heartbeat, world.held) == (1, 0)
    registry = world.store.registry.read()
    assert registry is not None
    assert set(registry.jobs) == {"daily", "minutely"}


def test_each_minute_has_its_run_however_late_the_index_is(world: World) -> None:
    reports = world.ticks(5)

    assert world.ran("minutely") == [f"05T05:0{n}" for n in range(6)]
    assert [report.runs for report in reports] == 5 * [1]
    assert world.ran("daily") == []


def test_a_tick_with_nothing_due_is_two_writes_and_one_query(world: World) -> None:
    world.deploy(DAILY)
    world.ticks(1)
    calls: list[str] = []
    world.store.on_call(lambda name, when: calls.append(name) if when == "before" else None)

    world.ticks(1)

    assert calls == ["lease.take", "index.due", "lease.release"]


def test_p8_a_scheduler_with_empty_memory_plans_what_the_first_one_would_have() -> None:
    planned = []
    for takes_over in (False, True):
        world = World()
        world.deploy(DAILY, MINUTELY)
        scheduler = world.scheduler()
        scheduler.tick("a")
        world.clock.set(SIX)
        (world.scheduler() if takes_over else scheduler).tick("b" if takes_over else "a")
        planned.append(world.store.items())

    without_lease = [
        {key: item for key, item in items.items() if not isinstance(item, LeaseItem)} for items in planned
    ]
    assert without_lease[0] == without_lease[1]


def test_p29_a_second_scheduler_half_a_minute_behind_plans_nothing_new(world: World) -> None:
    world.tick_at(SIX)
    (run,) = world.runs("daily")
    succeeded = replace(
        run, status=RunStatus.SUCCEEDED, dispatch=None, due_at=None, ended_at=SIX, expect_by=None, rev=3
    )
    world.store.place(succeeded)

    report = world.tick_at(SIX + 30 * SECOND)

    assert report.runs == 0
    assert world.runs("daily") == [succeeded]


def test_p39_the_same_event_delivered_twice_is_a_quiet_second_tick(world: World) -> None:
    first, second = world.tick_at(SIX), world.tick_at(SIX + 5 * SECOND)

    assert (first.runs, second.runs, second.planned) == (2, 0, 0)
    assert world.telemetry.warnings == []


def test_the_log_of_a_tick_says_the_version_of_the_zone_data(world: World) -> None:
    world.ticks(1)

    (line,) = world.telemetry.named("tick.completed")
    assert line.fields["zone_data"] == "2026f"
    assert line.fields["runs"] == 1


def test_p12_what_is_caught_up_or_skipped_is_logged_with_job_and_times(world: World) -> None:
    world.tick_at(SIX + 20 * MINUTE)

    caught_up = {line.fields["job"]: line.fields for line in world.telemetry.named("job.caught_up")}
    (gap,) = world.telemetry.named("job.gap")
    assert caught_up["daily"]["oldest"] == SIX.replace(second=0)
    assert (gap.fields["job"], gap.fields["count"], gap.fields["reason"]) == ("minutely", 79, "superseded")
    assert not gap.warning


# --- the lease --------------------------------------------------------------------------------------------


def test_a_tick_that_meets_another_one_leaves_at_once(world: World) -> None:
    world.clock.set(SIX)
    world.store.lease.take("other", SIX)

    report = world.tick()

    assert report.end is TickEnd.BUSY
    assert world.ran("daily") == []
    assert (world.heartbeat, world.held) == (0, None)
    assert [line.name for line in world.telemetry.events] == ["tick.busy"]
    assert len(world.sweeps.asked) == 1


def test_p32_p53_a_scheduler_that_was_paused_before_its_write_is_refused_by_the_store(world: World) -> None:
    world.clock.set(SIX)
    paused = world.scheduler()

    def another_takes_over() -> None:
        world.store.on_call(None)
        world.tick_at(SIX + MINUTE)

    with world.during("plans.commit", "before", another_takes_over):
        report = paused.tick("a")

    assert report.end is TickEnd.LEASE_LOST
    assert (report.runs, report.planned) == (0, 0)
    assert world.ran("daily") == ["05T06:00"]
    assert world.accounts("minutely", MINUTELY.schedule).total() == 62
    assert len(world.sweeps.asked) == 2  # the first tick's, and that of the one who took over
    assert lease_of(world).completed_at == SIX + MINUTE


def test_p41_two_rules_that_tick_at_the_same_time_make_each_run_once(world: World) -> None:
    for minute in range(3):
        world.clock.set(SIX + minute * MINUTE)
        second = world.scheduler()

        def first_overtakes() -> None:
            world.store.on_call(None)
            world.tick("first")

        with world.during("lease.take", "before", first_overtakes):
            report = second.tick("second")
        assert report.runs == 0

    assert set(world.accounts("minutely", MINUTELY.schedule).values()) == {1}
    assert world.ran("daily") == ["05T06:00"]


def test_i10_a_host_an_hour_ahead_that_died_with_the_lease_locks_nobody_out(world: World) -> None:
    stored = lease_of(world)
    ahead = SIX + HOUR
    world.store.place(
        LeaseItem(
            owner="ahead",
            fencing_token=stored.fencing_token + 1,
            lease_until=ahead + 50 * SECOND,
            completed_at=stored.completed_at,
        )
    )

    assert world.tick_at(SIX).end is TickEnd.COMPLETED
    assert world.ran("daily") == ["05T06:00"]


# --- clocks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("skew", [timedelta(seconds=6), timedelta(seconds=-6), timedelta(hours=1)])
def test_a_host_whose_clock_differs_from_the_store_s_plans_nothing(world: World, skew: timedelta) -> None:
    world.clock.set(SIX)
    world.store.clock.offset = skew

    report = world.tick()

    assert report.end is TickEnd.CLOCK_SKEW
    assert world.ran("daily") == []
    assert world.heartbeat == 0
    (line,) = world.telemetry.warnings
    assert (line.name, line.fields["skew_seconds"]) == ("tick.clock_skew", skew.total_seconds())
    world.store.clock.offset = timedelta(0)
    assert world.tick().end is TickEnd.COMPLETED  # the lease was given back


def test_the_earlier_of_the_two_clocks_is_acted_on(world: World) -> None:
    world.clock.set(SIX.replace(second=2))
    world.store.clock.offset = timedelta(seconds=-3)
    early = world.tick()
    world.store.clock.offset = timedelta(seconds=3)
    late = world.tick()

    assert (early.now, late.now) == (SIX.replace(second=2) - 3 * SECOND, SIX.replace(second=2))
    assert (early.runs, late.runs) == (1, 2)  # the minute before was due by either clock, six o'clock by one


# --- complete or not --------------------------------------------------------------------------------------


def test_the_sweep_gets_the_tick_s_time_and_a_limit(world: World) -> None:
    world.tick_at(SIX)

    assert world.sweeps.asked[-1] == (SIX, SIX + TICK_TIME)


def test_p11_a_tick_that_raises_half_way_sends_no_heartbeat_and_the_next_one_goes_on(world: World) -> None:
    def fail() -> None:
        raise StoreError("no answer")

    world.clock.set(SIX)
    with world.during("plans.commit", "before", fail), pytest.raises(StoreError):
        world.tick()
    assert world.heartbeat == 0
    assert lease_of(world).completed_at == MORNING
    assert world.ran("daily") == []

    assert world.tick_at(SIX + MINUTE).end is TickEnd.COMPLETED
    assert world.ran("daily") == ["05T06:00"]


def test_p11_a_sweep_that_did_not_finish_makes_the_tick_incomplete(world: World) -> None:
    world.sweeps.complete = False

    report = world.tick_at(SIX)

    assert report.end is TickEnd.INCOMPLETE
    assert world.heartbeat == 0
    assert lease_of(world).completed_at == MORNING
    assert world.ran("daily") == ["05T06:00"]
    assert world.tick().end is TickEnd.INCOMPLETE  # but the lease is free


def test_a_tick_that_runs_out_of_time_keeps_what_it_wrote_and_goes_on_next_time() -> None:
    world = World()
    jobs = [declare(f"job-{n:03}", Cron("* * * * *")) for n in range(250)]
    world.deploy(*jobs)
    world.tick()

    world.clock.set(MORNING + MINUTE)
    with world.during("plans.commit", "after", lambda: world.clock.advance(16 * SECOND)):
        report = world.tick()
    assert report.end is TickEnd.INCOMPLETE
    assert 0 < report.planned < 250
    assert world.heartbeat == 0

    assert world.tick_at(MORNING + 2 * MINUTE).end is TickEnd.COMPLETED
    assert all(world.ran(each.name) == ["05T05:00", "05T05:01", "05T05:02"] for each in jobs)


def test_more_due_jobs_than_a_tick_reads_are_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cronce.engine.tick.DUE_JOBS", 1)

    report = world.tick_at(SIX)

    assert report.end is TickEnd.INCOMPLETE
    assert world.ran("minutely") == ["05T05:00", "05T06:00"]
