"""What a tick does about a deployment that is not what was planned last.

Invariants:
- every job of the deployment has an item within the hour, whoever deleted it, and the registry says what is
  deployed;
- a job that is missing while a module does not import is held and alarms; one that was removed is quiet;
- nothing is lost or doubled by a change, a rollback, a renamed module, or a tick that dies on the way.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.job import Job
from cronce.core.jobstate import Registry
from cronce.core.run import DueKind
from cronce.core.schedule import Cron, schedule_hash
from cronce.engine.reconciliation import fingerprint
from cronce.engine.scheduler import TickEnd
from tests.core.zone_data import zone_data
from tests.scenarios.tick_world import HOUR, MINUTE, MORNING, SECOND, Killed, World, declare

DAILY = declare("daily", Cron("0 6 * * *"))
HOURLY = declare("hourly", Cron("0 * * * *"))
SIX = MORNING.replace(hour=6)
BROKEN = {"jobs.broken": "ImportError: no soup"}


@pytest.fixture
def world() -> World:
    """A stack whose jobs were planned once, at five."""
    world = World()
    world.deploy(DAILY, HOURLY)
    world.tick()
    return world


def registry_of(world: World) -> Registry:
    registry = world.store.registry.read()
    assert registry is not None
    return registry


def in_index(world: World, name: str) -> bool:
    world.clock.advance(2 * SECOND)  # the index is late
    return any(line.job == name for line in world.store.index.due(DueKind.JOB, None, 100))


# --- when -------------------------------------------------------------------------------------------------


def test_a_tick_reconciles_when_the_deployment_is_another_one_and_once_an_hour(world: World) -> None:
    assert [report.reconciled for report in world.ticks(2)] == [False, False]

    world.deploy(DAILY, HOURLY, declare("third", Cron("0 7 * * *")))
    assert [report.reconciled for report in world.ticks(2)] == [True, False]
    assert [world.tick_at(SIX).reconciled, world.tick_at(SIX + MINUTE).reconciled] == [True, False]


def test_the_hour_is_reconciled_by_its_first_complete_tick(world: World) -> None:
    world.clock.set(SIX)
    world.store.lease.take("other", SIX)
    assert world.tick().end is TickEnd.BUSY

    assert world.tick_at(SIX + MINUTE).reconciled


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(declare("daily", Cron("0 7 * * *")), id="schedule"),
        pytest.param(declare("daily", Cron("0 6 * * *"), grace="1h"), id="grace"),
        pytest.param(None, id="removed"),
        pytest.param(declare("another", Cron("0 6 * * *")), id="name"),
    ],
)
def test_the_fingerprint_says_that_something_changed(world: World, change: Job | None) -> None:
    before = fingerprint(world.catalog, "2026f")
    world.deploy(*[HOURLY] if change is None else [HOURLY, change])

    assert fingerprint(world.catalog, "2026f") != before


def test_the_fingerprint_depends_on_modules_problems_and_zone_data_and_on_nothing_else(world: World) -> None:
    before = fingerprint(world.catalog, "2026f")
    assert fingerprint(world.catalog, "2027a") != before
    world.deploy(DAILY, HOURLY, module="jobs.moved")
    assert fingerprint(world.catalog, "2026f") != before
    world.deploy(DAILY, HOURLY, problems=BROKEN)
    assert fingerprint(world.catalog, "2026f") != before
    world.deploy(HOURLY, declare("daily", Cron("0 6 * * *"), catch_up="all"))
    assert fingerprint(world.catalog, "2026f") == before


def test_the_registry_says_where_each_job_is_and_what_it_promised(world: World) -> None:
    registry = registry_of(world)

    entry = registry.jobs["daily"]
    assert (entry.module, entry.grace) == ("jobs.daily", timedelta(minutes=15))
    assert entry.schedule_hash == schedule_hash(DAILY.schedule)
    assert (registry.zone_data, registry.fingerprint) == ("2026f", fingerprint(world.catalog, "2026f"))


# --- new and changed --------------------------------------------------------------------------------------


def test_a_job_that_is_new_and_due_is_planned_in_the_same_tick(world: World) -> None:
    world.clock.set(SIX)
    world.deploy(DAILY, HOURLY, declare("third", Cron("0 6 * * *")))

    world.tick()

    assert world.ran("third") == ["05T06:00"]


def test_p21_i5_a_changed_schedule_takes_over_behind_what_the_old_one_missed(world: World) -> None:
    world.deploy(declare("daily", Cron("0 7 * * *")), HOURLY)

    world.tick_at(SIX + 20 * MINUTE)
    world.tick_at(SIX + HOUR)

    assert world.ran("daily") == ["05T06:00", "05T07:00"]


def test_i5_the_reconciling_tick_dies_and_a_second_change_follows(world: World) -> None:
    def die() -> None:
        raise Killed

    world.clock.set(SIX + 20 * MINUTE)
    world.deploy(declare("daily", Cron("0 7 * * *")), HOURLY)
    with world.during("plans.commit", "before", die), pytest.raises(Killed):
        world.tick()
    world.deploy(declare("daily", Cron("30 7 * * *")), HOURLY)

    world.tick_at(SIX + 22 * MINUTE)
    world.tick_at(SIX + 90 * MINUTE)

    assert world.ran("daily") == ["05T06:00", "05T07:30"]


def test_i4_two_versions_in_turn_with_different_schedules_keep_the_job_planned_and_double_nothing() -> None:
    world = World()
    versions = [declare("menu", Cron("*/2 * * * *")), declare("menu", Cron("*/3 * * * *"))]
    for minute in range(60):
        world.deploy(versions[minute % 2])
        world.tick_at(MORNING + minute * MINUTE)

    minutes = [run.ref.scheduled_at.minute for run in world.runs("menu")]
    assert {n for n in range(60) if n % 6 == 0} <= set(minutes)
    assert all(n % 2 == 0 or n % 3 == 0 for n in minutes)
    assert len(minutes) == len(set(minutes))
    assert world.gaps("menu") == []


def test_another_grace_reaches_the_item_without_a_window(world: World) -> None:
    world.deploy(declare("daily", Cron("0 6 * * *"), grace="1h"), HOURLY)

    world.ticks(1)

    assert world.job("daily").expect_by == SIX.replace(second=0) + HOUR


def test_i9_a_renamed_module_loses_nothing(world: World) -> None:
    before = world.job("daily")
    world.deploy(DAILY, HOURLY, module="jobs.moved")

    world.ticks(1)

    assert world.job("daily") == replace(before, module="jobs.moved.daily")
    assert registry_of(world).jobs["daily"].module == "jobs.moved.daily"
    world.tick_at(SIX)
    assert world.ran("daily") == ["05T06:00"]


def test_i14_new_zone_data_moves_the_next_time_and_doubles_nothing() -> None:
    vancouver = declare("menu", Cron("0 9 * * *", tz="America/Vancouver"))
    minutely = declare("minutely", Cron("* * * * *", tz="America/Vancouver"))
    berlin = declare("berlin", Cron("0 17 * * *", tz="Europe/Berlin"))
    nine = MORNING.replace(month=12, day=1, hour=16)
    world = World()
    world.clock.set(nine - MINUTE)
    world.deploy(vancouver, minutely, berlin)
    world.ticks(30)

    with zone_data("America/Vancouver", like="America/Los_Angeles"):
        world.zone_data = "2026e"
        reports = world.ticks(60)
    assert [report.reconciled for report in reports[:2]] == [True, False]

    assert world.ran("menu") == ["01T16:00"]
    assert world.skipped("menu") == ["01T17:00 same_local_time"]
    assert world.ran("berlin") == ["01T16:00"]
    assert len(world.ran("minutely")) == 90
    assert {world.job(name).zone_data for name in ("menu", "minutely", "berlin")} == {"2026e"}
    assert registry_of(world).zone_data == "2026e"


def test_i14_p68_a_time_that_new_data_moved_to_half_an_hour_ago_is_planned_by_the_tick_that_sees_it() -> None:
    menu = declare("menu", Cron("0 9 * * *", tz="America/Vancouver"))
    world = World()
    world.deploy(menu)
    world.zone_data = "2026e"
    with zone_data("America/Vancouver", like="America/Los_Angeles"):
        world.tick_at(MORNING.replace(month=12, day=1, hour=15))
        assert world.job("menu").next_at == SIX.replace(month=12, day=1, hour=17, second=0)
        world.tick_at(MORNING.replace(month=12, day=1, hour=16, minute=29))

    world.zone_data = "2026f"
    report = world.ticks(1)[0]

    assert report.reconciled
    assert world.ran("menu") == ["01T16:00"]
    world.ticks(60)
    assert world.ran("menu") == ["01T16:00"]


# --- not reconciled ---------------------------------------------------------------------------------------


def test_a_removed_job_that_moves_meanwhile_stays_in_the_registry_until_it_is_marked(world: World) -> None:
    world.deploy(HOURLY)
    with world.during("plans.commit", "before", lambda: world.change("daily", resumed_at=MORNING)):
        world.ticks(1)
    assert set(registry_of(world).jobs) == {"daily", "hourly"}

    world.ticks(1)

    assert set(registry_of(world).jobs) == {"hourly"}
    assert world.job("daily").removed_at == world.clock.now()


def test_reconciling_again_writes_nothing(world: World) -> None:
    before = world.store.items()

    report = world.tick_at(SIX - MINUTE)
    world.change("daily")  # nothing
    again = world.tick_at(SIX.replace(second=1) - MINUTE + 2 * SECOND)

    assert report.planned == again.planned == 0
    after = world.store.items()
    assert {key: item for key, item in after.items() if key[1] != "LEASE"} == {
        key: item for key, item in before.items() if key[1] != "LEASE"
    }
