"""Jobs and items that go, and come back.

Invariants:
- a job that is missing while a module does not import is held and alarms; one that was removed is quiet;
- what comes back within a day goes on, later it begins anew behind one gap; paused stays paused;
- what was deleted by hand is back within the hour.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.core.jobstate import Held, Registry
from cronce.core.run import DueKind
from cronce.core.schedule import Cron
from cronce.testing import job_key
from tests.scenarios.tick_world import HOUR, MINUTE, MORNING, SECOND, World, declare

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


# --- gone and back ----------------------------------------------------------------------------------------


def test_i8_an_item_that_was_deleted_by_hand_is_back_within_the_hour(world: World) -> None:
    world.store.remove(job_key("daily"))
    world.ticks(3)
    assert job_key("daily") not in world.store.items()

    world.tick_at(SIX)

    state = world.job("daily")
    assert state.slots.fencing_token == int(SIX.timestamp() * 1000)
    assert world.ran("daily") == ["05T06:00"]


def test_i8_tokens_go_on_rising_though_the_item_was_deleted_while_the_job_was_not_deployed(
    world: World,
) -> None:
    """Nothing knows the job any more then: only the clock is above every token that was handed out."""
    token = world.store.jobs.next_token("daily")
    world.deploy(HOURLY)
    world.ticks(1)
    world.store.remove(job_key("daily"))

    world.deploy(DAILY, HOURLY)
    world.ticks(1)

    again = world.store.jobs.next_token("daily")
    assert token is not None
    assert again is not None
    assert again > token


def test_i9_a_removed_job_leaves_the_index_at_once_and_keeps_its_history(world: World) -> None:
    world.tick_at(SIX)
    world.deploy(HOURLY)

    world.ticks(1)

    state = world.job("daily")
    assert (state.removed_at, state.due_at, state.held) == (world.clock.now(), None, None)
    assert world.ran("daily") == ["05T06:00"]
    assert set(registry_of(world).jobs) == {"hourly"}
    assert world.held == 0
    assert not in_index(world, "daily")
    world.tick_at(SIX + 25 * HOUR)
    assert world.ran("daily") == ["05T06:00"]


def test_i9_a_job_removed_while_another_module_is_broken_alarms(world: World) -> None:
    world.deploy(HOURLY, problems=BROKEN)

    world.ticks(1)

    state = world.job("daily")
    assert (state.held, state.removed_at) == (Held.UNAVAILABLE, None)
    assert (state.due_at, state.expect_by) == (state.next_at, SIX.replace(second=0) + 15 * MINUTE)
    assert world.held == 1
    assert in_index(world, "daily")
    assert set(registry_of(world).jobs) == {"daily", "hourly"}
    assert [line.fields["job"] for line in world.telemetry.named("job.unavailable")] == ["daily"]
    assert [line.fields["module"] for line in world.telemetry.named("module.unusable")] == ["jobs.broken"]


def test_i9_once_the_broken_module_is_gone_too_the_removed_job_is_quiet(world: World) -> None:
    world.deploy(HOURLY, problems=BROKEN)
    world.ticks(1)
    world.deploy(HOURLY)

    world.ticks(1)

    assert (world.job("daily").held, world.job("daily").due_at) == (None, None)
    assert world.held == 0


def test_i1_the_time_of_a_job_whose_module_broke_is_planned_late_and_nobody_else_s(world: World) -> None:
    other = declare("other", Cron("0 6 * * *"))
    world.deploy(DAILY, HOURLY, other)
    world.ticks(1)
    world.deploy(HOURLY, other, problems=BROKEN)
    world.tick_at(SIX - 2 * MINUTE)

    world.tick_at(SIX)
    assert (world.ran("daily"), world.ran("other")) == ([], ["05T06:00"])
    world.deploy(DAILY, HOURLY, other)
    world.tick_at(SIX + 5 * MINUTE)

    (run,) = world.runs("daily")
    assert run.created_at == SIX + 5 * MINUTE
    assert world.job("daily").held is None


def test_a_job_that_is_unavailable_keeps_its_schedule_until_it_is_back(world: World) -> None:
    world.deploy(HOURLY, problems=BROKEN)
    world.ticks(1)
    world.deploy(declare("daily", Cron("30 6 * * *")), HOURLY)

    world.tick_at(SIX + 10 * MINUTE)
    world.tick_at(SIX + 30 * MINUTE)

    assert world.ran("daily") == ["05T06:00", "05T06:30"]


def test_i9_a_job_that_is_back_after_three_months_begins_anew_behind_one_gap(world: World) -> None:
    world.deploy(DAILY)
    world.ticks(1)
    world.deploy(DAILY, HOURLY)

    world.tick_at(SIX + timedelta(days=91))

    assert world.ran("hourly") == ["05T05:00", "06T06:00"]
    assert world.gaps("hourly") == [f"05T06:00-06T05:00: {91 * 24} removed"]


def test_i9_a_job_that_is_back_the_same_day_goes_on(world: World) -> None:
    world.deploy(DAILY)
    world.ticks(1)
    world.deploy(DAILY, HOURLY)

    world.tick_at(SIX + 10 * MINUTE)

    assert world.ran("hourly") == ["05T05:00", "05T06:00"]
    assert world.job("hourly").removed_at is None


def test_i15_a_paused_job_whose_module_breaks_and_is_fixed_is_still_paused(world: World) -> None:
    world.pause("daily")
    paused = world.job("daily")
    world.deploy(HOURLY, problems=BROKEN)
    world.ticks(2)
    assert world.job("daily").held is Held.UNAVAILABLE
    world.deploy(DAILY, HOURLY)

    world.ticks(2)

    assert world.job("daily") == paused
    assert not in_index(world, "daily")
    world.tick_at(SIX)
    assert world.ran("daily") == []


def test_a_job_known_only_by_its_item_is_found_when_it_is_due(world: World) -> None:
    """The registry was lost, and so was the job's code."""
    world.store.remove(("SCHEDULER", "REGISTRY"))
    world.deploy(HOURLY)

    world.tick_at(SIX)

    assert world.job("daily").removed_at == SIX
    assert world.ran("daily") == []


def test_a_registry_that_cannot_be_read_is_written_anew(world: World) -> None:
    world.store.spoil(("SCHEDULER", "REGISTRY"))
    world.deploy(DAILY, HOURLY, declare("third", Cron("0 6 * * *")))

    world.tick_at(SIX)

    assert [line.name for line in world.telemetry.warnings] == ["registry.unreadable"]
    assert set(registry_of(world).jobs) == {"daily", "hourly", "third"}
    assert world.ran("third") == ["05T06:00"]
