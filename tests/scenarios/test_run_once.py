"""`run.once`: a step that is never repeated by itself.

Invariants:
- it is recorded as started, under the claim, before its function is called, and the claim is still trusted
  then;
- started and not known to have ended: the run ends FAILED(step_uncertain), whatever the job does about it,
  and names the step;
- the function says `NotDone`: nothing has happened, and the usual rules of retry apply.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

import pytest

from cronce.core.errors import (
    ClaimLost,
    DuplicateStepError,
    NotDone,
    OutOfTime,
    StepError,
    StepUncertainError,
)
from cronce.core.records import RunRef, StepRecord, StepStatus
from cronce.core.retry import Retry
from cronce.core.run import Notice, Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import (
    LONG,
    MINUTE,
    NOON,
    SECOND,
    Killed,
    World,
    ask_to_cancel,
    dead,
    no_more,
)


@pytest.fixture
def world() -> World:
    return World(jitter=0.0)


def step_of(world: World, ref: RunRef, name: str = "charge") -> StepRecord | None:
    return next((step for step in world.store.steps.load(ref) if step.name == name), None)


def status_of(world: World, ref: RunRef) -> StepStatus | None:
    step = step_of(world, ref)
    return step.status if step else None


def check_uncertain(world: World, ref: RunRef, because: str) -> None:
    """The run has ended, is to be told, and its error names the step."""
    run = world.run(ref)
    assert (run.status, run.reason, run.notice) == (RunStatus.FAILED, Reason.STEP_UNCERTAIN, Notice.PENDING)
    assert run.error is not None
    assert run.error.startswith("step 'charge' was started and nobody knows whether it was done: ")
    assert because in run.error
    assert status_of(world, ref) is StepStatus.STARTED
    assert world.slots().held == frozenset()


def broken(*_: object) -> NoReturn:
    raise ConnectionError("no answer")


def test_it_is_done_once_and_its_value_is_looked_up_in_the_next_attempt(world: World) -> None:
    charged: list[str] = []
    values: list[object] = []

    def charge(amount: int, *, idempotency_key: str) -> dict[str, int]:
        charged.append(idempotency_key)
        return {"amount": amount}

    def job(run: Run) -> None:
        values.append(run.once("charge", charge, 5))
        if run.attempt == 1:
            raise ValueError("later")

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.minutes(2)
    assert charged == [f"shop/{ref.id}/charge"]
    assert values == [{"amount": 5}] * 2
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert status_of(world, ref) is StepStatus.DONE


def test_before_its_function_is_called_the_store_has_it_as_started_with_the_invocations_end(
    world: World,
) -> None:
    seen: list[StepRecord | None] = []
    ref = RunRef("menu", NOON)
    world.declare(lambda run: run.once("charge", lambda: seen.append(step_of(world, ref))))
    assert world.execute(world.plan(), lasts=10 * MINUTE).outcome is Outcome.SUCCEEDED
    (step,) = seen
    assert step is not None
    assert (step.status, step.until, step.owner) == (StepStatus.STARTED, NOON + 10 * MINUTE, "worker-1")


def test_p51_a_worker_that_dies_within_it_leaves_it_to_a_person(world: World) -> None:
    charged: list[int] = []

    def charge() -> None:
        charged.append(1)
        world.store.on_call(dead)
        raise Killed

    world.declare(lambda run: run.once("charge", charge))
    ref = world.plan()
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    world.minutes(10)
    assert charged == [1]
    check_uncertain(world, ref, "its worker was lost")
    assert world.run(ref).attempt == 2


@pytest.mark.parametrize("error", [ConnectionError("no answer"), SystemExit(1), KeyboardInterrupt()])
def test_an_exception_out_of_it_means_that_nobody_knows(world: World, error: BaseException) -> None:
    def charge() -> None:
        raise error

    world.declare(lambda run: run.once("charge", charge), retry=Retry(attempts=5))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.FAILED
    check_uncertain(world, ref, type(error).__name__)
    assert world.run(ref).attempt == 1
    (line,) = world.telemetry.named("step.uncertain")
    assert line.warning
    assert type(error).__name__ in str(line.fields["traceback"])


def test_a_job_that_swallows_it_changes_nothing(world: World) -> None:
    def job(run: Run) -> None:
        for _ in range(3):
            try:
                run.once("charge", broken)
            except Exception:  # noqa: BLE001, S112 - what careless jobs do
                continue
        with pytest.raises(StepUncertainError, match="'charge'"):
            run.step("ship", pytest.fail, "it must not be executed")

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.FAILED
    check_uncertain(world, ref, "ConnectionError: no answer")


def test_a_value_that_cannot_be_kept_leaves_a_step_that_was_done_and_is_asked_about(world: World) -> None:
    world.declare(lambda run: run.once("charge", set))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.FAILED
    check_uncertain(world, ref, "StepResultNotSerializableError")


def test_not_done_is_a_failure_like_any_other_and_the_step_is_free_again(world: World) -> None:
    asked: list[int] = []

    def charge() -> str:
        asked.append(1)
        if len(asked) < 3:
            raise NotDone("the bank is closed")
        return "paid"

    world.declare(lambda run: run.once("charge", charge), retry=Retry(attempts=3))
    ref = world.plan()
    assert [one.outcome for one in world.deliver()] == [Outcome.RETRYING]
    assert status_of(world, ref) is StepStatus.NOT_DONE
    assert world.run(ref).error == "NotDone: the bank is closed"
    world.minutes(5)
    run = world.run(ref)
    assert (run.status, run.attempt, len(asked)) == (RunStatus.SUCCEEDED, 3, 3)


def test_not_done_may_be_caught_and_the_step_called_again_in_the_same_attempt(world: World) -> None:
    banks = iter(["closed", "open"])

    def charge() -> str:
        bank = next(banks)
        if bank == "closed":
            raise NotDone
        return bank

    def job(run: Run) -> None:
        with pytest.raises(NotDone):
            run.once("charge", charge)
        assert run.once("charge", charge) == "open"

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert status_of(world, ref) is StepStatus.DONE


def test_a_run_without_a_further_attempt_ends_as_lost_and_still_asks_when_it_is_retried(world: World) -> None:
    def charge() -> None:
        world.store.on_call(dead)
        raise Killed

    world.declare(lambda run: run.once("charge", charge), retry=Retry(attempts=1))
    ref = world.plan()
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    world.minutes(3)
    assert (world.run(ref).status, world.run(ref).reason) == (RunStatus.FAILED, Reason.LOST)
    assert status_of(world, ref) is StepStatus.STARTED


def test_a_start_whose_reply_takes_longer_than_the_claim_is_trusted_calls_nothing(world: World) -> None:
    """Within that time another worker may have found it started, and a person may have resolved it."""

    def slow(call: str, when: str) -> None:
        if (call, when) == ("steps.record", "after"):
            world.store.on_call(None)
            world.clock.advance(50 * SECOND)

    def job(run: Run) -> None:
        with pytest.raises(ClaimLost):
            run.once("charge", pytest.fail, "it must not be executed")
        no_more(run)

    world.declare(job)
    ref = world.plan()
    world.store.on_call(slow)
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert status_of(world, ref) is StepStatus.NOT_DONE


def test_i30_a_starter_that_was_paused_before_the_call_does_not_charge_beside_the_redone_step(
    world: World,
) -> None:
    charged: list[str] = []

    def paused(call: str, when: str) -> None:
        """A's start is recorded; A stands still while B finds it, and a person says: redo."""
        if (call, when) == ("steps.record", "after"):
            world.store.on_call(None)
            world.clock.jump(LONG + 2 * MINUTE)
            world.sweep()
            world.clock.jump(MINUTE)
            world.sweep()
            assert world.execute(ref).outcome is Outcome.FAILED
            check_uncertain(world, ref, "its worker was lost")
            world.operations().resolve(ref, "charge", None, by="ann", why="the bank has no such payment")
            assert world.execute(ref).outcome is Outcome.SUCCEEDED

    world.declare(lambda run: run.once("charge", lambda: charged.append(f"attempt {run.attempt}")))
    ref = world.plan()
    world.store.on_call(paused)
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert charged == ["attempt 3"]
    assert status_of(world, ref) is StepStatus.DONE


