"""Runs that are not, or not yet, to start.

Invariants:
- a run whose job is not deployed or does not import waits a quarter of an hour, spends no attempt, and starts
within two minutes once the job is back;
- a run or job item that is missing or cannot be read stops nobody else, and is counted;
- the policies of lateness hold at the claim.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cronce.core import moves
from cronce.core.records import RunRef
from cronce.core.run import Notice, Reason, RunStatus
from cronce.core.schedule import Cron
from cronce.engine.executor import Outcome
from cronce.engine.job_loader import LoadProblem
from cronce.engine.metrics import ITEMS_UNREADABLE
from cronce.engine.run_handle import Run
from cronce.testing import job_key, run_key
from tests.scenarios.run_world import HOUR, MINUTE, NAME, NOON, World


@pytest.fixture
def world() -> World:
    return World()


def test_a_job_that_is_not_deployed_fails_after_a_quarter_of_an_hour_not_before(world: World) -> None:
    world.declare(lambda run: None)
    world.loaded.clear()
    ref = world.plan()
    assert world.deliver()[0].outcome is Outcome.UNKNOWN_JOB
    waiting = world.run(ref)
    assert (waiting.status, waiting.due_at) == (RunStatus.WAITING, NOON + MINUTE)
    assert waiting.error == "job 'menu' is not in this deployment"
    assert {done.outcome for done in world.minutes(14)} == {Outcome.UNKNOWN_JOB}
    assert world.clock.now() < NOON + 15 * MINUTE
    assert (world.run(ref).status, world.run(ref).due_at) == (RunStatus.WAITING, NOON + 15 * MINUTE)
    world.minutes(1)
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
    world.minutes(5)
    assert done == []
    world.loaded[NAME] = good
    world.minutes(2)
    assert (done, world.run(ref).status) == ([1], RunStatus.SUCCEEDED)


def test_i1_a_job_that_comes_and_goes_has_its_wait_from_when_it_was_first_missed(world: World) -> None:
    good = world.declare(lambda run: None)
    world.loaded.clear()
    ref = world.plan()
    world.deliver()
    assert world.run(ref).unknown_since == NOON
    world.minutes(10)
    assert world.run(ref).unknown_since == NOON
    world.loaded[NAME] = replace(good, function=fails)
    world.minutes(1)
    assert (world.run(ref).attempt, world.run(ref).unknown_since) == (1, None)
    world.loaded.clear()
    world.minutes(14)
    assert not world.run(ref).status.is_final, "it has its wait anew"
    world.minutes(4)
    assert world.run(ref).reason is Reason.UNKNOWN_JOB


def fails(run: Run) -> None:
    raise ValueError("no eggs")


@pytest.mark.parametrize("stream", [True, False])
def test_the_sweep_that_notes_its_dispatch_does_not_keep_an_unknown_job_from_being_noted(
    world: World, *, stream: bool
) -> None:
    world.declare(lambda run: None)
    world.loaded.clear()
    ref = world.plan()
    noted: list[RunRef] = []

    def note(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before") and not noted:
            noted.append(ref)
            world.store.place(moves.redispatched(world.run(ref), NOON, accepted=stream))
            world.store.place(replace(world.run(ref), rev=world.run(ref).rev + 1))

    world.store.on_call(note)
    assert world.execute(ref).outcome is Outcome.UNKNOWN_JOB
    assert world.run(ref).status is RunStatus.WAITING


def test_an_unknown_job_whose_run_somebody_else_has_claimed_is_left_to_that_one(world: World) -> None:
    good = world.declare(lambda run: None)
    world.loaded.clear()
    ref = world.plan()
    claims: list[RunRef] = []

    def claim(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before") and not claims:
            claims.append(ref)
            world.loaded[NAME] = good
            assert world.execute(ref).outcome is Outcome.SUCCEEDED

    world.store.on_call(claim)
    assert world.execute(ref).outcome is Outcome.NOT_PENDING
    assert world.run(ref).status is RunStatus.SUCCEEDED


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
    world.declare(lambda run: pytest.fail("it must not run"), catch_up="skip")
    ref = world.plan()
    world.clock.advance(16 * MINUTE)
    assert world.execute(ref).outcome is Outcome.NOT_STARTED
    run = world.run(ref)
    assert (run.status, run.reason, run.notice) == (RunStatus.SKIPPED, Reason.LATE, Notice.PENDING)


def test_a_backlog_does_not_escape_latest(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id), planned_to=NOON + 2 * HOUR)
    refs = [plan_on_time(world, hour) for hour in range(3)]
    world.clock.set(NOON + 2 * HOUR)
    world.deliver()
    assert [world.run(ref).reason for ref in refs] == [Reason.SUPERSEDED, Reason.SUPERSEDED, None]
    assert done == [refs[2].id]


def plan_on_time(world: World, hour: int, **values: Any) -> RunRef:
    at = NOON + hour * HOUR
    return world.plan(at, created_at=at, **values)


def test_a_run_is_not_superseded_by_a_time_that_nobody_planned(world: World) -> None:
    world.declare(lambda run: None)
    ref = world.plan()
    world.clock.advance(40 * MINUTE)
    world.declare(lambda run: None, schedule=Cron("30 * * * *"), planned_to=world.clock.now())
    assert world.execute(ref).outcome is Outcome.SUCCEEDED


def test_a_schedule_that_names_no_later_time_any_more_does_not_let_a_backlog_pass(world: World) -> None:
    world.declare(lambda run: pytest.fail("it must not run"), planned_to=NOON + HOUR)
    refs = [plan_on_time(world, hour) for hour in range(2)]
    world.clock.set(NOON + 80 * MINUTE)
    world.declare(lambda run: None, schedule=Cron("0 6 * * *"), planned_to=world.clock.now())
    assert [world.execute(ref).outcome for ref in refs] == [Outcome.NOT_STARTED, Outcome.SUCCEEDED]


def test_what_was_started_by_hand_since_supersedes_nothing(world: World) -> None:
    world.declare(lambda run: None, planned_to=NOON + HOUR)
    ref = world.plan()
    world.clock.advance(80 * MINUTE)
    for number in range(30):
        world.manual(f"m{number}", NOON + 30 * MINUTE)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED


def test_the_last_run_before_excluded_days_is_not_superseded_by_them(world: World) -> None:
    world.declare(lambda run: None, planned_to=NOON + 60 * HOUR)
    ref = world.plan()
    excluded = {"status": RunStatus.SKIPPED, "reason": Reason.EXCLUDED, "dispatch": None, "due_at": None}
    for hour in range(1, 61):
        plan_on_time(world, hour, **excluded)
    world.clock.set(NOON + 60 * HOUR)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED


def test_a_newer_run_behind_many_that_are_excluded_supersedes_all_the_same(world: World) -> None:
    world.declare(lambda run: None, planned_to=NOON + 60 * HOUR)
    ref = world.plan()
    excluded = {"status": RunStatus.SKIPPED, "reason": Reason.EXCLUDED, "dispatch": None, "due_at": None}
    plan_on_time(world, 1)
    for hour in range(2, 61):
        plan_on_time(world, hour, **excluded)
    world.clock.set(NOON + 60 * HOUR)
    assert world.execute(ref).outcome is Outcome.NOT_STARTED
    assert world.run(ref).reason is Reason.SUPERSEDED


def test_a_claim_in_time_does_not_look_for_newer_runs(world: World) -> None:
    calls: list[str] = []
    world.declare(lambda run: None, planned_to=NOON + HOUR)
    ref = world.plan()
    world.clock.advance(15 * MINUTE)
    world.store.on_call(lambda call, when: calls.append(call))
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert "runs.runs" not in calls
