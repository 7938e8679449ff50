"""An operator asks for a run outside the schedule.

Invariants:
- the stream starts the run, once, whatever its job's policies; behind taken slots it waits in line;
- its input reaches the job, however long; no run whose input is not there is ever claimed;
- what cannot be run, or whose input cannot be kept, is refused with one line and nothing is written.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronce.core.acts import What
from cronce.core.errors import JobNotFoundError, NewerItemError, OperationRefusedError, StoreError
from cronce.core.records import INLINE_LIMIT, RunRecord
from cronce.core.retry import Retry
from cronce.core.run import Reason, RunStatus, Trigger
from cronce.core.run_input import INPUT_LIMIT
from cronce.core.schedule import Cron
from cronce.engine.executor import Outcome
from cronce.engine.metrics import ITEMS_UNREADABLE
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import HOUR, MINUTE, NAME, NOON, SECOND, World

LONG = {"orders": [f"order-{number}" for number in range(100)]}


@pytest.fixture
def world() -> World:
    return World(jitter=0.0)


class Given:
    """A job that keeps what its runs were given."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    def job(self, run: Run) -> None:
        run.step("keep", lambda: self.inputs.append(run.input))


def trigger(world: World, given: object = None, by: str = "ann") -> RunRecord:
    text = None if given is None else json.dumps(given)
    return world.operations().trigger(NAME, text, by=by, why="month's end")


def test_a_run_is_started_by_the_stream_and_says_who_asked(world: World) -> None:
    given = Given()
    world.declare(
        given.job, timeout=2 * HOUR, retry=Retry(attempts=7), schedule=Cron("0 6 * * *", tz="Asia/Tokyo")
    )
    world.clock.advance(0.25 * SECOND)

    run = trigger(world)

    assert world.run(run.ref) == replace(run, rev=1)
    assert (run.ref.scheduled_at, run.trigger, run.expect_by) == (NOON, Trigger.MANUAL, None)
    assert (run.timeout, run.max_attempts) == (2 * HOUR, 7)
    assert run.scheduled_local == "2026-01-05T21:00:00+09:00"
    assert run.act is not None
    assert (run.act.what, run.act.by, run.act.why) == (What.TRIGGER, "ann", "month's end")
    assert [one.outcome for one in world.deliver()] == [Outcome.SUCCEEDED]
    assert given.inputs == [None]


INPUTS: dict[str, object] = {
    "small": {"day": "2026-01-05"},
    "as long as the record takes": "x" * (INLINE_LIMIT - 2),
    "one byte more": "x" * (INLINE_LIMIT - 1),
    "long": LONG,
    "of wide characters": 100 * "ü",
    "zero": 0,
    "false": False,
    "empty": [],
    "null in quotes": "null",
}


@pytest.mark.parametrize("given", INPUTS.values(), ids=INPUTS)
def test_an_input_of_any_length_reaches_the_job_in_every_attempt(world: World, given: object) -> None:
    inputs: list[object] = []

    def job(run: Run) -> None:
        inputs.append(run.input)
        if run.attempt == 1:
            raise ValueError

    world.declare(job)
    run = trigger(world, given)
    world.deliver()
    world.minutes(2)

    assert world.run(run.ref).status is RunStatus.SUCCEEDED
    assert inputs == [given, given]
    assert (run.input is None) == run.input_kept == (len(json.dumps(given)) > INLINE_LIMIT)


def test_the_longest_input_is_taken_and_one_byte_more_is_refused(world: World) -> None:
    given = Given()
    world.declare(given.job)
    longest = "x" * (INPUT_LIMIT - 2)

    trigger(world, longest)
    with pytest.raises(
        OperationRefusedError, match=f"at most {INPUT_LIMIT} bytes of JSON here, not {INPUT_LIMIT + 1}"
    ):
        trigger(world, longest + "x")
    world.deliver()

    assert given.inputs == [longest]
    assert len(world.store.all_runs()) == 1


