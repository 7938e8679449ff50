"""How long a worker trusts its claim, and how it is renewed.

Invariants:
- a worker stops at its next call on the run once its claim cannot be trusted, whichever clock says so;
- trust counts from before the call that claimed or renewed; a renewal never passes timeout or invocation;
- a host with a wrong clock claims nothing; one whose clock is set later goes on by its monotonic one;
- no renewal thread outlives its invocation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronce.core.changes import left_running
from cronce.core.claim import CLAIM_TTL, RENEW_EVERY
from cronce.core.errors import StoreError
from cronce.core.records import RunRef
from cronce.core.retry import Retry
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.held_claim import Moment, SteadyClock
from cronce.engine.renewal import RenewalThread
from cronce.engine.run_handle import Run
from cronce.testing import RecordingTelemetry
from tests.scenarios.run_world import (
    MINUTE,
    NOON,
    SECOND,
    World,
    kill,
    no_more,
)


@pytest.fixture
def world() -> World:
    return World()


def finish(status: RunStatus, **values: Any) -> Callable[[World, RunRef], None]:
    """Somebody else moves the run on while its worker stands still."""

    def act(world: World, ref: RunRef) -> None:
        gone = left_running(world.run(ref), world.clock.now())
        world.store.place(replace(gone, status=status, rev=gone.rev + 1, **values))

    return act


@pytest.mark.parametrize("offset", [6 * SECOND, -6 * SECOND, 90 * SECOND, -timedelta(hours=1)])
def test_i28_a_host_with_a_wrong_clock_claims_nothing(world: World, offset: timedelta) -> None:
    world.declare(lambda run: pytest.fail("it must not run"))
    ref = world.plan()
    world.store.clock.offset = offset
    assert world.execute(ref).outcome is Outcome.LEFT
    assert world.run(ref).status is RunStatus.PENDING
    assert [line.name for line in world.telemetry.warnings] == ["claim.clock_skew"]


@pytest.mark.parametrize("offset", [5 * SECOND, -5 * SECOND])
def test_a_host_whose_clock_is_nearly_right_claims_by_the_earlier_one(
    world: World, offset: timedelta
) -> None:
    ends: list[object] = []
    world.declare(lambda run: ends.append(world.run(RunRef.parse(run.id)).claim_until))
    world.store.clock.offset = offset
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert ends == [NOON + min(offset, timedelta(0)) + CLAIM_TTL]


def test_i29_a_machine_that_stood_still_notices_before_its_next_effect(world: World) -> None:
    effects: list[str] = []

    def job(run: Run) -> None:
        run.step("one", lambda: effects.append("one"))
        world.clock.jump(2 * MINUTE)
        no_more(run)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST
    assert effects == ["one"]


def test_i29_a_machine_that_stood_still_while_it_looked_its_step_up_leaves_it_to_the_next_worker(
    world: World,
) -> None:
    effects: list[str] = []

    def stands_still(call: str, when: str) -> None:
        if (call, when) == ("steps.load", "after"):
            world.store.on_call(None)
            world.clock.jump(3 * MINUTE)
            world.sweep()
            world.clock.jump(2 * MINUTE)
            world.sweep()
            assert world.execute(ref).outcome is Outcome.SUCCEEDED

    world.declare(lambda run: run.step("charge", lambda: effects.append(f"token {run.fencing_token}")))
    ref = world.plan()
    kill(world, ref)  # the next attempt has steps to look up
    world.clock.advance(71 * SECOND)
    world.sweep()
    world.clock.advance(MINUTE)
    world.sweep()
    world.store.on_call(stands_still)
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert effects == ["token 3"]


def test_a_wall_clock_that_is_set_back_does_not_lengthen_the_trust(world: World) -> None:
    def job(run: Run) -> None:
        world.clock.advance(46 * SECOND)
        world.clock.jump(-timedelta(hours=1))
        no_more(run)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST


def test_a_wall_clock_that_is_set_back_does_not_shorten_the_renewed_claim(world: World) -> None:
    """Simulation, seed 401619: it was taken over while its worker trusted it."""
    ends: list[object] = []

    def job(run: Run) -> None:
        world.clock.jump(-timedelta(hours=1))
        world.work(RENEW_EVERY + SECOND)
        ends.append(world.run(RunRef.parse(run.id)).claim_until)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert ends == [NOON + RENEW_EVERY + CLAIM_TTL]


@pytest.mark.parametrize("jump", [timedelta(hours=-1), timedelta(seconds=40)])
def test_what_a_run_leaves_behind_keeps_to_the_time_of_its_claim_though_the_clock_is_set(
    world: World, jump: timedelta
) -> None:
    """A wall clock that is set forward counts as time that has passed: a machine may have stood still."""

    def job(run: Run) -> None:
        world.clock.jump(jump)
        run.step("one", int)
        raise ValueError("this is meant")

    world.declare(job, retry=Retry(attempts=2, base=10 * SECOND, cap=10 * SECOND))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.RETRYING
    passed = max(jump, timedelta(0))
    (one,) = world.store.steps.load(ref)
    assert one.at == NOON + passed
    assert world.run(ref).attempt_ended_at == NOON + passed
    due_at = world.run(ref).due_at
    assert due_at is not None
    assert NOON + passed <= due_at <= NOON + passed + 10 * SECOND


def test_a_clock_that_is_set_forward_is_followed_and_set_right_it_is_never_before_the_time_since(
    world: World,
) -> None:
    steady = SteadyClock(since=Moment.of(world.clock), clock=world.clock)
    world.work(MINUTE)
    world.clock.jump(timedelta(hours=1))
    ahead = Moment.of(steady)
    assert ahead.wall == NOON + MINUTE + timedelta(hours=1)
    world.clock.jump(-timedelta(hours=1))
    world.work(SECOND)
    assert steady.now() == NOON + MINUTE + SECOND
    assert ahead.elapsed(steady) == SECOND  # what trust and timeout are counted by
    world.clock.jump(-timedelta(hours=1))
    assert steady.now() == NOON + MINUTE + SECOND


def test_trust_ends_fifteen_seconds_before_the_claim_and_counts_from_before_the_call(world: World) -> None:
    effects: list[str] = []

    def slow_claim(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before") and not effects:
            effects.append("claiming")
            world.clock.advance(10 * SECOND)

    def job(run: Run) -> None:
        world.clock.advance(34 * SECOND)
        run.step("one", lambda: effects.append("at 44 s"))
        world.clock.advance(SECOND)
        no_more(run)

    world.declare(job)
    ref = world.plan()
    world.store.on_call(slow_claim)
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert effects == ["claiming", "at 44 s"]


def test_p36_a_function_that_computes_for_long_keeps_its_claim_by_renewals(world: World) -> None:
    def job(run: Run) -> None:
        world.work(10 * MINUTE)
        assert world.sweep().looked_at == 1
        run.step("end", int)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED


def test_a_refused_renewal_closes_the_handle_at_once(world: World) -> None:
    def job(run: Run) -> None:
        finish(RunStatus.FAILED, reason=Reason.LOST)(world, RunRef.parse(run.id))
        assert world.renewal.renew() is False
        no_more(run)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST


def test_a_renewal_without_an_answer_closes_nothing_until_trust_has_passed(world: World) -> None:
    def down(call: str, when: str) -> None:
        if call == "runs.renew":
            raise StoreError("no route to host")

    def job(run: Run) -> None:
        world.store.on_call(down)
        world.clock.advance(RENEW_EVERY)
        with pytest.raises(StoreError):
            world.renewal.renew()
        run.step("one", int)
        world.clock.advance(25 * SECOND)
        no_more(run)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST


def test_p55_a_renewal_after_the_end_is_nothing_to_report(world: World) -> None:
    world.declare(lambda run: None)
    ref = world.plan()
    world.execute(ref)
    before = world.run(ref)
    assert world.renewal.renew() is False
    assert world.run(ref) == before
    assert world.telemetry.warnings == []


def test_a_renewal_extends_nothing_but_the_claim_and_never_past_timeout_or_invocation(world: World) -> None:
    def job(run: Run) -> None:
        ref = RunRef.parse(run.id)
        before = world.run(ref)
        world.clock.advance(RENEW_EVERY)
        assert world.renewal.renew()
        after = world.run(ref)
        assert after == replace(before, claim_until=NOON + 80 * SECOND, rev=before.rev + 1)
        world.work(40 * SECOND)
        assert world.run(ref).claim_until == NOON + 90 * SECOND

    world.declare(job, timeout="90s")
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    world.declare(lambda run: None, "short")
    run = world.execute(world.plan(world.clock.now(), "short"), lasts=20 * SECOND)
    assert run.outcome is Outcome.SUCCEEDED


def test_the_renewal_thread_renews_until_the_block_is_left_and_has_ended_then() -> None:
    renewed = threading.Event()
    calls: list[int] = []

    def renew() -> bool:
        calls.append(1)
        renewed.set()
        return True

    thread = RenewalThread(telemetry=RecordingTelemetry(), every=0.001)
    with thread.renewing(renew):
        assert renewed.wait(10)
    assert "claim-renewal" not in {one.name for one in threading.enumerate()}
    assert calls


def test_the_renewal_thread_survives_a_store_error_and_stops_when_there_is_nothing_to_renew() -> None:
    telemetry = RecordingTelemetry()
    answers = iter([None, True, False])
    over = threading.Event()

    def renew() -> bool:
        answer = next(answers)
        if answer is None:
            raise StoreError("no answer")
        if not answer:
            over.set()
        return answer

    with RenewalThread(telemetry=telemetry, every=0.001).renewing(renew):
        assert over.wait(10)
    assert [line.name for line in telemetry.warnings] == ["claim.renewal_failed"]
    assert next(answers, "none left") == "none left"


def test_the_real_renewal_thread_keeps_a_run_alive_and_is_gone_after_it(world: World) -> None:
    renewals = threading.Event()

    def count(call: str, when: str) -> None:
        if (call, when) == ("runs.renew", "after"):
            renewals.set()

    world.declare(lambda run: run.step("wait", renewals.wait, 10))
    ref = world.plan()
    world.store.on_call(count)
    executor = replace(world.executor(), renewal=RenewalThread(telemetry=world.telemetry, every=0.001))
    assert executor.execute(ref, world.invocation()).outcome is Outcome.SUCCEEDED
    assert [one.name for one in threading.enumerate() if one.name == "claim-renewal"] == []
