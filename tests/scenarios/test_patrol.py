"""Patrols of the watchdog over a store in memory, minute by minute.

Invariants:
- a time without success is told within its grace and three minutes, wherever it got stuck: never planned,
never
  started, never finished;
- an end that must be told is told once, whoever wrote it and whether that one lived on;
- what is not wrong is not told: times born late, queued runs, resumed jobs, everyday overlaps, stale index
lines;
- an alert closes when its times, or a later scheduled one, have succeeded, and not for less;
- gauges are there after every patrol; a patrol that could not see everything says so and does not claim that
all is well;
- one unreadable record is reported, told by its key, and delays nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.core.alerts import SCHEDULER, Trouble
from cronce.core.errors import OperationRefusedError, StoreError
from cronce.core.jobstate import GapReason, Held, Pause
from cronce.core.records import RunRecord
from cronce.core.run import Notice, Reason, RunStatus, Trigger
from cronce.core.schedule import At
from cronce.engine import survey
from cronce.engine.metrics import (
    ITEMS_UNREADABLE,
    JOBS_FAILED,
    JOBS_MISSED,
    NOTICES_FAILED,
    PATROL_COMPLETED,
)
from cronce.testing import job_key, run_key
from tests.contract.makers import JOB, NOW, failed, gap, pending, queued, ref, running
from tests.scenarios.patrol_world import MINUTE, SECOND, World, cron, job_state

GRACE = timedelta(minutes=15)
DAILY = cron("1 0 * * *", tz="America/New_York")


@pytest.fixture
def world() -> World:
    return World()


def skipped(minutes: int, reason: Reason, at: datetime, job: str = JOB) -> RunRecord:
    """A scheduled run that was skipped."""
    return failed(
        ref(minutes, job=job), status=RunStatus.SKIPPED, reason=reason, ended_at=at, due_at=at, created_at=at
    )


# --- what is found ---


def test_quiet_operation_tells_nothing_and_publishes_zeros(world: World) -> None:
    world.store.place(
        job_state(next_at=NOW + 60 * MINUTE, due_at=NOW + 60 * MINUTE, expect_by=NOW + 75 * MINUTE)
    )

    reports = world.patrols(30)

    assert all(report.complete for report in reports)
    assert world.told() == []
    assert world.telemetry.metrics == {JOBS_MISSED: 0, JOBS_FAILED: 0, PATROL_COMPLETED: 1}


def test_i42_a_time_that_a_healthy_scheduler_never_plans_is_told_within_its_grace(world: World) -> None:
    world.store.place(
        job_state(next_at=NOW + 5 * MINUTE, due_at=NOW + 5 * MINUTE, expect_by=NOW + 5 * MINUTE + GRACE)
    )

    world.until(NOW + 5 * MINUTE + GRACE)
    assert world.told() == []
    world.patrol()

    assert world.told() == [("opened", JOB)]
    assert "2026-01-05T00:05:00Z" in world.notice().body
    assert "Never planned" in world.notice().body
    assert world.telemetry.metrics[JOBS_MISSED] == 1


def test_i42_an_unplanned_times_notice_names_its_wall_time(world: World) -> None:
    at = datetime(2026, 1, 5, 5, 1, tzinfo=UTC)
    world.store.place(job_state(schedule=DAILY, next_at=at, due_at=at, expect_by=at + GRACE))
    world.clock.set(at + GRACE)
    world.tick()

    world.patrol()

    assert "2026-01-05 00:01 -0500 America/New_York (2026-01-05T05:01:00Z)" in world.notice().body
    assert world.notice().subject == "Missed: daily-menu 2026-01-05T05:01:00Z in shop-prod"


@pytest.mark.parametrize(
    "run, words",
    [
        (pending(ref(0)), "Never started: no executor has claimed it"),
        (
            running(ref(0), claim_until=NOW + GRACE),
            "Attempt 1 of 3 started 2026-01-05T00:00:00.000Z and is not finished",
        ),
        (
            queued(ref(0), reason=Reason.BACKOFF, attempt=1, error="no soup", expect_by=NOW + GRACE),
            "Attempt 1 of 3 did not succeed, the next one starts 2026-01-05T00:10:00.000Z: no soup",
        ),
    ],
    ids=["pending", "running", "waiting"],
)
def test_a_run_that_is_not_done_in_time_is_told_wherever_it_is(
    world: World, run: RunRecord, words: str
) -> None:
    world.store.place(run)

    world.until(NOW + GRACE)
    assert world.told() == []
    world.patrol()

    assert world.told() == [("opened", JOB)]
    assert words in world.notice().body
    assert world.telemetry.metrics[JOBS_MISSED] == 1
    assert world.telemetry.metrics[JOBS_FAILED] == 0


def test_i44_a_failure_before_its_grace_is_told_though_its_worker_died_right_after(world: World) -> None:
    world.store.place(
        failed(
            ref(0), error="ValueError: no soup", attempt=3, log_stream="2026/01/05/[7]ab", request_id="r-1"
        )
    )

    world.patrol()

    assert world.told() == [("opened", JOB)]
    for words in ("Ended FAILED(error) after attempt 3 of 3: ValueError: no soup", "2026/01/05/[7]ab", "r-1"):
        assert words in world.notice().body
    assert world.telemetry.metrics[JOBS_FAILED] == 1
    assert world.run(ref(0)).notice is Notice.TOLD


def test_i43_the_alert_of_a_failed_one_off_stays_open_though_its_job_has_left_the_index(world: World) -> None:
    once = {"kind": "at", "instant": "2026-01-05T00:00:00Z"}
    world.store.place(job_state(schedule=once, next_at=None, due_at=None, expect_by=None), failed(ref(0)))

    reports = world.patrols(3 * 24 * 60)

    assert world.told() == [("opened", JOB)] + 7 * [("reminder", JOB)], "1, 2, 4, 8, 16, 32 and 56 hours"
    assert len({notice.id for notice in world.notifier.notices}) == 8
    assert {report.failed for report in reports} == {1}
    assert world.acknowledge()
    assert not world.acknowledge()
    last = world.patrols(3 * 24 * 60)[-1]
    assert world.told()[8:] == [("closed", JOB)]
    assert last.failed == 0


def test_a_reminder_lists_what_has_become_of_it_by_then(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.patrols(30)
    world.store.place(failed(ref(31), ended_at=world.now, due_at=world.now))

    world.patrols(40)

    assert world.told() == [("opened", JOB), ("reminder", JOB)]
    assert "2026-01-05T00:00:00Z" in world.notifier.notices[1].body
    assert "2026-01-05T00:31:00Z" in world.notifier.notices[1].body
    world.succeed(pending(ref(80)))
    world.patrols(90)
    assert world.told()[2:] == [("closed", JOB)], "what is over is not told again"


def test_an_alert_that_can_close_when_its_reminder_is_due_closes(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.patrols(60)
    world.succeed(pending(ref(1)))

    world.patrols(5)

    assert world.told() == [("opened", JOB), ("closed", JOB)]


def test_the_schedulers_alert_is_not_acknowledged_as_if_it_were_a_jobs(world: World) -> None:
    with pytest.raises(OperationRefusedError, match="closes when its ticks complete again"):
        world.acknowledge(SCHEDULER)


def test_an_acknowledgement_that_always_meets_others_says_so(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.patrol()

    def others(call: str, when: str) -> None:
        if (call, when) == ("alerts.put", "before"):
            world.store.place(replace(world.alert(JOB), rev=world.alert(JOB).rev + 1))

    world.store.on_call(others)
    with pytest.raises(StoreError, match="others were in the way all the time"):
        world.acknowledge()
    assert world.alert(JOB).is_open


@pytest.mark.parametrize("reason", [GapReason.LATE, GapReason.CATCH_UP_LIMIT])
def test_i45_p25_times_that_no_run_exists_for_are_told_once(world: World, reason: GapReason) -> None:
    world.store.place(job_state(), gap(0, reason=reason))

    world.patrols(10)

    assert world.told() == [("opened", JOB)]
    assert "10 times, the last of them 2026-01-05T00:09:00.000Z, skipped" in world.notice().body
    assert world.alert(JOB).count == 10
    assert world.store.all_gaps() == [gap(0, reason=reason, notice=Notice.TOLD)]


def test_a_run_skipped_as_too_late_is_told(world: World) -> None:
    world.store.place(skipped(0, Reason.LATE, NOW))

    world.patrol()

    assert world.told() == [("opened", JOB)]
    assert "Skipped as too late" in world.notice().body
    assert world.telemetry.metrics[JOBS_MISSED] == 1


@pytest.mark.parametrize("reason", [Reason.SUPERSEDED, Reason.EXCLUDED, Reason.SAME_LOCAL_TIME])
def test_skips_that_are_nobodys_business_are_not_told(world: World, reason: Reason) -> None:
    world.store.place(replace(skipped(0, reason, NOW), notice=None, due_at=None))

    world.patrols(3)

    assert world.told() == []


# --- overlap ---


def test_i46_an_every_minute_job_that_takes_two_minutes_tells_nothing_as_long_as_it_succeeds(
    world: World,
) -> None:
    world.store.place(job_state(expect_by=NOW + timedelta(days=1)))

    def minute() -> None:
        number = (world.now - NOW) // MINUTE
        if number % 2 == 0:
            world.store.place(
                running(ref(number), expect_by=world.now + GRACE, claim_until=world.now + 3 * MINUTE)
            )
        else:
            world.store.place(skipped(number, Reason.OVERLAP, world.now))
            world.succeed(world.run(ref(number - 1)))

    world.patrols(150, minute)

    assert world.told() == []
    waiting = [run for run in world.store.all_runs() if run.notice is Notice.PENDING]
    assert len(waiting) <= 1, "skips of a job that works are settled as soon as it has succeeded"


def test_i46_one_notice_once_nothing_has_succeeded_for_an_hour(world: World) -> None:
    world.store.place(job_state(expect_by=NOW + timedelta(days=1)))
    world.store.place(running(ref(0), expect_by=None, claim_until=NOW + timedelta(days=1)))

    def minute() -> None:
        world.store.place(skipped((world.now - NOW) // MINUTE + 1, Reason.OVERLAP, world.now + MINUTE))

    world.patrols(60, minute)
    assert world.told() == []
    world.patrols(60, minute)

    assert world.told() == [("opened", JOB)]
    assert world.alert(JOB).times[0].trouble is Trouble.OVERLAP


def test_i46_skips_that_must_wait_do_not_stand_in_front_of_other_ends(world: World) -> None:
    many = [
        skipped(-minutes, Reason.OVERLAP, NOW - minutes * SECOND) for minutes in range(survey.ENDS_OF_A_JOB)
    ]
    world.store.place(*many, failed(ref(1)))

    world.patrols(2)

    assert world.told() == [("opened", JOB)]
    assert world.run(ref(1)).notice is Notice.TOLD


# --- what is not wrong ---


def test_i48_a_run_born_late_is_not_missed_at_birth(world: World) -> None:
    world.clock.set(NOW + 300 * MINUTE)
    world.store.place(pending(ref(0), created_at=world.now, expect_by=world.now + GRACE))

    world.until(world.now + GRACE)

    assert world.told() == []


def test_i48_backfilled_manual_and_queued_runs_are_not_watched(world: World) -> None:
    world.store.place(
        pending(ref(-60), trigger=Trigger.BACKFILL, expect_by=None),
        pending(ref(0, suffix="a1"), trigger=Trigger.MANUAL, expect_by=None),
        *(queued(ref(-minutes)) for minutes in range(100)),
    )

    world.patrols(120)

    assert world.told() == []


def test_i48_a_job_resumed_after_a_month_raises_nothing_while_it_is_caught_up(world: World) -> None:
    resumed = NOW + MINUTE
    world.store.place(
        job_state(
            planned_to=NOW - timedelta(days=30),
            next_at=NOW - timedelta(days=30) + MINUTE,
            resumed_at=resumed,
            due_at=resumed,
            expect_by=resumed + GRACE,
            held=Held.BEHIND,
        )
    )

    world.until(resumed + GRACE)

    assert world.told() == []


@pytest.mark.parametrize(
    "change",
    [
        {"paused": Pause(at=NOW, by="ann", why="holidays"), "due_at": None},
        {"removed_at": NOW, "due_at": None},
        {"next_at": None, "expect_by": None, "due_at": None},
    ],
    ids=["paused", "removed", "nothing to come"],
)
def test_a_job_that_has_left_the_index_is_not_overdue(world: World, change: dict[str, Any]) -> None:
    world.store.place(job_state(**change))

    world.patrols(40)

    assert world.told() == []


def test_p100_a_job_is_not_overdue_between_its_times(world: World) -> None:
    office = cron("*/5 6-23 * * *", tz="Europe/Amsterdam")
    first = datetime(2026, 1, 5, 5, 0, tzinfo=UTC)
    world.store.place(job_state(schedule=office, next_at=first, due_at=first, expect_by=first + GRACE))

    world.until(first + GRACE)

    assert world.told() == []


def test_a_line_of_the_index_is_never_told_without_a_look_at_the_item(world: World) -> None:
    """The index still shows both as they were a moment ago."""
    world.store.place(job_state(expect_by=NOW + MINUTE), running(ref(0), expect_by=NOW + MINUTE))
    world.clock.advance(2 * MINUTE)
    world.tick()
    world.store.place(
        job_state(planned_to=world.now, next_at=world.now + MINUTE, expect_by=world.now + GRACE)
    )
    world.succeed(running(ref(0)))
    assert world.watchdog().patrol().opened == ()

    assert world.told() == []


# --- closing, growing, opening again ---


def test_an_alert_closes_with_one_notice_when_its_run_succeeds_after_all(world: World) -> None:
    world.store.place(
        job_state(expect_by=NOW + timedelta(days=1)), running(ref(0), claim_until=NOW + timedelta(days=1))
    )
    world.until(NOW + GRACE + MINUTE)

    world.succeed(world.run(ref(0)))
    report = world.patrol()

    assert report.closed == (JOB,)
    assert world.told() == [("opened", JOB), ("closed", JOB)]
    assert world.telemetry.metrics[JOBS_MISSED] == 0
    assert world.patrols(5)[-1].told == ()


def test_an_alert_closes_when_a_later_scheduled_run_succeeds(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.patrol()

    world.clock.advance(10 * MINUTE)
    world.succeed(pending(ref(10)))
    world.patrol()

    assert world.told() == [("opened", JOB), ("closed", JOB)]


def test_an_alert_closes_when_the_last_of_the_missed_times_succeeds_and_superseded_the_others(
    world: World,
) -> None:
    world.store.place(pending(ref(0)), pending(ref(5)))
    world.until(NOW + GRACE + 6 * MINUTE)
    assert world.alert(JOB).count == 2

    world.store.place(skipped(0, Reason.SUPERSEDED, world.now))
    world.succeed(pending(ref(5)))

    assert world.patrol().closed == (JOB,)
    assert world.told() == [("opened", JOB), ("closed", JOB)]


def test_an_alert_closes_by_a_success_between_its_trouble_and_a_time_that_was_cancelled(
    world: World,
) -> None:
    world.store.place(failed(ref(0)), pending(ref(10)))
    world.until(NOW + GRACE + 11 * MINUTE)
    assert world.alert(JOB).count == 2

    world.store.place(
        pending(ref(10), status=RunStatus.CANCELLED, reason=Reason.OPERATOR, dispatch=None, due_at=None)
    )
    assert world.patrol().closed == ()
    world.succeed(pending(ref(5)))

    assert world.patrol().closed == (JOB,)


@pytest.mark.parametrize(
    "make",
    [
        lambda world: pending(ref(10)),
        lambda world: pending(ref(-10)),
        lambda world: pending(ref(10, suffix="a1"), trigger=Trigger.MANUAL),
        lambda world: pending(ref(10), trigger=Trigger.BACKFILL),
    ],
    ids=["not finished", "earlier", "manual", "backfilled"],
)
def test_nothing_less_closes_it(world: World, make: Callable[[World], RunRecord]) -> None:
    world.store.place(failed(ref(0)))
    world.patrols(15)
    other = make(world)
    world.store.place(other)
    if other != pending(ref(10)):
        world.succeed(other)

    world.patrols(3)

    assert world.told() == [("opened", JOB)]


def test_a_failed_backfill_is_not_made_good_by_a_success_that_was_there_before(world: World) -> None:
    world.succeed(pending(ref(-60)))
    world.clock.advance(30 * MINUTE)
    world.store.place(failed(ref(-90), trigger=Trigger.BACKFILL, ended_at=world.now))

    world.patrols(3)
    assert world.told() == [("opened", JOB)]

    world.succeed(pending(ref(30)))
    world.patrol()
    assert world.told() == [("opened", JOB), ("closed", JOB)]


def test_i9_a_job_removed_on_purpose_closes_its_alert(world: World) -> None:
    world.store.place(job_state(expect_by=NOW + timedelta(days=1)), failed(ref(0)))
    world.patrol()

    world.store.place(job_state(removed_at=world.now, due_at=None))
    world.patrol()

    assert world.told() == [("opened", JOB), ("closed", JOB)]
    assert world.notifier.notices[-1].subject == "Removed: daily-menu in shop-prod"


def test_i9_a_job_missing_while_a_module_is_broken_alarms(world: World) -> None:
    world.store.place(job_state(held=Held.UNAVAILABLE))

    world.until(NOW + MINUTE + GRACE + MINUTE)

    assert "its module jobs.daily_menu does not import" in world.notice().body


def test_an_alert_grows_with_reminders_alone_and_keeps_the_newest_fifty(world: World) -> None:
    world.store.place(job_state())

    world.until(NOW + 100 * MINUTE)

    alert = world.alert(JOB)
    assert world.told() == [("opened", JOB), ("reminder", JOB)]
    assert alert.count == 84, "00:01 to 01:24, each fifteen minutes late"
    assert [time.scheduled_at for time in alert.times] == [
        NOW + minutes * MINUTE for minutes in range(35, 85)
    ]
    assert world.patrol().missed == 1


def test_a_late_run_that_fails_in_the_end_is_one_time_not_two(world: World) -> None:
    world.store.place(running(ref(0), claim_until=NOW + timedelta(days=1)))
    world.until(NOW + GRACE + MINUTE)

    world.store.place(failed(ref(0), ended_at=world.now, due_at=world.now))
    report = world.patrol()

    assert world.told() == [("opened", JOB)]
    assert (world.alert(JOB).count, report.missed, report.failed) == (1, 0, 1)


def test_what_fails_again_within_an_hour_is_the_same_outage(world: World) -> None:
    for minutes in (0, 20, 40):
        world.until(NOW + minutes * MINUTE)
        world.store.place(failed(ref(minutes), ended_at=world.now, due_at=world.now))
        assert world.patrols(2)[0].failed == 1, "the alarm goes off again, although there is no new notice"
        world.until(NOW + (minutes + 10) * MINUTE)
        world.succeed(pending(ref(minutes + 10)))
        assert world.patrol().failed == 0

    assert world.told() == [("opened", JOB), ("closed", JOB)]
    assert world.alert(JOB).count == 3


def test_what_opens_again_is_on_the_gauge_for_a_minute_though_it_is_over_already(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.patrol()
    world.clock.advance(10 * MINUTE)
    world.succeed(pending(ref(1)))
    world.patrol()
    world.store.place(failed(ref(5), ended_at=world.now, due_at=world.now))
    world.succeed(pending(ref(6)))

    assert [report.failed for report in world.patrols(2)] == [1, 0]


def test_opened_again_and_not_over_within_an_hour_it_is_told(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.patrol()
    world.succeed(pending(ref(1)))
    world.patrol()
    world.store.place(failed(ref(2), ended_at=world.now, due_at=world.now))

    world.patrols(60)
    assert world.told() == [("opened", JOB), ("closed", JOB)]
    world.patrols(10)
    assert world.told() == [("opened", JOB), ("closed", JOB), ("reminder", JOB)]

    world.succeed(pending(ref(100)))
    world.patrols(40)
    assert world.told() == [("opened", JOB), ("closed", JOB), ("reminder", JOB), ("closed", JOB)]
    assert len({notice.id for notice in world.notifier.notices}) == 4


def test_what_fails_again_after_an_hour_is_a_new_alert(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.patrol()
    world.succeed(pending(ref(1)))
    world.patrols(65)
    world.store.place(failed(ref(70), ended_at=world.now, due_at=world.now))

    world.patrol()

    assert world.told() == [("opened", JOB), ("closed", JOB), ("opened", JOB)]
    assert world.alert(JOB).count == 1
    assert len({notice.id for notice in world.notifier.notices}) == 3


def test_a_run_that_hangs_on_is_told_once_though_later_ones_succeed(world: World) -> None:
    world.store.place(running(ref(0), claim_until=NOW + timedelta(days=1)))
    world.until(NOW + GRACE + MINUTE)
    world.succeed(pending(ref(20)))

    world.patrols(200)

    assert world.told() == [("opened", JOB), ("closed", JOB)]
    world.store.place(failed(ref(0), ended_at=world.now, due_at=world.now))
    world.patrol()
    assert world.told()[2:] == [("opened", JOB)], "its end is another matter"


# --- one bad record, one broken part ---


def test_an_unreadable_overdue_run_is_reported_told_and_delays_nobody(world: World) -> None:
    world.store.place(pending(ref(0)), pending(ref(0, job="other")))
    world.store.spoil(run_key(ref(0)))

    reports = world.until(NOW + GRACE + MINUTE)

    assert sorted(world.told()) == [("opened", JOB), ("opened", "other")]
    assert "Its record cannot be read" in next(n.body for n in world.notifier.notices if n.scope == JOB)
    assert reports[-1].complete
    assert reports[-1].unreadable == (f"run {ref(0).id}",)
    assert world.telemetry.metrics[ITEMS_UNREADABLE] == 1


def test_an_unreadable_job_is_reported_told_and_delays_nobody(world: World) -> None:
    world.store.place(job_state(), job_state("other"))
    world.store.spoil(job_key(JOB))

    world.until(NOW + 17 * MINUTE)

    assert sorted(world.told()) == [("opened", JOB), ("opened", "other")]
    assert world.telemetry.metrics[ITEMS_UNREADABLE] == 1


def test_an_unreadable_end_is_told_and_moved_out_of_the_way(world: World) -> None:
    world.store.place(failed(ref(0)), failed(ref(0, job="other")))
    world.store.spoil(run_key(ref(0)))

    reports = world.patrols(8)

    assert sorted(world.told()) == [("opened", JOB), ("opened", "other")]
    assert [len(report.unreadable) for report in reports] == [1, 0, 0, 0, 0, 0, 0, 0]


def test_an_unreadable_alert_keeps_both_alarms_up_and_leaves_the_end_to_be_told(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.patrol()
    world.store.spoil(("JOB#" + JOB, "ALERT"))
    world.store.place(failed(ref(1)), failed(ref(1, job="other")))

    report = world.patrol()

    assert (report.missed, report.failed) == (1, 2)
    assert world.told() == [("opened", JOB), ("opened", "other")]
    assert world.run(ref(1)).notice is Notice.PENDING
    assert world.run(ref(1, job="other")).notice is Notice.TOLD


@pytest.mark.parametrize(
    "call", ["index.due", "jobs.get_many", "runs.get_many", "alerts.get", "alerts.put", "lease.read"]
)
def test_a_part_that_cannot_be_done_leaves_no_heartbeat_and_no_claim_that_all_is_well(
    world: World, call: str
) -> None:
    world.store.place(job_state(expect_by=NOW + SECOND), failed(ref(0)))

    def refuse(name: str, when: str) -> None:
        if (name, when) == (call, "before"):
            raise StoreError("throttled")

    world.clock.advance(2 * MINUTE)
    world.tick()
    world.store.on_call(refuse)
    report = world.watchdog().patrol()
    world.store.on_call(None)

    assert not report.complete
    assert PATROL_COMPLETED not in world.telemetry.metrics
    assert 0 not in world.telemetry.metrics.values(), "no gauge says that all is well"
    world.patrol()
    assert world.told() == [("opened", JOB)], "nothing is lost"


def test_one_kind_of_run_that_cannot_be_read_does_not_keep_the_others_from_being_told(world: World) -> None:
    world.store.place(failed(ref(0)), pending(ref(0, job="other"), expect_by=NOW + SECOND))
    calls: list[str] = []

    def refuse_the_first_query(name: str, when: str) -> None:
        if (name, when) == ("runs.get_many", "before"):
            calls.append(name)
            if len(calls) == 1:
                raise StoreError("throttled")

    world.store.on_call(refuse_the_first_query)
    report = world.patrol()

    assert not report.complete
    assert world.told() == [("opened", JOB)]


def test_runs_that_are_not_late_are_not_read(world: World) -> None:
    world.store.place(*(pending(ref(minutes)) for minutes in range(50)))
    calls: list[str] = []

    world.store.on_call(lambda name, when: calls.append(name))
    world.patrol()

    assert [name for name in calls if name.startswith("runs.")] == []


def test_a_job_that_always_fails_does_not_delay_the_notices_of_another(world: World) -> None:
    world.store.place(
        *(failed(ref(-minutes), due_at=NOW - MINUTE) for minutes in range(250)), failed(ref(0, job="other"))
    )

    world.patrol()
    told = [run.ref.job for run in world.store.all_runs() if run.notice is Notice.TOLD]
    assert (told.count(JOB), told.count("other")) == (survey.ENDS_OF_A_JOB, 1)
    world.patrols(3)

    assert sorted(world.told()) == [("opened", JOB), ("opened", "other")]
    assert [run for run in world.store.all_runs() if run.notice is not Notice.TOLD] == []
    assert world.alert(JOB).count >= 100


def test_more_lines_than_a_patrol_reads_is_no_complete_patrol(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "ENTRIES", 3)
    world.store.place(*(pending(ref(minutes), expect_by=None) for minutes in range(3)))

    assert not world.patrol().complete


def test_a_host_with_a_wrong_clock_judges_nothing(world: World) -> None:
    world.store.place(failed(ref(0)), job_state(expect_by=NOW))
    world.store.clock.offset = timedelta(hours=-1)

    report = world.patrol()

    assert not report.complete
    assert world.told() == []
    assert world.telemetry.metrics == {}


def refusing(*calls: str) -> Callable[[str, str], None]:
    """The next call of each of these names does not reach the store."""
    left = list(calls)

    def hook(name: str, when: str) -> None:
        if name in left and when == "before":
            left.remove(name)
            raise StoreError(f"{name}: no answer")

    return hook


def test_a_host_that_has_no_answer_of_the_store_judges_nothing_by_its_own_clock(world: World) -> None:
    """An hour ahead, it would tell of a time that is not late; without an answer it cannot know."""
    world.store.place(job_state(expect_by=NOW + 30 * MINUTE, next_at=NOW + 15 * MINUTE), failed(ref(0)))
    world.clock.advance(timedelta(hours=1))
    world.store.on_call(refusing("lease.read", "alerts.get"))

    report = world.watchdog().patrol()

    assert report.problems == ("the scheduler's lease", "the store's clock")
    assert world.run(ref(0)).notice is Notice.PENDING
    assert world.told() == []
    assert world.telemetry.metrics == {}


@pytest.mark.parametrize("spoiled", [False, True])
def test_a_host_whose_look_at_the_lease_fails_checks_its_clock_by_the_next_answer(
    world: World, spoiled: bool
) -> None:
    """The skew is zero until the store answers: here it is known from the second call on."""
    world.store.place(job_state(expect_by=NOW + 30 * MINUTE, next_at=NOW + 15 * MINUTE), failed(ref(0)))
    world.patrol()
    told = world.told()
    if spoiled:
        world.store.spoil(("SCHEDULER", "ALERT"))
    refuse = refusing("lease.read")

    def answer(name: str, when: str) -> None:
        refuse(name, when)
        world.store.clock.offset = -timedelta(hours=1)

    world.clock.jump(timedelta(hours=1))
    world.store.on_call(answer)
    report = world.watchdog().patrol()

    assert not report.complete
    assert "clock" in report.problems
    assert world.told() == told == [("opened", JOB)]


def test_a_lease_that_cannot_be_reached_keeps_nobody_from_being_told(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.store.on_call(refusing("lease.read"))

    report = world.patrol()

    assert report.problems == ("the scheduler's lease",)
    assert world.told() == [("opened", JOB)]


# --- times that are on record although the job's item says that they are to come ---


def test_an_at_that_is_deployed_again_after_its_success_is_not_missed_until_a_tick_has_found_its_run(
    world: World,
) -> None:
    """The tick adopted it again and died before it planned; no other tick comes to it."""
    run = pending(ref(0))
    world.store.place(run)
    world.succeed(run)
    again: dict[str, Any] = {
        "planned_to": NOW - SECOND,
        "next_at": NOW,
        "due_at": NOW,
        "expect_by": NOW + MINUTE,
    }
    world.store.place(job_state(schedule=At(NOW).spec(), grace=MINUTE, **again))

    reports = world.patrols(5)

    assert world.told() == []
    assert all(report.complete and report.missed == 0 for report in reports)


def test_of_a_restored_job_only_the_times_without_a_record_are_missed(world: World) -> None:
    world.store.place(job_state(grace=MINUTE, expect_by=NOW + 2 * MINUTE))
    for minutes in (1, 2, 4):
        world.store.place(pending(ref(minutes)))
        world.succeed(world.run(ref(minutes)))

    world.patrols(7)

    assert [time.scheduled_at for time in world.alert(JOB).times] == [
        NOW + minutes * MINUTE for minutes in (3, 5)
    ]


def test_a_time_whose_record_is_late_itself_is_told_as_a_run_and_not_as_unplanned(world: World) -> None:
    world.store.place(job_state(grace=MINUTE, expect_by=NOW + 2 * MINUTE))
    world.store.place(pending(ref(1), expect_by=NOW + 2 * MINUTE))

    world.patrols(3)

    assert [time.detail for time in world.alert(JOB).times] == ["never started: no executor has claimed it"]


def test_only_so_many_records_are_looked_for_and_the_rest_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "RECORDS", 2)
    world.store.place(job_state(grace=MINUTE, expect_by=NOW + 2 * MINUTE))
    for minutes in (1, 2, 3):
        world.store.place(pending(ref(minutes)))
        world.succeed(world.run(ref(minutes)))
    world.clock.advance(4 * MINUTE)

    world.patrol()

    assert [time.scheduled_at for time in world.alert(JOB).times] == [NOW + 3 * MINUTE]


# --- telling ---


def test_i49_a_notice_that_cannot_be_published_is_told_by_the_next_patrol_under_the_same_id(
    world: World,
) -> None:
    world.store.place(failed(ref(0)))
    world.notifier.failures = 2

    reports = world.patrols(2)
    assert world.told() == []
    assert world.telemetry.metrics[NOTICES_FAILED] == 1
    assert all(report.complete for report in reports)
    world.patrols(3)

    assert world.told() == [("opened", JOB)]
    assert {notice.id for notice in world.notifier.refused} == {world.notice().id}


def test_a_notice_that_failed_need_not_wait_until_its_publisher_would_be_given_up(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.notifier.failures = 1
    world.patrol()

    world.clock.advance(5 * SECOND)
    world.watchdog().patrol()

    assert world.told() == [("opened", JOB)]


def test_what_was_over_before_anybody_could_be_told_is_told_all_the_same(world: World) -> None:
    world.store.place(failed(ref(0)))
    world.notifier.down = True
    world.patrol()
    world.succeed(pending(ref(1)))
    world.patrols(5)
    world.notifier.down = False

    world.patrols(2)

    assert world.told() == [("opened", JOB), ("closed", JOB)]


def test_a_new_failure_while_the_end_of_the_last_could_not_be_told_leaves_the_alert_open(
    world: World,
) -> None:
    world.store.place(failed(ref(0)))
    world.patrol()
    world.succeed(pending(ref(1)))
    world.notifier.down = True
    world.patrol()
    world.store.place(failed(ref(5), ended_at=world.now, due_at=world.now))
    world.patrol()
    world.notifier.down = False

    world.patrols(3)

    assert world.alert(JOB).is_open
    assert world.told() == [("opened", JOB)], "nobody was told that it had closed"


def test_i50_the_watchdog_of_one_stack_says_nothing_about_another(world: World) -> None:
    other = World()
    other.store.place(failed(ref(0)))

    world.patrols(3)
    other.patrols(3)

    assert (world.told(), world.telemetry.metrics[JOBS_FAILED]) == ([], 0)
    assert (other.told(), other.telemetry.metrics[JOBS_FAILED]) == ([("opened", JOB)], 1)