NO_JSON = ["", "{", "soup", "{'a': 1}", "NaN", "[Infinity]", '"\ud800"', 100_000 * "["]


@pytest.mark.parametrize("text", NO_JSON, ids=range(len(NO_JSON)))
def test_what_is_no_json_is_refused_and_not_shown(world: World, text: str) -> None:
    world.declare(lambda run: None)

    with pytest.raises(OperationRefusedError) as refused:
        world.operations().trigger(NAME, text, by="ann", why="")

    assert str(refused.value) == "the input of a run is JSON text, and this is not"
    assert world.store.all_runs() == []


@pytest.mark.parametrize(
    "text, said",
    [
        (
            '{"amount": 1e999}',
            "it holds a number beyond 1.8e308, which is Infinity to Python: give it as text",
        ),
        ("[-1e400]", "it holds a number beyond 1.8e308, which is Infinity to Python: give it as text"),
        ("-" + 5_000 * "7", "it holds a number of 5000 digits, more than Python reads: give it as text"),
    ],
    ids=["infinite", "negative", "long"],
)
def test_a_number_that_python_would_read_as_another_is_refused(world: World, text: str, said: str) -> None:
    world.declare(lambda run: None)

    with pytest.raises(OperationRefusedError) as refused:
        world.operations().trigger(NAME, text, by="ann", why="")

    assert str(refused.value) == f"the input of a run cannot be kept: {said}"
    assert world.store.all_runs() == []


def test_an_input_that_is_gone_ends_the_run_that_asks_for_it(world: World) -> None:
    given = Given()
    world.declare(given.job)
    run = trigger(world, LONG)
    world.store.remove((run.ref.id, "INPUT"))
    world.deliver()

    ended = world.run(run.ref)
    assert (ended.status, ended.reason, ended.attempt) == (RunStatus.FAILED, Reason.ERROR, 1)
    assert ended.error is not None
    assert "its input is gone or unreadable: trigger a run anew" in ended.error


def test_an_input_that_was_spoiled_is_reported_and_a_job_that_needs_none_goes_on(world: World) -> None:
    world.declare(lambda run: None)
    run = trigger(world, LONG)
    world.store.spoil((run.ref.id, "INPUT"))
    world.deliver()

    assert world.run(run.ref).status is RunStatus.SUCCEEDED
    assert len(world.telemetry.named("input.unreadable")) == 1
    assert world.telemetry.metrics[ITEMS_UNREADABLE] == 1


def test_a_run_whose_input_a_later_release_wrote_waits_for_that_release(world: World) -> None:
    given = Given()
    world.declare(given.job)
    run = trigger(world, LONG)

    def newer(call: str, when: str) -> None:
        if (call, when) == ("steps.input", "before"):
            raise NewerItemError("shape 2")

    world.store.on_call(newer)
    world.minutes(5)
    assert (world.run(run.ref).status, world.run(run.ref).attempt) == (RunStatus.PENDING, 0)
    world.store.on_call(None)
    world.minutes(5)

    assert given.inputs == [LONG]


def test_a_store_that_does_not_answer_about_the_input_costs_no_attempt(world: World) -> None:
    given = Given()
    world.declare(given.job)
    run = trigger(world, LONG)

    def silent(call: str, when: str) -> None:
        if call == "steps.input":
            raise StoreError("no answer")

    world.store.on_call(silent)
    with pytest.raises(StoreError):
        world.execute(run.ref)
    assert (world.run(run.ref).status, world.run(run.ref).attempt) == (RunStatus.PENDING, 0)
    world.store.on_call(None)
    world.minutes(3)

    assert given.inputs == [LONG]


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_i39_behind_taken_slots_manual_runs_wait_in_line_whatever_the_policy(
    world: World, overlap: str
) -> None:
    order: list[str] = []

    def job(run: Run) -> None:
        if run.trigger is Trigger.SCHEDULE:
            twins.extend(trigger(world) for _ in range(2))
            assert [one.outcome for one in world.deliver()][-2:] == 2 * [Outcome.QUEUED]
        order.append(run.id)

    twins: list[RunRecord] = []
    world.declare(job, overlap=overlap)
    world.execute(world.plan())
    world.minutes(3)

    assert len(order) == 3
    assert sorted(order[1:]) == sorted(run.ref.id for run in twins)
    assert len({run.ref for run in twins}) == 2


