"""Claims while workers stop, stand still, come twice, or have wrong clocks.

Invariants:
- at most one live claim per run; a worker that lost it records nothing, ends nothing, frees nothing;
- a worker stops at its next call on the run as soon as its claim cannot be trusted, by whichever clock;
- a stop signal is raised again at every later call, in `finally` blocks too;
- a duplicate dispatch is a quiet end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronce.core import moves
from cronce.core.claim import CLAIM_TTL, RENEW_EVERY
from cronce.core.errors import Cancelled, ClaimLost, OutOfTime, StopSignal, StoreError
from cronce.core.records import RunRef
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.renewal import RenewalThread
from cronce.engine.run_handle import Run
from cronce.testing import RecordingTelemetry
from tests.scenarios.run_world import LONG, MINUTE, NAME, NOON, RETENTION, SECOND, World


@pytest.fixture
def world() -> World:
    return World()


def no_more(run: Run, kind: type[StopSignal] = ClaimLost) -> None:
    """Whatever is called on it, the handle raises the same signal."""
    for _ in range(3):
        with pytest.raises(kind):
            run.step("late", pytest.fail, "it must not be executed")
        with pytest.raises(kind):
            run.each("late", [1], pytest.fail)


def while_stopped(world: World, meanwhile: Callable[[RunRef], object]) -> list[str]:
    """A stops between two effects for three minutes, in which something happens; then it goes on."""
    effects: list[str] = []

    def job(run: Run) -> None:
        if run.attempt > 1:
            effects.append("B")
            return
        run.step("one", lambda: effects.append("A one"))
        world.clock.advance(3 * MINUTE)
        meanwhile(RunRef.parse(run.id))
        run.step("two", lambda: effects.append("A two"))
        effects.append("A end")

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST
    return effects


def test_p42_i25_one_event_delivered_twice_is_one_execution(world: World) -> None:
    done: list[str] = []
    invocation = world.invocation(request_id="the same")
    twin = replace(invocation, owner="twin")

    def job(run: Run) -> None:
        done.append(run.id)
        second = world.executor().execute(RunRef.parse(run.id), twin)
        assert second.outcome is Outcome.NOT_PENDING

    world.declare(job)
    ref = world.plan()
    assert world.executor().execute(ref, invocation).outcome is Outcome.SUCCEEDED
    assert world.executor().execute(ref, twin).outcome is Outcome.NOT_PENDING
    assert done == [ref.id]
    assert world.telemetry.warnings == []


def test_i25_two_workers_that_both_read_a_pending_run_do_not_both_claim_it(world: World) -> None:
    done: list[str] = []
    outcomes: list[Outcome] = []
    together = threading.Barrier(2, timeout=10)

    def meet(call: str, when: str) -> None:
        if (call, when) == ("runs.get", "after"):
            together.wait()

    def work(number: int) -> None:
        twin = replace(world.invocation(request_id="the same"), owner=f"twin-{number}")
        outcomes.append(world.executor().execute(ref, twin).outcome)

    world.declare(lambda run: done.append(run.id))
    ref = world.plan()
    world.store.on_call(meet)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [ref.id]
    assert sorted(outcomes) == [Outcome.NOT_PENDING, Outcome.SUCCEEDED]


def finish(status: RunStatus, **values: Any) -> Callable[[World, RunRef], None]:
    """Somebody else moves the run on while its worker stands still."""

    def act(world: World, ref: RunRef) -> None:
        gone = moves.left_running(world.run(ref), world.clock.now())
        world.store.place(replace(gone, status=status, rev=gone.rev + 1, **values))

    return act


ELSEWHERE: dict[str, Callable[[World, RunRef], None]] = {
    "failed as lost": finish(RunStatus.FAILED, reason=Reason.LOST),
    "failed as timed out": finish(RunStatus.FAILED, reason=Reason.TIMEOUT),
    "cancelled": finish(RunStatus.CANCELLED, reason=Reason.OPERATOR),
    "waiting": finish(RunStatus.WAITING, reason=Reason.BACKOFF, due_at=NOON + 9 * MINUTE),
    "pending again": finish(RunStatus.PENDING, slice=0, due_at=NOON + 9 * MINUTE),
    "swept": lambda world, ref: world.sweep(),
}


@pytest.mark.parametrize("how", ELSEWHERE)
def test_i23_a_stopped_worker_that_wakes_up_does_nothing_more(world: World, how: str) -> None:
    after: list[object] = []

    def meanwhile(ref: RunRef) -> None:
        ELSEWHERE[how](world, ref)
        after.append((world.run(ref), world.slots()))

    effects = while_stopped(world, meanwhile)
    ref = RunRef(NAME, NOON)
    assert effects == ["A one"]
    assert (world.run(ref), world.slots()) == after[0]


@pytest.mark.parametrize("how", ELSEWHERE)
def test_i23_the_store_refuses_the_end_of_a_worker_that_trusts_its_claim_wrongly(
    world: World, how: str
) -> None:
    after: list[object] = []

    def job(run: Run) -> None:
        if run.attempt == 1:
            world.clock.advance(3 * MINUTE)
            ELSEWHERE[how](world, RunRef.parse(run.id))
            after.append(world.run(RunRef.parse(run.id)))

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert world.run(ref) == after[0]


def test_p37_the_run_is_that_of_the_second_worker(world: World) -> None:
    effects: list[str] = []

    def job(run: Run) -> None:
        me = f"token {run.fencing_token}"
        run.step("one", lambda: effects.append(f"{me} one"))
        if run.attempt == 1:
            world.clock.advance(3 * MINUTE)
            world.minutes(3)
        run.step("two", lambda: effects.append(f"{me} two"))
        run.step("three", lambda: effects.append(f"{me} three"))

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert effects == ["token 1 one", "token 2 two", "token 2 three"]
    run = world.run(ref)
    assert (run.status, run.attempt, run.fencing_token) == (RunStatus.SUCCEEDED, 2, 2)
    assert run.last_owner != "worker-1"


def test_i24_a_worker_declared_lost_within_its_step_does_not_believe_it_was_recorded(world: World) -> None:
    effects: list[str] = []

    def slow() -> None:
        effects.append("slow")
        # Renewed on the way, so the worker trusts its claim; then declared lost by somebody with a fast clock.
        world.work(30 * SECOND)
        run = world.run(RunRef(NAME, NOON))
        world.store.place(
            replace(moves.lost(run, world.clock.now(), MINUTE, RETENTION), rev=run.rev + 1)
        )

    def job(run: Run) -> None:
        if run.attempt > 1:
            run.step("slow", lambda: effects.append("again"))
            return
        with pytest.raises(ClaimLost):
            run.step("slow", slow)
        no_more(run)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert world.store.steps.load(ref) == []
    world.minutes(3)
    assert effects == ["slow", "again"]


def test_i27_a_step_recorded_just_before_the_takeover_is_seen_by_the_next_worker(world: World) -> None:
    effects: list[str] = []

    def job(run: Run) -> None:
        run.step("one", lambda: effects.append("one"))
        if run.attempt == 1:
            world.clock.advance(90 * SECOND)
            run.step("two", lambda: effects.append("two"))

    # The claim is still LIVE in the store until the sweep: what A records at the last moment must be seen by B.
    world.declare(job)
    ref = world.plan()
    world.execute(ref)
    world.minutes(2)
    assert effects == ["one"]
    assert world.run(ref).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("offset", [6 * SECOND, -6 * SECOND, 90 * SECOND, -timedelta(hours=1)])
def test_i28_a_host_with_a_wrong_clock_claims_nothing(world: World, offset: timedelta) -> None:
    world.declare(lambda run: pytest.fail("it must not run"))
    ref = world.plan()
    world.store.clock.offset = offset
    assert world.execute(ref).outcome is Outcome.LEFT
    assert world.run(ref).status is RunStatus.PENDING
    assert [line.name for line in world.telemetry.warnings] == ["clock_skew"]


@pytest.mark.parametrize("offset", [5 * SECOND, -5 * SECOND])
def test_a_host_whose_clock_is_nearly_right_claims_by_the_earlier_one(world: World, offset: timedelta) -> None:
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


def test_a_wall_clock_that_is_set_back_does_not_lengthen_the_trust(world: World) -> None:
    def job(run: Run) -> None:
        world.clock.advance(46 * SECOND)
        world.clock.jump(-timedelta(hours=1))
        no_more(run)

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST


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


def test_p36_without_renewals_the_end_is_a_clean_lost_claim(world: World) -> None:
    def job(run: Run) -> None:
        if run.attempt == 1:
            world.clock.advance(3 * MINUTE)
            world.minutes(3)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 2)
    assert world.slots().held == frozenset()


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


def test_i32_a_bare_except_swallows_the_signal_once_and_finally_gets_it_too(world: World) -> None:
    signals: list[str] = []

    def job(run: Run) -> None:
        world.clock.advance(MINUTE)
        try:
            try:
                run.step("one", pytest.fail)
            except:  # noqa: E722 - what careless jobs do
                signals.append("swallowed")
            run.step("two", pytest.fail)
        finally:
            try:
                run.step("tidy", pytest.fail)
            except ClaimLost as again:
                signals.append(str(again))
                raise

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.CLAIM_LOST
    assert signals == [
        "swallowed",
        "run menu@2026-01-05T12:00:00Z: the claim was not renewed in time and can no longer be trusted",
    ]


def test_i32_a_job_that_swallows_every_signal_and_returns_is_no_success(world: World) -> None:
    def job(run: Run) -> None:
        run.step("one", int)
        world.clock.advance(MINUTE)
        try:
            run.step("two", pytest.fail)
        except BaseException:  # noqa: BLE001 - what careless jobs do
            return

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert world.run(ref).status is RunStatus.RUNNING


def ask_to_cancel(world: World, ref: RunRef) -> None:
    """What an operator's command writes while the run is RUNNING."""
    run = world.run(ref)
    world.store.place(replace(run, cancel_requested=True, rev=run.rev + 1))


