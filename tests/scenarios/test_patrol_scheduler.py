"""Patrols while the scheduler is silent.

Invariants:
- a scheduler that has completed no tick for a few minutes is told within seven, with what it has not planned;
- what is late because of it is named in its one alert, not in one alert per job; when it is back, each job
has its grace
  again, and what is still wrong then is told of the job itself;
- what has nothing to do with the scheduler is told of its job as ever;
- a lost tick or two, a new stack, a slow tick are no silence.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.core import health
from cronce.core.alerts import SCHEDULER, Trouble
from cronce.core.errors import StoreError
from cronce.core.jobstate import Held
from cronce.core.run import Notice, Reason
from cronce.engine.metrics import JOBS_MISSED, PATROL_COMPLETED
from cronce.testing import LeaseItem
from cronce.testing.keys import LEASE
from tests.contract.makers import JOB, NOW, failed, pending, queued, ref, running
from tests.scenarios.patrol_world import MINUTE, SECOND, World, cron, job_state

GRACE = timedelta(minutes=15)
JOBS = [f"job-{number:02d}" for number in range(40)]


@pytest.fixture
def world() -> World:
    return World()


def plan_late(world: World) -> None:
    """The scheduler is back: it plans what is due, and completes its tick."""
    for name in JOBS:
        state = world.store.jobs.get(name)
        assert state is not None
        assert state.next_at is not None
        world.store.place(
            job_state(
                name,
                planned_to=world.now,
                next_at=world.now + 60 * MINUTE,
                due_at=world.now + 60 * MINUTE,
                expect_by=world.now + 75 * MINUTE,
            ),
            pending(ref(5, job=name), created_at=world.now, expect_by=world.now + GRACE),
        )
    world.tick()


def test_a_silent_scheduler_is_told_within_seven_minutes(world: World) -> None:
    world.patrol()
    world.ticking = False

    reports = world.patrols(6)

    assert world.told() == [("opened", SCHEDULER)]
    assert world.notice().subject == "Scheduler silent since 2026-01-05T00:01:00Z in shop-prod"
    assert all(report.complete for report in reports), "the watchdog itself is well"


def test_i47_forty_jobs_late_after_one_outage_are_one_opening_and_one_closing_notice(world: World) -> None:
    hourly = cron("5 * * * *")
    due = NOW + 5 * MINUTE
    world.store.place(
        *(job_state(name, schedule=hourly, next_at=due, due_at=due, expect_by=due + GRACE) for name in JOBS)
    )
    world.patrols(3)
    world.ticking = False
    world.until(NOW + 30 * MINUTE)

    opened = world.notice()
    assert (opened.kind, opened.scope) == ("opened", SCHEDULER)
    assert all(f"{name}, 2026-01-05T00:05:00Z" in opened.body for name in JOBS)
    assert world.telemetry.metrics[JOBS_MISSED] == 1

    world.ticking = True
    plan_late(world)
    world.patrol()
    for name in JOBS:
        world.succeed(world.run(ref(5, job=name)))
    reports = world.patrols(40)

    assert world.told() == [("opened", SCHEDULER), ("closed", SCHEDULER)]
    closing = world.notifier.notices[-1].body
    assert all(f"{name}, 2026-01-05T00:05:00Z (UTC): missed" in closing for name in JOBS)
    assert reports[-1].missed == 0


def test_i47_runs_that_wait_for_the_sweep_are_late_because_of_the_scheduler(world: World) -> None:
    waits = [
        queued(ref(0, job="backing-off"), reason=Reason.BACKOFF, attempt=1, expect_by=NOW + GRACE),
        running(ref(0, job="lost"), expect_by=NOW + GRACE),
        pending(ref(0, job="undispatched")),
    ]
    world.store.place(*waits)
    world.patrol()
    world.ticking = False
    world.until(NOW + 30 * MINUTE)
    assert world.told() == [("opened", SCHEDULER)]
    assert {time.job for time in world.alert(SCHEDULER).times} == {"", "backing-off", "lost", "undispatched"}

    world.ticking = True
    world.patrols(14)
    assert world.told() == [("opened", SCHEDULER), ("closed", SCHEDULER)], "they have their grace again"
    world.patrols(2)
    assert sorted(world.told()[2:]) == [("opened", run.ref.job) for run in waits], (
        "what is still late is told"
    )


def test_a_run_that_is_held_by_a_live_worker_is_late_by_itself(world: World) -> None:
    world.store.place(running(ref(0), claim_until=NOW + timedelta(days=1)))
    world.patrol()
    world.ticking = False

    world.until(NOW + 30 * MINUTE)

    assert world.told() == [("opened", SCHEDULER), ("opened", JOB)]


def test_a_failure_during_the_silence_is_told_of_its_job(world: World) -> None:
    world.patrol()
    world.ticking = False
    world.patrols(10)
    world.store.place(failed(ref(0), ended_at=world.now, due_at=world.now))

    world.patrol()

    assert world.told() == [("opened", SCHEDULER), ("opened", JOB)]


def test_an_unavailable_job_is_late_by_itself(world: World) -> None:
    world.store.place(job_state(held=Held.UNAVAILABLE))
    world.patrol()
    world.ticking = False

    world.until(NOW + 20 * MINUTE)

    assert world.told() == [("opened", SCHEDULER), ("opened", JOB)]


def test_a_silence_with_more_times_than_one_patrol_works_out_is_listed_to_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "TIMES_A_PATROL", 5)
    world.store.place(job_state())
    world.patrol()
    world.ticking = False
    world.clock.advance(60 * MINUTE)

    world.patrols(20)

    assert world.alert(SCHEDULER).count == 1 + 65, "the silence, and 00:01 to 01:05"


def test_a_job_that_was_late_before_the_silence_keeps_its_own_alert(world: World) -> None:
    world.store.place(job_state())
    world.until(NOW + 20 * MINUTE)
    assert world.told() == [("opened", JOB)]
    world.ticking = False

    world.patrols(30)

    assert world.told() == [("opened", JOB), ("opened", SCHEDULER)]
    assert [time.trouble for time in world.alert(SCHEDULER).times] == [Trouble.SILENT]
    assert world.alert(JOB).count == 34


def test_a_job_that_stays_unplanned_after_the_silence_is_told_by_itself(world: World) -> None:
    due = NOW + 5 * MINUTE
    world.store.place(job_state(next_at=due, due_at=due, expect_by=due + GRACE))
    world.patrols(3)
    world.ticking = False
    world.until(NOW + 30 * MINUTE)
    world.ticking = True

    world.patrols(14)
    assert world.told() == [("opened", SCHEDULER), ("closed", SCHEDULER)]
    world.patrols(5)

    assert world.told() == [("opened", SCHEDULER), ("closed", SCHEDULER), ("opened", JOB)]
    assert world.alert(JOB).times[0].scheduled_at == NOW + MINUTE


def test_the_notice_about_a_silent_scheduler_names_what_comes_next(world: World) -> None:
    soon = NOW + 120 * MINUTE
    tz = "America/New_York"
    world.store.place(
        job_state(schedule=cron("0 21 * * *", tz), next_at=soon, due_at=soon, expect_by=soon + GRACE)
    )
    world.patrol()
    world.ticking = False

    world.patrols(6)

    assert "daily-menu, 2026-01-04 21:00 -0500 America/New_York (2026-01-05T02:00:00Z)" in world.notice().body


def test_with_the_shortest_grace_a_dead_scheduler_is_told_within_grace_and_three_minutes(
    world: World,
) -> None:
    due = NOW + MINUTE
    world.store.place(job_state(grace=MINUTE, next_at=due, due_at=due, expect_by=due + MINUTE))
    world.tick()
    world.ticking = False

    world.until(due + MINUTE + 3 * MINUTE)

    assert world.told() == [("opened", SCHEDULER)], "one notice, not one for the job as well"
    assert JOB in world.notice().body


def test_p4_two_lost_ticks_are_no_silence(world: World) -> None:
    world.patrol()
    world.ticking = False
    world.patrols(3)
    world.clock.advance(35 * SECOND)
    world.ticking = True

    world.patrols(3)

    assert world.told() == []


def test_p95_a_new_stack_without_a_lease_or_a_first_tick_is_not_judged(world: World) -> None:
    world.ticking = False
    world.patrols(10)
    world.store.place(LeaseItem(owner="first", fencing_token=1, lease_until=world.now))
    world.patrols(10)

    assert world.told() == []
    assert world.telemetry.metrics[PATROL_COMPLETED] == 1


def test_a_scheduler_that_is_silent_again_within_the_hour_is_the_same_outage(world: World) -> None:
    world.patrol()
    for _ in range(3):
        world.ticking = False
        world.patrols(8)
        world.ticking = True
        world.patrols(3)

    assert world.told() == [("opened", SCHEDULER), ("closed", SCHEDULER)]


def test_an_unreadable_lease_is_reported_and_the_jobs_are_judged_all_the_same(world: World) -> None:
    world.patrol()
    world.ticking = False
    world.store.spoil(LEASE)
    world.store.place(failed(ref(0)))

    report = world.patrol()

    assert report.unreadable == ("the scheduler's lease",)
    assert world.told() == [("opened", JOB)]


def test_a_lease_that_cannot_be_reached_closes_nothing(world: World) -> None:
    world.patrol()
    world.ticking = False
    world.patrols(6)

    def refuse(name: str, when: str) -> None:
        if name == "lease.read":
            raise StoreError("throttled")

    world.store.on_call(refuse)
    world.patrols(2)

    assert world.alert(SCHEDULER).is_open
    assert world.told() == [("opened", SCHEDULER)]


def test_ends_are_told_of_their_jobs_while_the_scheduler_is_silent(world: World) -> None:
    world.patrol()
    world.ticking = False
    world.patrols(6)
    world.store.place(*(failed(ref(0, job=name), ended_at=world.now, due_at=world.now) for name in JOBS[:3]))

    world.patrol()

    assert world.told()[1:] == [("opened", name) for name in JOBS[:3]]
    assert all(run.notice is Notice.TOLD for run in world.store.all_runs())