def test_policies_of_lateness_do_not_concern_it(world: World) -> None:
    given = Given()
    world.declare(given.job, catch_up="skip", max_lateness="2m")
    trigger(world)
    world.clock.advance(HOUR)

    assert [one.outcome for one in world.deliver()] == [Outcome.SUCCEEDED]


def test_a_paused_job_can_be_triggered(world: World) -> None:
    given = Given()
    world.declare(given.job)
    world.operations().pause(NAME, by="ann", why="stock-taking")
    trigger(world)
    world.deliver()

    assert len(given.inputs) == 1


def test_a_job_that_is_unknown_or_removed_is_refused(world: World) -> None:
    with pytest.raises(JobNotFoundError, match="there is no job 'menu'"):
        trigger(world)
    world.declare(lambda run: None)
    state = world.store.jobs.get(NAME)
    assert state is not None
    world.store.place(replace(state, removed_at=NOON))
    with pytest.raises(OperationRefusedError, match=r"was removed from the deployment.*deploy it first"):
        trigger(world)
    assert world.store.all_runs() == []


def test_without_the_jobs_code_its_newest_run_says_how_long_it_may_take(world: World) -> None:
    world.declare(lambda run: None, timeout=2 * HOUR)
    known = world.loaded.pop(NAME)
    with pytest.raises(OperationRefusedError, match="nothing says how long a run of job menu may take"):
        trigger(world)

    world.plan(NOON - HOUR, timeout=MINUTE)
    world.plan(NOON - SECOND, timeout=3 * HOUR, max_attempts=9)
    run = trigger(world)

    assert (run.timeout, run.max_attempts) == (3 * HOUR, 9)
    world.loaded[NAME] = known


def test_a_conflict_passes_and_a_lost_reply_is_no_second_run(world: World) -> None:
    given = Given()
    world.declare(given.job)
    world.store.conflict(2)
    trigger(world, 1)
    lost = True

    def loses(call: str, when: str) -> None:
        nonlocal lost
        if lost and (call, when) == ("runs.apply", "after"):
            lost = False
            raise StoreError("no answer")

    world.store.on_call(loses)
    trigger(world, LONG)
    world.store.on_call(None)
    world.deliver()
    world.minutes(2)

    assert given.inputs == [1, LONG]
    assert len(world.store.all_runs()) == 2


def test_a_run_that_was_started_before_the_reply_was_missed_is_triggered_once(world: World) -> None:
    given = Given()
    world.declare(given.job)

    def started(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "after"):
            world.store.on_call(None)
            world.deliver()
            raise StoreError("no answer")

    world.store.on_call(started)
    run = trigger(world, 1)
    world.minutes(2)

    assert given.inputs == [1]
    assert [found.ref for found in world.store.all_runs()] == [run.ref]


def test_i28_a_host_with_a_wrong_clock_triggers_nothing(world: World) -> None:
    world.declare(lambda run: None)
    world.store.clock.offset = timedelta(minutes=1)
    with pytest.raises(OperationRefusedError, match="clock differs"):
        trigger(world)
    assert world.store.all_runs() == []


def test_a_long_input_is_masked_in_errors_like_a_short_one(world: World) -> None:
    def job(run: Run) -> None:
        raise ValueError(f"refused: {run.input['orders'][99]}")

    world.declare(job, retry=Retry(attempts=1))
    run = trigger(world, LONG)
    world.deliver()

    assert world.run(run.ref).error == "ValueError: refused: [input]"
    assert "order-99" not in repr(world.telemetry.events)
