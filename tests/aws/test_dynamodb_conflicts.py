"""What the stores make of two writers at once, and of a store without capacity.

Invariants:
- a write that met another one is not a lost race: its caller is told to come again, or the store does so
  itself, with jitter, and gives up after some tries;
- a condition that failed says more than a request to come again;
- a batch that was not answered in full is asked for the rest, a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from cronce.aws.calls import FIRST_PAUSE, TRIES
from cronce.core.answers import Applied, CommitOutcome
from cronce.core.errors import StoreError
from cronce.core.records import RunRef
from cronce.core.run import RunStatus
from cronce_tools.local.moto_engine import Proceed
from tests.contract.makers import ref
from tests.support.dynamodb_backend import DynamoBackend
from tests.support.faulty_store import (
    Undisturbed,
    conflict,
    conflicts,
    everything,
    filled_store,
    undisturbed,
)
from tests.support.port_calls import (
    CALLS,
    MINE,
    PENDING,
    QUEUED,
    WRITES,
)

COMES_AGAIN = sorted(name for name in WRITES if name.startswith(("runs.apply", "plans.", "jobs.change")))
"""Writes whose caller reads again before the next try."""
SETTLED = sorted(WRITES.keys() - {*COMES_AGAIN, "lease.take"})
"""Writes that the store sends again by itself."""


@pytest.fixture
def store() -> Iterator[DynamoBackend]:
    """A store in which every call succeeds."""
    with filled_store() as backend:
        yield backend


@pytest.fixture
def alone(name: str) -> Undisturbed:
    """What a call does when nothing goes wrong."""
    return undisturbed(name)


@pytest.mark.parametrize("name", SETTLED)
def test_a_write_that_met_another_is_sent_again_with_jitter(
    alone: Undisturbed, store: DynamoBackend, name: str
) -> None:
    store.engine.fault = conflicts(store, TRIES - 1)

    assert CALLS[name].make(store) == alone.answer

    pauses = store.engine.clock.pauses
    assert len(pauses) == TRIES - 1
    assert all(0 <= pause <= FIRST_PAUSE * 2**number for number, pause in enumerate(pauses))
    store.engine.fault = None
    assert everything(store) == alone.stored


@pytest.mark.parametrize("name", SETTLED)
def test_a_write_that_meets_another_again_and_again_gives_up(store: DynamoBackend, name: str) -> None:
    store.engine.fault = conflicts(store, TRIES)

    with pytest.raises(StoreError, match=r"TransactionConflict.*5 times"):
        CALLS[name].make(store)


def test_a_lease_that_somebody_is_writing_is_somebody_elses(store: DynamoBackend) -> None:
    store.engine.fault = conflicts(store, 1)

    assert CALLS["lease.take"].make(store) is None
    assert store.engine.clock.pauses == []


@pytest.mark.parametrize("name", COMES_AGAIN)
def test_a_change_that_met_another_is_not_a_lost_race(store: DynamoBackend, name: str) -> None:
    store.engine.fault = conflicts(store, 1)

    answer = CALLS[name].make(store)

    if isinstance(answer, CommitOutcome):
        assert answer == CommitOutcome(problem="conflict: TransactionConflict", passes=True)
    else:
        assert answer is Applied.CONFLICT
    assert CALLS[name].twice is not None
    assert CALLS[name].make(store) in {Applied.DONE, CommitOutcome(done=True)}


@pytest.mark.parametrize(
    "codes, applied",
    [
        (["ThrottlingError", "None"], Applied.CONFLICT),
        (["None", "ProvisionedThroughputExceeded"], Applied.CONFLICT),
        (["TransactionConflict", "ConditionalCheckFailed"], Applied.JOB_MOVED),
        (["ConditionalCheckFailed", "TransactionConflict"], Applied.RUN_MOVED),
        (["ConditionalCheckFailed", "ConditionalCheckFailed"], Applied.RUN_MOVED),
    ],
)
def test_a_failed_condition_outranks_a_request_to_come_again(
    store: DynamoBackend, codes: list[str], applied: Applied
) -> None:
    def fault(operation: str, _proceed: Proceed) -> Any:
        raise conflict(operation, *codes)

    store.engine.fault = fault
    assert CALLS["runs.apply: claim"].make(store) is applied


@pytest.mark.parametrize("code", ["ValidationError", "ItemCollectionSizeLimitExceeded", "Invented"])
def test_a_transaction_that_is_refused_for_good_is_an_error_or_a_problem(
    store: DynamoBackend, code: str
) -> None:
    def fault(operation: str, _proceed: Proceed) -> Any:
        raise conflict(operation, "None", code)

    store.engine.fault = fault
    with pytest.raises(StoreError, match=code):
        CALLS["runs.apply: claim"].make(store)
    outcome = CALLS["plans.commit"].make(store)
    assert outcome.problem is not None
    assert not outcome.passes
    assert code in outcome.problem


def test_a_marker_whose_run_is_queued_again_at_that_moment_is_left(store: DynamoBackend) -> None:
    store.place(replace(QUEUED, status=RunStatus.PENDING, reason=None))

    def queue_again(operation: str, proceed: Proceed) -> Any:
        if operation == "TransactWriteItems":
            store.engine.fault = None
            store.place(QUEUED)
        return proceed()

    store.engine.fault = queue_again
    assert store.runs.first_queued(QUEUED.ref.job) is None
    assert store.markers(QUEUED.ref.job) == [QUEUED.ref]


def test_keys_that_a_batch_leaves_unprocessed_are_asked_for_again(store: DynamoBackend) -> None:
    wanted = [MINE.ref, PENDING.ref, QUEUED.ref]

    def one_at_a_time(_operation: str, proceed: Proceed) -> Any:
        answer = proceed()
        first, *rest = answer["Responses"]["runs"]
        left = [{part: item[part] for part in ("pk", "sk")} for item in rest]
        unprocessed = {"runs": {"Keys": left, "ConsistentRead": True}} if left else {}
        return {"Responses": {"runs": [first]}, "UnprocessedKeys": unprocessed}

    store.engine.fault = one_at_a_time
    assert set(store.runs.get_many(wanted)) == set(wanted)
    assert len(store.engine.calls) == 3


def test_a_batch_that_gets_nowhere_is_an_error(store: DynamoBackend) -> None:
    def nothing(_operation: str, proceed: Proceed) -> Any:
        proceed()
        return {"Responses": {}, "UnprocessedKeys": store.engine.requests[-1]["RequestItems"]}

    store.engine.fault = nothing
    with pytest.raises(StoreError, match=r"read runs: .*2 keys unprocessed 5 times"):
        store.runs.get_many([MINE.ref, PENDING.ref])
    assert len(store.engine.calls) == TRIES


def test_a_batch_asks_for_a_hundred_at_a_time_and_for_each_once(store: DynamoBackend) -> None:
    refs: list[RunRef] = [ref(number) for number in range(250)]

    found = store.runs.get_many([*refs, *refs])

    sizes = [len(request["RequestItems"]["runs"]["Keys"]) for request in store.engine.requests]
    assert sizes == [100, 100, 50]
    assert set(found) >= {MINE.ref, PENDING.ref}