def test_a_start_that_is_refused_calls_nothing(world: World) -> None:
    def job(run: Run) -> None:
        stolen = world.run(RunRef.parse(run.id))
        world.store.place(replace(stolen, owner="another", fencing_token=9, rev=stolen.rev + 1))
        with pytest.raises(ClaimLost):
            run.once("charge", pytest.fail, "it must not be executed")

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert status_of(world, ref) is None


def test_out_of_time_between_the_start_and_the_call_leaves_it_to_the_next_slice(world: World) -> None:
    charged: list[int] = []

    def slow(call: str, when: str) -> None:
        if (call, when) == ("steps.record", "after") and world.run(ref).slice == 1:
            world.clock.advance(6 * SECOND)

    def job(run: Run) -> None:
        if run.attempt == 1 and world.run(ref).slice == 1:
            run.step("prepare", int)
            world.work(34 * SECOND)
            with pytest.raises(OutOfTime):
                run.once("charge", pytest.fail, "it must not be executed")
            no_more(run, OutOfTime)
        run.once("charge", lambda: charged.append(1))

    world.declare(job)
    ref = world.plan()
    world.store.on_call(slow)
    assert [one.outcome for one in world.deliver(MINUTE)] == [Outcome.CONTINUES]
    assert status_of(world, ref) is StepStatus.NOT_DONE
    assert [one.outcome for one in world.deliver()] == [Outcome.SUCCEEDED]
    assert (charged, world.run(ref).attempt) == ([1], 1)


