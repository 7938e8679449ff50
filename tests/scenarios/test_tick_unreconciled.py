"""What a tick does about jobs that it cannot reconcile, and a registry that it cannot write.

Invariants:
- what waits for a person (an item that cannot be read, a record that the store refuses) is tried every five
  minutes, in the first tick of an hour, and at once when other code is deployed: in between a tick reads what
  is due and no other job;
- between two tries the gauge of held jobs stays up;
- what passes by itself is tried by the next tick;
- a registry that cannot be written stops neither planning nor sweep nor heartbeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from cronce.core.answers import JobReads
from cronce.core.errors import RefusedError, StoreError
from cronce.core.jobstate import Registry
from cronce.core.lease import Grant
from cronce.core.ports import RegistryStore
from cronce.core.schedule import Cron
from cronce.engine.plan_writer import TRIES
from cronce.engine.reconciliation import INCOMPLETE, fingerprint, unfinished
from cronce.engine.scheduler import TickEnd
from cronce.testing import job_key
from tests.scenarios.tick_world import HOUR, MINUTE, MORNING, World, declare

DAILY = declare("daily", Cron("0 6 * * *"))
HOURLY = declare("hourly", Cron("0 * * * *"))
HALF_PAST = declare("hourly", Cron("30 * * * *"))
THIRD = declare("third", Cron("0 6 * * *"))
SIX = MORNING.replace(hour=6)


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


# --- jobs -------------------------------------------------------------------------------------------------


def test_a_job_that_cannot_be_read_is_tried_every_five_minutes(world: World) -> None:
    good = world.job("daily")
    world.store.spoil(job_key("daily"))
    world.deploy(DAILY, HALF_PAST)

    reports = world.ticks(11)

    assert [n for n, report in enumerate(reports, start=1) if report.reconciled] == [1, 5, 10]
    assert {report.end for report in reports} == {TickEnd.COMPLETED}
    assert registry_of(world).fingerprint == unfinished(fingerprint(world.catalog, "2026f"))
    assert world.job("hourly").schedule == Cron("30 * * * *").spec()

    world.store.place(good)
    reports = world.ticks(9)
    assert [n for n, report in enumerate(reports, start=12) if report.reconciled] == [15]
    assert registry_of(world).fingerprint == fingerprint(world.catalog, "2026f")


def test_between_two_tries_no_job_is_read_and_the_gauge_stays_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.store.spoil(job_key("daily"))
    world.deploy(DAILY, HALF_PAST)
    world.ticks(1)
    asked: list[str] = []
    get_many = world.store.jobs.get_many

    def watched(names: Sequence[str]) -> JobReads:
        asked.extend(names)
        return get_many(names)

    monkeypatch.setattr(world.store.jobs, "get_many", watched)
    held = []
    for _ in range(3):
        world.ticks(1)
        held.append(world.held)

    assert asked == []
    assert held == [1, 1, 1]


def test_other_code_and_the_first_tick_of_an_hour_are_tried_at_once(world: World) -> None:
    world.store.spoil(job_key("daily"))
    world.deploy(DAILY, HALF_PAST)
    world.ticks(1)

    world.deploy(DAILY, HALF_PAST, THIRD)
    assert [report.reconciled for report in world.ticks(2)] == [True, False]
    world.tick_at(SIX - MINUTE)
    assert world.tick_at(SIX + MINUTE).reconciled


def test_i8_an_item_deleted_by_hand_is_back_within_the_hour_though_another_cannot_be_read(
    world: World,
) -> None:
    world.store.spoil(job_key("daily"))
    world.deploy(DAILY, HALF_PAST)
    world.ticks(1)
    world.store.remove(job_key("hourly"))

    world.tick_at(SIX)

    assert world.job("hourly").next_at == SIX.replace(minute=30, second=0)


def test_a_job_that_moved_meanwhile_is_tried_by_the_next_tick(world: World) -> None:
    world.deploy(DAILY, HALF_PAST)
    with world.during("plans.commit", "before", lambda: world.change("hourly", resumed_at=MORNING)):
        world.ticks(1)
    assert registry_of(world).fingerprint == INCOMPLETE

    assert [report.reconciled for report in world.ticks(2)] == [True, False]
    assert world.job("hourly").schedule == Cron("30 * * * *").spec()


def test_a_job_in_conflict_is_tried_by_the_next_tick(world: World) -> None:
    world.deploy(DAILY, HALF_PAST)
    with world.during("jobs.get_many", "after", lambda: world.store.conflict(TRIES)):
        assert world.ticks(1)[0].stale == {"hourly"}
    assert registry_of(world).fingerprint == INCOMPLETE

    assert [report.reconciled for report in world.ticks(2)] == [True, False]
    assert world.job("hourly").schedule == Cron("30 * * * *").spec()


# --- the registry -----------------------------------------------------------------------------------------


@dataclass
class SmallRegistry:
    """A registry item that takes so many jobs; to write more is refused, as an item of 400 KB is."""

    registry: RegistryStore
    takes: int

    def read(self) -> Registry | None:
        return self.registry.read()

    def write(self, grant: Grant, registry: Registry) -> bool:
        if len(registry.jobs) > self.takes:
            raise RefusedError("write the registry: item SCHEDULER / REGISTRY takes too many bytes")
        return self.registry.write(grant, registry)


def test_a_registry_that_became_too_large_is_reported_and_all_jobs_are_planned(world: World) -> None:
    world.registry = SmallRegistry(world.store.registry, takes=2)
    world.deploy(DAILY, HOURLY, THIRD)

    first = world.tick_at(SIX)

    assert (first.end, world.heartbeat, world.held) == (TickEnd.COMPLETED, 1, 1)
    assert len(world.sweeps.asked) == 2
    (line,) = world.telemetry.named("registry.not_written")
    assert (line.fields["jobs_deployed"], "too many bytes" in str(line.fields["problem"])) == (3, True)
    assert [world.ran(name) for name in ("daily", "third")] == 2 * [["05T06:00"]]
    assert set(registry_of(world).jobs) == {"daily", "hourly"}
    assert [report.reconciled for report in world.ticks(6)] == [*4 * [False], True, False]
    assert world.held == 1


def test_code_that_was_rolled_back_from_a_registry_too_large_is_reconciled_at_once(world: World) -> None:
    world.registry = SmallRegistry(world.store.registry, takes=2)
    world.deploy(DAILY, HALF_PAST, THIRD)
    world.ticks(1)

    world.deploy(DAILY, HOURLY)

    assert world.ticks(1)[0].reconciled
    assert world.job("hourly").schedule == Cron("0 * * * *").spec()
    assert registry_of(world).fingerprint == fingerprint(world.catalog, "2026f")
    assert world.held == 0


def test_a_first_registry_that_is_too_large_stops_no_tick() -> None:
    world = World()
    world.registry = SmallRegistry(world.store.registry, takes=2)
    world.deploy(DAILY, HOURLY, THIRD)
    world.tick()

    world.tick_at(SIX)

    assert (world.heartbeat, world.ran("third")) == (1, ["05T06:00"])
    assert registry_of(world).jobs == {}


def test_a_registry_that_the_store_did_not_answer_about_is_written_by_the_next_tick(world: World) -> None:
    def unanswered() -> None:
        raise StoreError("write the registry: no answer")

    world.deploy(DAILY, HOURLY, THIRD)
    with world.during("registry.write", "before", unanswered):
        report = world.tick_at(MORNING + HOUR)

    assert (report.end, world.held) == (TickEnd.COMPLETED, 0)
    assert len(world.telemetry.named("registry.not_written")) == 1
    assert world.ran("third") == ["05T06:00"]
    world.ticks(1)
    assert set(registry_of(world).jobs) == {"daily", "hourly", "third"}
