"""What the stores make of a bad connection.

Invariants:
- every port method is one call, and every read that decides is strong;
- nothing but a `StoreError` that names the operation comes out, whatever port is called;
- an own write whose reply was lost is known, whether the SDK repeated it or the caller did, and is done once;
- another's write is never taken for an own one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from cronce.core.answers import Applied, CommitOutcome
from cronce.core.changes import Guard, RunChange
from cronce.core.errors import StoreError
from cronce.core.run import Reason, RunStatus
from cronce_tools.local.moto_engine import Proceed
from tests.contract.makers import NOW, job_in, pending, ref, step, stored, window
from tests.support.dynamodb_backend import DynamoBackend
from tests.support.faulty_store import (
    Undisturbed,
    everything,
    executed_twice,
    filled_store,
    reply_lost_once,
    undisturbed,
)
from tests.support.port_calls import (
    ALERT,
    CALLS,
    GRANT,
    MINE,
    READS,
    STATE,
    WRITES,
)

PENDING_AT_TEN = pending(ref(10))
COUNTS_TWICE = {"runs.renew", "jobs.next_token"}
"""Writes that nothing depends on being counted once: a token is burnt, a revision is passed over."""
every_call = pytest.mark.parametrize("name", CALLS)
every_read = pytest.mark.parametrize("name", READS)
every_write = pytest.mark.parametrize("name", WRITES)


@pytest.fixture
def store() -> Iterator[DynamoBackend]:
    """A store in which every call succeeds."""
    with filled_store() as backend:
        yield backend


@pytest.fixture
def alone(name: str) -> Undisturbed:
    """What a call does when nothing goes wrong."""
    return undisturbed(name)


@every_call
def test_a_port_method_takes_one_call_of_the_store(store: DynamoBackend, name: str) -> None:
    CALLS[name].make(store)

    assert tuple(store.engine.calls) == CALLS[name].sends


@every_read
def test_i27_every_read_but_that_of_the_index_is_strong(store: DynamoBackend, name: str) -> None:
    CALLS[name].make(store)

    for request in store.engine.requests:
        asked = request["RequestItems"]["runs"] if "RequestItems" in request else request
        assert asked.get("ConsistentRead", False) is (name != "index.due")


@every_call
@pytest.mark.parametrize(
    "error",
    [
        ReadTimeoutError(endpoint_url="https://store"),
        ClientError({"Error": {"Code": "ThrottlingException", "Message": "slowly"}}, "x"),
    ],
    ids=["no answer", "throttled"],
)
def test_a_store_that_cannot_be_reached_is_an_error_that_names_the_operation(
    store: DynamoBackend, name: str, error: Exception
) -> None:
    before = store.engine.items()

    def fault(_operation: str, _proceed: Proceed) -> Any:
        raise error

    store.engine.fault = fault
    with pytest.raises(StoreError, match=r"^[a-z].*: (ReadTimeoutError|Throttling)") as raised:
        CALLS[name].make(store)

    assert type(raised.value).__module__.startswith("cronce.")
    store.engine.fault = None
    assert store.engine.items() == before


@every_write
def test_an_own_write_that_the_sdk_repeats_is_known(store: DynamoBackend, name: str) -> None:
    store.engine.fault = executed_twice
    answer = CALLS[name].make(store)

    twice = CALLS[name].twice
    assert twice is not None
    assert twice(answer), answer


@every_write
def test_an_own_write_that_the_caller_repeats_is_known(store: DynamoBackend, name: str) -> None:
    store.engine.fault = reply_lost_once()
    with pytest.raises(StoreError, match="ConnectionClosedError"):
        CALLS[name].make(store)
    if name == "alerts.put":
        return  # another call may be another watchdog's: see below

    twice = CALLS[name].twice
    assert twice is not None
    answer = CALLS[name].make(store)
    assert twice(answer), answer


@pytest.mark.parametrize("name", sorted(WRITES.keys() - COUNTS_TWICE))
def test_what_is_written_twice_is_stored_as_if_it_was_written_once(
    alone: Undisturbed, store: DynamoBackend, name: str
) -> None:
    store.engine.fault = executed_twice
    CALLS[name].make(store)
    store.engine.fault = None

    assert everything(store) == alone.stored


def test_two_watchdogs_that_write_equal_alerts_are_told_apart(store: DynamoBackend) -> None:
    assert store.alerts.put(None, ALERT)

    assert not store.alerts.put(None, ALERT)


def test_two_judges_of_one_record_are_told_apart_by_what_they_write(store: DynamoBackend) -> None:
    moved = RunChange(before=MINE, after=replace(MINE, due_at=NOW + timedelta(minutes=5)), guard=Guard.SEEN)
    stopped = RunChange(before=MINE, after=replace(MINE, cancel_requested=True), guard=Guard.SEEN)

    assert store.runs.apply(moved) is Applied.DONE
    assert store.runs.apply(stopped) is Applied.RUN_MOVED, "nobody would stop the worker"
    assert not stored(store, MINE.ref).cancel_requested


def test_a_plan_of_equal_jobs_and_other_runs_is_not_taken_for_an_own_one(store: DynamoBackend) -> None:
    first = window(STATE, PENDING_AT_TEN, planned_to=NOW)
    other = window(STATE, replace(PENDING_AT_TEN, dispatches=1), planned_to=NOW)

    assert store.plans.commit(GRANT, [first]).done
    assert store.plans.commit(GRANT, [other]) != CommitOutcome(done=True)


def test_a_plan_that_a_worker_has_begun_to_execute_is_stale_and_not_made_again(
    store: DynamoBackend,
) -> None:
    plan = window(STATE, PENDING_AT_TEN)
    assert store.plans.commit(GRANT, [plan]).done
    begun = replace(stored(store, PENDING_AT_TEN.ref), dispatches=1)
    store.place(replace(begun, rev=2))

    assert store.plans.commit(GRANT, [plan]) == CommitOutcome(stale=frozenset({STATE.name}))


def test_a_finish_whose_reply_was_lost_is_known_after_others_have_written(store: DynamoBackend) -> None:
    finish = CALLS["runs.apply: finish alone"]
    assert finish.make(store) is Applied.DONE
    after = stored(store, MINE.ref)
    store.place(replace(after, rev=after.rev + 1, touched=True))

    assert finish.make(store) is Applied.DONE


def test_an_end_is_known_although_its_forgetting_is_stored_in_whole_seconds(store: DynamoBackend) -> None:
    ended = NOW + timedelta(milliseconds=250)
    lost = replace(
        MINE,
        status=RunStatus.FAILED,
        reason=Reason.LOST,
        owner=None,
        last_owner=MINE.owner,
        claim_until=None,
        ended_at=ended,
        forget_at=ended + timedelta(days=400),
    )
    change = RunChange(before=MINE, after=lost, guard=Guard.SEEN)
    assert store.runs.apply(change) is Applied.DONE

    assert store.runs.apply(change) is Applied.DONE


def test_a_guard_that_fails_on_an_unreadable_record_is_a_lost_race(store: DynamoBackend) -> None:
    store.edit(MINE, "owner", {"S": "another"})
    store.spoil_item(MINE)

    assert CALLS["runs.apply: finish"].make(store) is Applied.RUN_MOVED
    assert job_in(store).slots == STATE.slots


def test_i24_the_step_that_another_recorded_is_not_mine_although_the_claim_is(store: DynamoBackend) -> None:
    assert store.steps.record(MINE, step(MINE.ref))
    store.place(replace(MINE, fencing_token=8))

    assert not store.steps.record(replace(MINE, fencing_token=8), step(MINE.ref, fencing_token=8, result="2"))
    kept = [kept for kept in store.steps.load(MINE.ref) if kept.name == "build"]
    assert [one.result for one in kept] == [step(MINE.ref).result]