def test_a_start_alone_is_no_progress(world: World) -> None:
    """Else a run whose time is always over between the two would go on for ever, at no attempt's cost."""

    def slow(call: str, when: str) -> None:
        if (call, when) == ("steps.record", "after"):
            world.clock.advance(44 * SECOND)

    world.declare(lambda run: run.once("charge", pytest.fail), retry=Retry(attempts=2))
    ref = world.plan()
    world.store.on_call(slow)
    world.deliver(55 * SECOND)
    for _ in range(3):
        world.minute(55 * SECOND)
    assert (world.run(ref).status, world.run(ref).reason) == (RunStatus.FAILED, Reason.NO_PROGRESS)


def test_an_unknown_outcome_is_told_although_an_operator_had_cancelled_the_run(world: World) -> None:
    def charge(run: Run) -> None:
        ask_to_cancel(world, RunRef.parse(run.id))
        world.renewal.renew()
        run.step("inside", int)

    world.declare(lambda run: run.once("charge", charge, run))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.FAILED
    check_uncertain(world, ref, "Cancelled")


def test_a_function_that_the_timeout_interrupts_within_it_is_uncertain_not_only_late(world: World) -> None:
    def endless() -> NoReturn:
        while True:
            pass

    world.declare(lambda run: run.once("charge", endless), timeout="1s")
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.FAILED
    check_uncertain(world, ref, "TimeLimitExceeded")


def test_a_claim_lost_meanwhile_outranks_the_unknown_outcome(world: World) -> None:
    def charge() -> NoReturn:
        world.clock.advance(MINUTE)
        run = world.run(ref)
        world.store.place(replace(run, owner="another", fencing_token=9, rev=run.rev + 1))
        world.renewal.renew()
        raise ConnectionError

    raised: list[type[BaseException]] = []

    def job(run: Run) -> None:
        try:
            run.once("charge", charge)
        except BaseException as error:
            raised.append(type(error))
            raise

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CLAIM_LOST
    assert raised == [ClaimLost]
    assert world.run(ref).owner == "another"


@pytest.mark.parametrize("present", ["renamed", "removed"])
def test_a_started_step_is_asked_about_although_its_name_is_gone(world: World, present: str) -> None:
    charged: list[int] = []

    def charge() -> None:
        charged.append(1)
        world.store.on_call(dead)
        raise Killed

    def renamed(run: Run) -> None:
        run.once("pay", charged.append, 2)

    def removed(run: Run) -> None:
        run.step("ship", charged.append, 3)

    world.declare(lambda run: run.once("charge", charge))
    ref = world.plan()
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    world.declare({"renamed": renamed, "removed": removed}[present])
    world.minutes(5)
    assert charged == [1]
    check_uncertain(world, ref, "its worker was lost")


def test_a_finished_once_that_was_renamed_is_done_again_under_its_new_name(world: World) -> None:
    charged: list[str] = []

    def before(run: Run) -> None:
        run.once("charge", charged.append, "charge")
        raise ValueError

    world.declare(before)
    world.plan()
    world.deliver()
    world.declare(lambda run: run.once("pay", charged.append, "pay"))
    world.minutes(2)
    assert charged == ["charge", "pay"]


@pytest.mark.parametrize("was, now", [("once", "step"), ("step", "once")])
def test_a_finished_step_may_change_between_step_and_once(world: World, was: str, now: str) -> None:
    done: list[str] = []

    def charge(way: str) -> str:
        done.append(way)
        return way

    def job(run: Run) -> None:
        way = was if run.attempt == 1 else now
        assert getattr(run, way)("charge", charge, way) == was
        if run.attempt == 1:
            raise ValueError

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.minutes(2)
    assert (done, world.run(ref).status) == ([was], RunStatus.SUCCEEDED)


def test_what_was_not_done_at_most_once_may_be_done_as_an_ordinary_step(world: World) -> None:
    def nothing() -> NoReturn:
        raise NotDone

    def job(run: Run) -> None:
        if run.attempt == 1:
            run.once("charge", nothing)
        run.step("charge", str, "paid")

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.minutes(2)
    step = step_of(world, ref)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert step is not None
    assert (step.status, step.result) == (StepStatus.DONE, '"paid"')


def test_names_are_shared_with_steps_and_it_stands_in_no_step(world: World) -> None:
    def job(run: Run) -> None:
        run.step("charge", int)
        with pytest.raises(DuplicateStepError, match="'charge' already"):
            run.once("charge", int)
        with pytest.raises(StepError, match="'inner' inside step 'outer'"):
            run.step("outer", lambda: run.once("inner", int))
        with pytest.raises(StepError, match="takes a function, not 5"):
            run.once("five", 5)  # type: ignore[arg-type]

    world.declare(job)
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
