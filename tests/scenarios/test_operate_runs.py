"""An operator ends runs and brings them back, beside workers, the sweep and other operators.

Invariants:
- a run that is retried goes on at the step that failed, and takes its turn among the others;
- a run that is cancelled frees its slot and its place in the queue, and the next one has it with the same
  write; a worker that has the run learns of it;
- whoever is first, run, slots, queue and markers agree afterwards, and the second decides on what is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import NoReturn

import pytest

from cronce.core.acts import What
from cronce.core.errors import Cancelled, JobNotFoundError, OperationRefusedError, PermanentError, StoreError
from cronce.core.records import RunRef, Slots
from cronce.core.retry import Retry
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.operations import RunAnswer
from cronce.engine.run_handle import Run
from cronce.testing import job_key
from tests.scenarios.run_world import DAY, HOUR, LONG, MINUTE, NAME, NOON, SECOND, Gauge, World, kill, running


@pytest.fixture
def world() -> World:
    return World(jitter=0.0)


def retry(world: World, ref: RunRef, by: str = "ann") -> None:
    world.operations().retry(ref, by=by, why="the bank is back")


def cancel(world: World, ref: RunRef, by: str = "bob") -> RunAnswer:
    return world.operations().cancel(ref, by=by, why="not today")


def agree(world: World, name: str = NAME) -> None:
    """Slots, markers and runs say the same."""
    runs = [run for run in world.store.all_runs() if run.ref.job == name]
    waiting = [run.ref for run in runs if run.is_queued]
    slots = world.slots(name)
    assert (slots.queued, world.store.markers(name)) == (len(waiting), waiting)
    unended = {run.ref.id for run in runs if not run.status.is_final}
    assert slots.held <= unended


class Kitchen:
    """A job of three steps whose second one fails until it is repaired."""

    def __init__(self) -> None:
        self.broken = True
        self.done: list[str] = []

    def job(self, run: Run) -> None:
        for name in ("wash", "cook", "serve"):
            run.step(name, self.work, name)

    def work(self, name: str) -> None:
        if name == "cook" and self.broken:
            raise PermanentError("no gas")
        self.done.append(name)


def failed(world: World, kitchen: Kitchen, **options: object) -> RunRef:
    world.declare(kitchen.job, **options)  # type: ignore[arg-type]
    ref = world.plan()
    assert [one.outcome for one in world.deliver()] == [Outcome.FAILED]
    kitchen.broken = False
    return ref


def never(run: Run) -> NoReturn:
    pytest.fail(f"{run.id} was executed")


# --- retry --------------------------------------------------------------------------------------------------


def test_a_retried_run_goes_on_at_the_step_that_failed(world: World) -> None:
    kitchen = Kitchen()
    ref = failed(world, kitchen)

    after = world.operations().retry(ref, by="ann", why="the gas is back")

    assert world.run(ref) == replace(after, rev=after.rev + 1)
    assert [one.outcome for one in world.deliver()] == [Outcome.SUCCEEDED], "the stream told the dispatcher"
    assert kitchen.done == ["wash", "cook", "serve"]
    run = world.run(ref)
    assert (run.attempt, run.max_attempts, run.forget_at is not None) == (2, 3, True)
    assert run.act is not None
    assert (run.act.what, run.act.by, run.act.why) == (What.RETRY, "ann", "the gas is back")
    assert [kept.number for kept in world.store.steps.attempts(ref)] == [1], "what failed is kept"


def test_a_retry_whose_reply_was_missed_while_the_run_went_on_is_done(world: World) -> None:
    kitchen = Kitchen()
    ref = failed(world, kitchen)

    def goes_on(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "after"):
            world.store.on_call(None)
            world.deliver()
            raise StoreError("no answer")

    world.store.on_call(goes_on)
    retry(world, ref)

    assert (world.run(ref).status, kitchen.done) == (RunStatus.SUCCEEDED, ["wash", "cook", "serve"])


def test_a_run_whose_attempts_are_used_up_has_one_more(world: World) -> None:
    kitchen = Kitchen()
    ref = failed(world, kitchen, retry=Retry(attempts=1))
    kitchen.broken = True

    retry(world, ref)
    world.deliver()
    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.FAILED, 2)
    kitchen.broken = False
    world.clock.advance(SECOND)
    retry(world, ref)
    world.deliver()

    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.SUCCEEDED, 3)
    first = world.store.steps.acts(ref.id)
    assert [(act.what, act.by) for act in first] == [(What.RETRY, "ann")]


def test_a_run_that_timed_out_has_its_timeout_again_and_that_of_the_job_as_it_is_now(world: World) -> None:
    def job(run: Run) -> None:
        run.step("first half", world.work, 8 * MINUTE)
        run.step("second half", world.work, 8 * MINUTE)
        run.step("end", int)

    world.declare(job, timeout=10 * MINUTE)
    ref = world.plan()
    world.execute(ref, HOUR)
    assert world.run(ref).reason is Reason.TIMEOUT
    world.declare(job, timeout=30 * MINUTE)

    retry(world, ref)
    world.deliver(HOUR)

    run = world.run(ref)
    assert (run.status, run.timeout) == (RunStatus.SUCCEEDED, 30 * MINUTE)


def test_i40_a_retried_run_takes_turns_with_todays(world: World) -> None:
    kitchen, gauge = Kitchen(), Gauge(world)
    old = failed(world, kitchen)
    order: list[str] = []

    def job(run: Run) -> None:
        if run.scheduled_at == NOON + HOUR:
            retry(world, old)
            assert Outcome.QUEUED in [one.outcome for one in world.deliver()]
            agree(world)
        gauge.look()
        order.append(run.id)

    world.declare(job)
    today = world.plan(NOON + HOUR)
    world.execute(today)
    world.deliver()

    assert order == [today.id, old.id]
    assert world.run(old).status is RunStatus.SUCCEEDED
    agree(world)


def test_a_skipped_run_that_is_retried_runs_whatever_the_policies_say(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id), catch_up="skip")
    ref = world.plan(NOON - DAY, created_at=NOON - DAY)
    assert world.execute(ref).outcome is Outcome.NOT_STARTED
    assert world.run(ref).reason is Reason.LATE

    retry(world, ref)
    world.deliver()

    assert done == [ref.id]


def test_a_run_of_a_job_that_is_gone_is_not_retried(world: World) -> None:
    kitchen = Kitchen()
    ref = failed(world, kitchen)
    state = world.store.jobs.get(NAME)
    assert state is not None
    world.store.place(replace(state, removed_at=NOON))

    with pytest.raises(OperationRefusedError, match=r"job menu was removed.*deploy it first"):
        retry(world, ref)
    world.store.remove(job_key(NAME))
    with pytest.raises(JobNotFoundError):
        retry(world, ref)
    world.declare(kitchen.job)
    with pytest.raises(OperationRefusedError, match="there is no run menu@2026-01-05T13:00:00Z"):
        retry(world, RunRef(NAME, NOON + HOUR))
    assert world.run(ref).status is RunStatus.FAILED


def test_of_two_who_retry_a_run_one_does(world: World) -> None:
    ref = failed(world, Kitchen())
    with (
        meeting(world, "runs.apply", lambda: retry(world, ref, by="eve")),
        pytest.raises(OperationRefusedError, match="has not ended: it is PENDING"),
    ):
        retry(world, ref)

    act = world.run(ref).act
    assert act is not None
    assert act.by == "eve"
    assert len(world.deliver()) == 1


def test_a_retry_that_meets_the_patrols_mark_decides_anew(world: World) -> None:
    ref = failed(world, Kitchen())

    def marks() -> None:
        run = world.run(ref)
        world.store.place(replace(run, notice=None, due_at=None, rev=run.rev + 1))

    with meeting(world, "runs.apply", marks):
        retry(world, ref)

    assert world.run(ref).status is RunStatus.PENDING


def test_a_cancelled_run_can_be_retried_and_is_not_cancelled_again(world: World) -> None:
    kitchen = Kitchen()
    kitchen.broken = False
    world.declare(kitchen.job)
    ref = world.plan()
    cancel(world, ref)

    retry(world, ref)
    world.deliver()

    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert [act.what for act in world.store.steps.acts(ref.id)] == [What.CANCEL]


# --- cancel -------------------------------------------------------------------------------------------------


def test_a_pending_run_is_ended_at_once_and_no_executor_starts_it(world: World) -> None:
    world.declare(never)
    ref = world.plan()

    answer = cancel(world, ref)

    assert (answer.changed, answer.run.status) == (True, RunStatus.CANCELLED)
    assert [one.outcome for one in world.deliver()] == [Outcome.NOT_PENDING]
    assert world.run(ref).forget_at is not None
    (line,) = world.telemetry.named("operator.cancel")
    assert line.fields == {"run": ref.id, "status": "CANCELLED", "by": "bob", "why": "not today"}


@pytest.mark.parametrize("code", [True, False], ids=["with the job's code", "without"])
def test_whoever_is_cancelled_while_it_holds_a_slot_hands_it_on(world: World, code: bool) -> None:
    def job(run: Run) -> None:
        raise ValueError

    world.declare(job)
    ahead, behind = world.plan(), world.plan_queued(NOON + SECOND)
    assert world.execute(ahead).outcome is Outcome.RETRYING
    if not code:
        del world.loaded[NAME]

    cancel(world, ahead)

    assert world.slots().held == {behind.id}
    assert world.run(behind).status is RunStatus.PENDING
    agree(world)


def test_i38_the_first_in_the_queue_is_cancelled_and_the_others_keep_their_places(world: World) -> None:
    world.declare(never)
    running(world, -60)
    ahead = RunRef(NAME, NOON - MINUTE)
    first, second = world.plan_queued(NOON), world.plan_queued(NOON + SECOND)
    world.set_slots(Slots(held=frozenset({ahead.id}), queued=2, fencing_token=1))

    cancel(world, first)

    assert world.store.markers(NAME) == [second]
    agree(world)


def test_without_the_jobs_code_a_free_slot_is_not_taken_for_one(world: World) -> None:
    """Only the code says how many there are: whoever waits is woken by the sweep, which has it."""
    world.declare(lambda run: None, concurrency=2)
    running(world, -60)
    ahead = RunRef(NAME, NOON - MINUTE)
    pending, waits = world.plan(NOON), world.plan_queued(NOON + SECOND)
    world.set_slots(Slots(held=frozenset({ahead.id}), queued=1, fencing_token=1))
    known = world.loaded.pop(NAME)

    cancel(world, pending)
    assert world.run(waits).is_queued
    world.loaded[NAME] = known
    world.minutes(11, stream=False)

    assert not world.run(waits).is_queued


def test_a_run_without_slots_is_cancelled_by_itself(world: World) -> None:
    world.declare(never, concurrency=None)
    ref = world.plan()

    assert cancel(world, ref).run.status is RunStatus.CANCELLED
    assert world.slots() == Slots()


def test_a_running_run_stops_within_a_renewal_and_its_next_call(world: World) -> None:
    answers: list[RunAnswer] = []

    def job(run: Run) -> None:
        answers.append(cancel(world, RunRef.parse(run.id)))
        answers.append(cancel(world, RunRef.parse(run.id), by="eve"))
        world.work(21 * SECOND)
        with pytest.raises(Cancelled):
            run.step("too late", pytest.fail)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.CANCELLED

    assert [answer.changed for answer in answers] == [True, False]
    assert all(answer.run.cancel_requested for answer in answers)
    act = world.run(ref).act
    assert act is not None
    assert act.by == "bob", "who asked first has cancelled it"
    again = cancel(world, ref)
    assert (again.changed, again.run.status) == (False, RunStatus.CANCELLED)


def test_a_dead_workers_run_is_cancelled_by_whoever_finds_it(world: World) -> None:
    world.declare(lambda run: None)
    ref = world.plan()
    kill(world, ref)

    assert cancel(world, ref).run.status is RunStatus.RUNNING
    world.minutes(3)

    assert (world.run(ref).status, world.run(ref).attempt) == (RunStatus.CANCELLED, 1)
    agree(world)


def test_a_sleeping_run_is_ended_without_waiting_for_its_time(world: World) -> None:
    world.declare(lambda run: run.sleep("a day", DAY))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.ASLEEP

    cancel(world, ref)

    assert (world.run(ref).status, world.slots().held) == (RunStatus.CANCELLED, frozenset())


def test_a_cancel_that_meets_the_claim_asks_the_worker_instead(world: World) -> None:
    def job(run: Run) -> None:
        world.work(LONG - MINUTE)

    world.declare(job)
    ref = world.plan()
    claimed = replace(world.run(ref), status=RunStatus.RUNNING, owner="me", fencing_token=1, dispatch=None)
    claimed = replace(claimed, claim_until=NOON + MINUTE, rev=2)

    with meeting(world, "runs.apply", lambda: world.store.place(claimed)):
        answer = cancel(world, ref)

    assert (answer.run.status, answer.run.cancel_requested) == (RunStatus.RUNNING, True)


@pytest.mark.parametrize("call", ["jobs.get", "runs.apply", "runs.get"])
def test_a_claim_that_meets_the_cancel_ends_quietly(world: World, call: str) -> None:
    world.declare(never)
    ref = world.plan()

    with meeting(world, call, lambda: cancel(world, ref)):
        outcome = world.execute(ref).outcome

    assert outcome is Outcome.NOT_PENDING
    assert world.run(ref).status is RunStatus.CANCELLED
    agree(world)


def test_a_cancel_that_meets_the_finish_is_too_late_and_says_so(world: World) -> None:
    refused: list[str] = []

    def late() -> None:
        with pytest.raises(OperationRefusedError) as error:
            cancel(world, ref)
        refused.append(str(error.value))

    world.declare(lambda run: None)
    ref = world.plan()
    with meeting(world, "runs.apply", late, when="after", of=2):
        assert world.execute(ref).outcome is Outcome.SUCCEEDED

    assert refused == [f"run {ref.id} has ended SUCCEEDED: there is nothing to cancel"]


def test_a_finish_that_meets_the_cancel_stays_a_success(world: World) -> None:
    world.declare(lambda run: None)
    ref = world.plan()
    with meeting(world, "runs.apply", lambda: cancel(world, ref), of=2):
        assert world.execute(ref).outcome is Outcome.SUCCEEDED

    run = world.run(ref)
    assert (run.status, run.cancel_requested) == (RunStatus.SUCCEEDED, False)
    agree(world)


def test_a_cancel_that_meets_a_freed_slot_reads_the_slots_again(world: World) -> None:
    world.declare(lambda run: None)
    first, second = world.plan_queued(NOON), world.plan_queued(NOON + SECOND)
    ahead = world.plan(NOON - SECOND)
    world.set_slots(Slots(held=frozenset({ahead.id}), queued=2, fencing_token=1))

    with meeting(world, "runs.apply", lambda: world.execute(ahead)):
        answer = cancel(world, first)

    assert answer.run.status is RunStatus.CANCELLED
    assert world.slots().held == {second.id}, "the slot that it had just been given went on"
    agree(world)


def test_of_two_who_cancel_a_run_the_second_learns_of_the_first(world: World) -> None:
    world.declare(never)
    ref = world.plan()
    with meeting(world, "runs.apply", lambda: cancel(world, ref, by="eve")):
        answer = cancel(world, ref)

    assert not answer.changed
    assert answer.run.act is not None
    assert answer.run.act.by == "eve"


def test_i28_a_host_with_a_wrong_clock_touches_no_run(world: World) -> None:
    ref = failed(world, Kitchen())
    world.store.clock.offset = timedelta(hours=1)
    for command in (retry, cancel):
        with pytest.raises(OperationRefusedError, match="clock differs"):
            command(world, ref)


def test_a_command_that_always_meets_others_says_so(world: World) -> None:
    ref = failed(world, Kitchen())
    world.store.conflict(100)

    with pytest.raises(StoreError, match=rf"retry run {ref.id}: others were in the way all the time"):
        retry(world, ref)


class meeting:  # noqa: N801 - reads as what it is: with meeting(...)
    """Within the block, something else happens once, around a call of a port's method.

    Args:
        world: whose store.
        method: the port's.
        do: what happens.
        when: before the call, or after it.
        of: at which call of that method.
    """

    def __init__(
        self, world: World, method: str, do: Callable[[], object], *, when: str = "before", of: int = 1
    ) -> None:
        self._world, self._place, self._do, self._left = world, (method, when), do, of

    def __enter__(self) -> None:
        self._world.store.on_call(self._called)

    def __exit__(self, *_: object) -> None:
        self._world.store.on_call(None)

    def _called(self, method: str, when: str) -> None:
        if (method, when) == self._place:
            self._left -= 1
            if self._left == 0:
                self._do()