def test_a_cancel_request_arrives_with_the_renewal_and_stops_the_job_at_its_next_call(world: World) -> None:
    effects: list[str] = []

    def job(run: Run) -> None:
        run.step("one", lambda: effects.append("one"))
        ask_to_cancel(world, RunRef.parse(run.id))
        world.work(30 * SECOND)
        no_more(run, Cancelled)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CANCELLED
    run = world.run(ref)
    assert (run.status, run.reason, run.notice) == (RunStatus.CANCELLED, Reason.OPERATOR, None)
    assert (effects, world.slots().held) == (["one"], frozenset())


def test_p38_a_step_under_way_is_recorded_before_the_job_stops(world: World) -> None:
    def slow(run: Run) -> None:
        ask_to_cancel(world, RunRef.parse(run.id))
        world.work(30 * SECOND)

    def job(run: Run) -> None:
        run.step("slow", slow, run)
        no_more(run, Cancelled)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CANCELLED
    assert [step.name for step in world.store.steps.load(ref)] == ["slow"]


def test_a_cancel_request_that_comes_too_late_does_not_undo_a_success(world: World) -> None:
    def job(run: Run) -> None:
        ask_to_cancel(world, RunRef.parse(run.id))
        world.renewal.renew()

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED


def test_a_cancel_request_survives_the_workers_own_writes_and_ends_the_run_before_its_next_attempt(
    world: World,
) -> None:
    def job(run: Run) -> None:
        ask_to_cancel(world, RunRef.parse(run.id))
        raise ValueError

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.RETRYING
    world.minutes(2)
    run = world.run(ref)
    assert (run.status, run.attempt) == (RunStatus.CANCELLED, 1)
    assert world.slots().held == frozenset()


