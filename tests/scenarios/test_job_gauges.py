"""The gauges of jobs, of a stack that asked for them.

Invariants:
- a job is in trouble while its own alert is open; what a silent scheduler has not planned is not its trouble;
- gauges that cannot be published are left out: the patrol is a complete one, and sends its heartbeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from cronce.core.alerts import SCHEDULER
from cronce.core.errors import StoreError
from cronce.core.jobstate import Registry, RegistryEntry
from cronce.engine.job_gauges import JobGauges
from cronce.engine.metrics import JOB_IN_TROUBLE, PATROL_COMPLETED
from cronce.engine.patrol_report import PatrolReport
from tests.contract.makers import NOW, failed, ref
from tests.scenarios.patrol_world import MINUTE, World, cron, job_state

GRACE = timedelta(minutes=15)
DUE = NOW + 5 * MINUTE
JOBS = ("belt", "bank", "menu")


@pytest.fixture
def world() -> World:
    """Three hourly jobs that are due in five minutes."""
    world = World()
    hourly = cron("5 * * * *")
    entry = RegistryEntry(module="jobs.all", schedule_hash="x", grace=GRACE)
    world.store.place(
        Registry(jobs=dict.fromkeys(JOBS, entry), zone_data="2026a", fingerprint="x"),
        *(job_state(name, schedule=hourly, next_at=DUE, due_at=DUE, expect_by=DUE + GRACE) for name in JOBS),
    )
    return world


def patrol(world: World) -> tuple[PatrolReport, Mapping[str, int]]:
    """The present minute's patrol, and the gauges that it published."""
    published: dict[str, int] = {}

    def publish(metric: str, gauges: Mapping[str, int]) -> None:
        assert metric == JOB_IN_TROUBLE
        published.update(gauges)

    watchdog = world.watchdog(job_gauges=JobGauges(registry=world.store.registry, publish=publish))
    return watchdog.patrol(), published


def test_a_job_is_in_trouble_by_its_own_alert_and_not_by_the_schedulers(world: World) -> None:
    world.patrol()
    world.store.place(failed(ref(0, job="belt")))
    world.ticking = False
    world.until(DUE + 2 * GRACE)
    assert {time.job for time in world.alert(SCHEDULER).times} >= {"bank", "menu"}

    assert patrol(world)[1] == {"belt": 1, "bank": 0, "menu": 0}


def test_gauges_that_cannot_be_published_keep_no_heartbeat_back(world: World) -> None:
    def silent(call: str, moment: str) -> None:
        if call == "registry.read":
            raise StoreError("it does not answer")

    world.tick()
    world.store.on_call(silent)
    report, published = patrol(world)

    assert published == {}
    assert report.complete
    assert world.telemetry.metrics[PATROL_COMPLETED] == 1
    (told,) = world.telemetry.named("patrol.left_out")
    assert told.fields["part"] == "the metrics of the jobs"
