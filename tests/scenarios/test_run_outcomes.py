"""What becomes of a run when its job's function has ended.

Invariants:
- a job's failure is data: nothing raises out of the executor but a store that does not answer;
- attempts are spent by failures only, with backoff, and every one leaves a record;
- a write whose reply was lost is recognised.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from cronce.core.errors import ClaimLost, PermanentError, StoreError
from cronce.core.retry import Retry, RetryAfter
from cronce.core.run import Notice, Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.metrics import RUNS_FAILED, RUNS_SUCCEEDED
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import NOON, RETENTION, SECOND, World


@pytest.fixture
def world() -> World:
    return World()


def raises(error: BaseException) -> Callable[[Run], None]:
    def job(run: Run) -> None:
        raise error

    return job


def test_a_run_that_returns_is_a_success_and_frees_its_slot(world: World) -> None:
    def job(run: Run) -> None:
        assert world.slots().held == {run.id}
        world.clock.advance(5 * SECOND)

    world.declare(job)
    execution = world.execute(world.plan())
    run = execution.run
    assert run is not None
    assert execution.outcome is Outcome.SUCCEEDED
    assert world.slots().held == frozenset()
    assert (run.status, run.executed, run.last_owner) == (RunStatus.SUCCEEDED, 5 * SECOND, "worker-1")
    assert run.forget_at == NOON + 5 * SECOND + RETENTION
    assert world.telemetry.metrics == {RUNS_SUCCEEDED: 1}


def test_a_failing_run_is_tried_three_times_with_backoff_and_told(world: World) -> None:
    world.declare(raises(ValueError("no eggs")))
    ref = world.plan()
    assert world.deliver()[0].outcome is Outcome.RETRYING
    first = world.run(ref)
    assert (first.status, first.reason, first.error) == (
        RunStatus.WAITING,
        Reason.BACKOFF,
        "ValueError: no eggs",
    )
    assert first.due_at == NOON + 30 * SECOND
    assert world.slots().held == {ref.id}
    assert [one.outcome for one in world.minutes(3)] == [Outcome.RETRYING, Outcome.FAILED]
    run = world.run(ref)
    assert (run.status, run.reason, run.attempt, run.notice) == (
        RunStatus.FAILED,
        Reason.ERROR,
        3,
        Notice.PENDING,
    )
    assert world.slots().held == frozenset()
    assert world.telemetry.metrics[RUNS_FAILED] == 1
    kept = world.store.steps.attempts(ref)
    assert [(one.number, one.outcome, one.error) for one in kept] == [
        (1, "error", "ValueError: no eggs"),
        (2, "error", "ValueError: no eggs"),
    ]


def test_the_traceback_is_a_line_of_the_log(world: World) -> None:
    world.declare(raises(ValueError("no eggs")))
    world.execute(world.plan())
    (line,) = world.telemetry.named("attempt.failed")
    assert "test_run_outcomes.py" in str(line.fields["traceback"])
    assert line.warning


def test_a_permanent_error_ends_the_run_at_once(world: World) -> None:
    world.declare(raises(PermanentError("account closed")))
    run = world.execute(world.plan()).run
    assert run is not None
    assert (run.status, run.attempt, run.error) == (
        RunStatus.FAILED,
        1,
        "PermanentError: account closed",
    )


def test_retry_after_says_when_and_spends_an_attempt(world: World) -> None:
    world.declare(raises(RetryAfter(timedelta(hours=2))), retry=Retry(attempts=2))
    ref = world.plan()
    run = world.execute(ref).run
    assert run is not None
    assert (run.status, run.due_at) == (RunStatus.WAITING, NOON + timedelta(hours=2))
    world.clock.advance(timedelta(hours=2))
    world.minute()
    assert world.run(ref).status is RunStatus.FAILED


@pytest.mark.parametrize(
    "ending", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), ClaimLost("made up by the job")]
)
def test_i7_leaving_the_process_is_a_failed_attempt(world: World, ending: BaseException) -> None:
    world.declare(raises(ending))
    assert world.execute(world.plan()).outcome is Outcome.RETRYING


def test_sys_exit_is_named_in_the_record(world: World) -> None:
    world.declare(lambda run: sys.exit("config missing"))
    run = world.execute(world.plan()).run
    assert run is not None
    assert run.error == "SystemExit: config missing"


def test_an_exception_that_cannot_be_printed_is_still_a_record(world: World) -> None:
    def refuse(_: object) -> str:
        raise RuntimeError("not even this")

    mute = type("Mute", (Exception,), {"__str__": refuse})
    world.declare(raises(mute()))
    run = world.execute(world.plan()).run
    assert run is not None
    assert run.error == "Mute: (it cannot be printed)"


def test_a_long_error_is_kept_with_the_attempt(world: World) -> None:
    world.declare(raises(ValueError("x" * 10_000)), retry=Retry(attempts=1))
    ref = world.plan()
    run = world.execute(ref).run
    assert run is not None
    assert run.error is not None
    assert (len(run.error.encode()), run.error[-1], run.error_kept) == (200, "…", True)
    (kept,) = world.store.steps.attempts(ref)
    assert kept.error is not None
    assert (kept.number, len(kept.error.encode()), kept.error[-1]) == (1, 4096, "…")


async def asynchronous(run: Run) -> None:
    raise AssertionError("nobody awaits this")


def generator(run: Run) -> Iterator[int]:
    yield 1


@pytest.mark.parametrize("job", [asynchronous, generator])
def test_a_function_that_would_execute_nothing_is_no_success(
    world: World, job: Callable[[Run], object]
) -> None:
    def calls_it(run: Run) -> object:
        return job(run)  # a declaration refuses the function itself

    world.declare(calls_it)
    run = world.execute(world.plan()).run
    assert run is not None
    assert (run.status, run.attempt) == (RunStatus.FAILED, 1)
    assert run.error is not None
    assert "nothing of it was executed" in run.error


def test_a_store_that_does_not_answer_is_the_only_thing_that_raises(world: World) -> None:
    done: list[str] = []

    def job(run: Run) -> None:
        try:
            run.step("send", lambda: done.append("sent"))
        except Exception:  # noqa: BLE001 - what careless jobs do
            done.append("swallowed")
        done.append("went on")

    def down(call: str, when: str) -> None:
        if call == "steps.record":
            raise StoreError("no route to host")

    world.declare(job)
    ref = world.plan()
    world.store.on_call(down)
    with pytest.raises(StoreError, match="no route to host"):
        world.execute(ref)
    assert done == ["sent"]
    assert world.run(ref).status is RunStatus.RUNNING


def test_a_step_record_whose_reply_was_lost_is_recognised(world: World) -> None:
    losses = iter([True])

    def lossy(call: str, when: str) -> None:
        if (call, when) == ("steps.record", "after") and next(losses, False):
            raise StoreError("connection reset")

    done: list[str] = []
    world.declare(lambda run: run.step("send", lambda: done.append("sent")))
    ref = world.plan()
    world.store.on_call(lossy)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert done == ["sent"]


@pytest.mark.parametrize("lost", [1, 2])
def test_a_claim_or_an_end_whose_reply_was_lost_is_recognised(world: World, lost: int) -> None:
    writes = iter(range(1, 10))

    def lossy(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "after") and next(writes) == lost:
            raise StoreError("connection reset")

    done: list[str] = []
    world.declare(lambda run: done.append(run.id))
    ref = world.plan()
    world.store.on_call(lossy)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert done == [ref.id]
    assert (world.slots().held, world.slots().fencing_token) == (frozenset(), 1)


@pytest.mark.parametrize("delay", ["soon", 30, -SECOND, "-5m"])
def test_a_retry_after_that_says_no_time_fails_the_attempt_with_what_it_takes(
    world: World, delay: Any
) -> None:
    def job(run: Run) -> None:
        raise RetryAfter(delay)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.RETRYING
    assert "RetryAfter" in (world.run(ref).error or "")


def test_a_retry_after_takes_text_as_every_other_duration_does() -> None:
    assert RetryAfter("1h30m").delay == timedelta(minutes=90)