def test_p45_the_timeout_stops_the_job_at_its_next_call_and_fails_the_run(world: World) -> None:
    def job(run: Run) -> None:
        run.step("one", int)
        world.work(5 * MINUTE)
        no_more(run, OutOfTime)

    world.declare(job, timeout="5m")
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.FAILED
    run = world.run(ref)
    assert (run.reason, run.executed, run.attempt) == (Reason.TIMEOUT, 5 * MINUTE, 1)
    assert world.slots().held == frozenset()


def test_p45_a_function_that_sleeps_for_ever_while_it_renews_is_timed_out_by_the_sweep(world: World) -> None:
    def job(run: Run) -> None:
        world.work(6 * MINUTE)
        assert world.sweep().lost == 1
        world.work(LONG)

    world.declare(job, timeout="5m")
    ref = world.plan()
    assert world.execute(ref, lasts=60 * MINUTE).outcome is Outcome.CLAIM_LOST
    run = world.run(ref)
    assert (run.status, run.reason, run.executed) == (RunStatus.FAILED, Reason.TIMEOUT, 5 * MINUTE)
    assert world.slots().held == frozenset()


def test_the_timeout_counts_all_attempts_and_slices(world: World) -> None:
    def job(run: Run) -> None:
        world.work(2 * MINUTE)
        run.step(f"try {run.attempt}", int)
        raise ValueError

    world.declare(job, timeout="5m")
    ref = world.plan()
    world.minutes(6)
    run = world.run(ref)
    assert (run.reason, run.executed, run.attempt) == (Reason.TIMEOUT, 5 * MINUTE, 3)
    assert [step.name for step in world.store.steps.load(ref)] == ["try 1", "try 2"]
    world.declare(lambda run: pytest.fail("no time left"), "late", timeout="5m")
    late = world.plan(world.clock.now(), "late", executed=5 * MINUTE)
    assert world.execute(late).outcome is Outcome.NOT_STARTED
    assert world.run(late).reason is Reason.TIMEOUT


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
    answers = iter([StoreError("no answer"), True, False])
    over = threading.Event()

    def renew() -> bool:
        answer = next(answers)
        if isinstance(answer, StoreError):
            raise answer
        if not answer:
            over.set()
        return answer

    with RenewalThread(telemetry=telemetry, every=0.001).renewing(renew):
        assert over.wait(10)
    assert [line.name for line in telemetry.warnings] == ["renewal_failed"]
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
