"""Runs that are not, or not yet, to start.

Invariants:
- a run whose job is not deployed or does not import waits a quarter of an hour, and spends no attempt;
- a run or job item that is missing or cannot be read stops nobody else, and is counted;
- the policies of lateness hold at the claim.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest

from cronce.core.run import Notice, Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.job_loader import LoadProblem
from cronce.engine.metrics import ITEMS_UNREADABLE
from cronce.engine.run_handle import Run
from cronce.testing import job_key, run_key
from tests.scenarios.run_world import MINUTE, NAME, NOON, World


@pytest.fixture
def world() -> World:
    return World()


def test_a_job_that_is_not_deployed_fails_after_a_quarter_of_an_hour_not_before(world: World) -> None:
    world.declare(lambda run: None)
    world.loaded.clear()
    ref = world.plan()
    assert world.deliver()[0].outcome is Outcome.UNKNOWN_JOB
    waiting = world.run(ref)
    assert (waiting.status, waiting.due_at) == (RunStatus.WAITING, NOON + 15 * MINUTE)
    assert waiting.error == "job 'menu' is not in this deployment"
    assert world.minutes(14) == []
    world.minutes(2)
    run = world.run(ref)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.UNKNOWN_JOB)
    assert run.error == "job 'menu' is not in this deployment"
    assert run.attempt == 0


def test_i1_a_module_that_is_repaired_in_time_costs_its_run_no_attempt(world: World) -> None:
    done: list[int] = []
    good = world.declare(lambda run: done.append(run.attempt))
    world.loaded[NAME] = LoadProblem("jobs.menu does not import: SyntaxError")
    ref = world.plan()
    world.deliver()
    assert (
        world.telemetry.named("job.unknown")[0].fields["problem"] == "jobs.menu does not import: SyntaxError"
    )
    world.loaded[NAME] = good
    world.minutes(16)
    assert (done, world.run(ref).status) == ([1], RunStatus.SUCCEEDED)


def test_a_job_that_vanishes_after_a_failed_attempt_leaves_that_attempts_error_on_record(
    world: World,
) -> None:
    def job(run: Run) -> None:
        raise ValueError("no eggs")

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.loaded.clear()
    world.minutes(2)
    assert world.run(ref).error == "job 'menu' is not in this deployment"
    assert [kept.error for kept in world.store.steps.attempts(ref)] == ["ValueError: no eggs"]
    world.declare(lambda run: None)
    world.minutes(16)
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 2)
    assert [kept.error for kept in world.store.steps.attempts(ref)] == ["ValueError: no eggs"]


def test_a_module_that_stays_broken_fails_its_run_with_the_reason(world: World) -> None:
    world.declare(lambda run: None)
    world.loaded[NAME] = LoadProblem("jobs.menu does not import: SyntaxError")
    ref = world.plan()
    world.deliver()
    world.minutes(16)
    run = world.run(ref)
    assert (run.status, run.error) == (RunStatus.FAILED, "jobs.menu does not import: SyntaxError")


def test_i8_a_run_whose_job_item_is_gone_stays_pending_until_it_is_back(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id))
    ref = world.plan()
    item = world.store.items()[job_key(NAME)]
    world.store.remove(job_key(NAME))
    assert world.deliver()[0].outcome is Outcome.LEFT
    assert world.run(ref).status is RunStatus.PENDING
    world.store.place(item)
    world.minutes(3)
    assert done == [ref.id]


def test_a_job_item_that_cannot_be_read_leaves_the_run_pending_and_is_counted(world: World) -> None:
    world.declare(lambda run: None)
    ref = world.plan()
    world.store.spoil(job_key(NAME))
    assert world.execute(ref).outcome is Outcome.LEFT
    assert world.telemetry.metrics == {ITEMS_UNREADABLE: 1}


def test_a_run_that_cannot_be_read_is_a_quiet_end_and_is_counted(world: World) -> None:
    world.declare(lambda run: None)
    ref = world.plan()
    world.store.spoil(run_key(ref))
    assert world.execute(ref).outcome is Outcome.NOT_PENDING
    assert world.telemetry.metrics == {ITEMS_UNREADABLE: 1}


def test_a_late_run_is_skipped_at_its_claim_and_told(world: World) -> None:
    world.declare(lambda run: pytest.fail("it must not run"), catch_up="skip", grace="10m")
    ref = world.plan()
    world.clock.advance(11 * MINUTE)
    assert world.execute(ref).outcome is Outcome.NOT_STARTED
    run = world.run(ref)
    assert (run.status, run.reason, run.notice) == (RunStatus.SKIPPED, Reason.LATE, Notice.PENDING)


def test_a_backlog_does_not_escape_latest(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id), planned_to=NOON + timedelta(hours=2))
    refs = [world.plan(NOON + timedelta(hours=hour)) for hour in range(3)]
    world.clock.advance(timedelta(hours=2))
    world.deliver()
    assert [world.run(ref).reason for ref in refs] == [Reason.SUPERSEDED, Reason.SUPERSEDED, None]
    assert done == [refs[2].id]


def weekend(day: date) -> bool:
    return day.weekday() >= 5


def test_the_last_run_before_an_excluded_weekend_is_not_superseded_by_it(world: World) -> None:
    done: list[str] = []
    friday, saturday = datetime(2026, 1, 9, 23, tzinfo=UTC), datetime(2026, 1, 10, tzinfo=UTC)
    world.clock.set(friday)
    world.declare(lambda run: done.append(run.id), exclude=weekend, planned_to=saturday)
    ref = world.plan(friday)
    world.clock.set(saturday + 20 * MINUTE)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert done == [ref.id]


def never_answers(day: date) -> bool:
    while True:
        pass


def breaks(day: date) -> bool:
    sys.exit("no calendar today")


@pytest.mark.parametrize("calendar", [never_answers, breaks])
def test_a_calendar_that_fails_at_the_claim_supersedes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, calendar: Callable[[date], bool]
) -> None:
    monkeypatch.setattr("cronce.engine.claims.CALENDAR_LIMIT", 0.1)
    world.declare(lambda run: None, exclude=calendar, planned_to=NOON + 60 * MINUTE)
    ref = world.plan()
    world.clock.advance(80 * MINUTE)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert len(world.telemetry.named("calendar.failed")) == 1
