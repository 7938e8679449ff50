"""Items that a hand has edited, that a restore has torn, or that a newer release has written.

Invariants:
- each is an error that names item and attribute, when that item itself is asked for;
- none stands in the way of another item: lists, batches and queues pass it over;
- each can be moved out of the head of the index, whatever is wrong with it, its place included;
- a write leaves alone what it does not write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cronce.aws.attributes import Attribute, Item
from cronce.aws.keys import alert_key, attempt_key, job_key, key, lease_key, registry_key, run_key, step_key
from cronce.core.answers import Applied, CommitOutcome
from cronce.core.errors import NewerItemError, StoreError, UnreadableItemError
from cronce.core.run import DueKind, RunStatus
from cronce.testing import ManualClock
from cronce_tools.local.moto_engine import Proceed
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    TTL,
    finish_of,
    gap,
    pending,
    queued,
    ref,
    step,
    stored,
    window,
)
from tests.support.dynamodb_backend import DynamoBackend, dynamodb
from tests.support.dynamodb_engine import RUNS, STEPS
from tests.support.port_calls import (
    ALERT,
    ATTEMPT,
    CALLS,
    FAILED,
    GRANT,
    HANDED_ON,
    MINE,
    PENDING,
    QUEUED,
    REGISTRY,
    STATE,
    WOKEN,
    fill,
)

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture
def store() -> Iterator[DynamoBackend]:
    """A store with one item of each kind."""
    with dynamodb(ManualClock()) as backend:
        fill(backend)
        assert backend.registry.write(GRANT, REGISTRY)
        assert backend.alerts.put(None, ALERT)
        assert backend.steps.record(MINE, step(MINE.ref))
        yield backend


def edit(store: DynamoBackend, at: Item, name: str, value: Attribute | None, table: str = RUNS) -> None:
    """Set an attribute by hand, or take it away."""
    item = store.engine.client.get_item(TableName=table, Key=at)["Item"]
    changed: dict[str, Any] = {k: v for k, v in item.items() if k != name}
    if value is not None:
        changed[name] = value
    store.engine.client.put_item(TableName=table, Item=changed)


READABLE: dict[str, tuple[Item, str, str, str]] = {
    # name: key, table, an attribute that it needs, the call that reads it
    "lease": (lease_key(), RUNS, "lease_until", "lease.read"),
    "lease, taken": (lease_key(), RUNS, "shape", "lease.read"),
    "registry": (registry_key(), RUNS, "jobs", "registry.read"),
    "job": (job_key(JOB), RUNS, "planned_to", "jobs.get"),
    "run": (run_key(MINE.ref), RUNS, "created_at", "runs.get"),
    "alert": (alert_key(JOB), RUNS, "since", "alerts.get"),
    "step": (step_key(step(MINE.ref)), STEPS, "result", "steps.load"),
}


@pytest.mark.parametrize("kind", READABLE)
def test_an_item_that_lacks_an_attribute_is_named_to_who_asks_for_it(store: DynamoBackend, kind: str) -> None:
    at, table, name, reading = READABLE[kind]
    edit(store, at, name, None, table)

    with pytest.raises(UnreadableItemError, match=rf"{at['pk']['S']} / {at['sk']['S']}.*`{name}` is missing"):
        CALLS[reading].make(store)


@pytest.mark.parametrize("kind", READABLE)
def test_an_item_of_a_newer_shape_is_told_apart(store: DynamoBackend, kind: str) -> None:
    at, table, _, reading = READABLE[kind]
    edit(store, at, "shape", {"N": "2"}, table)

    with pytest.raises(NewerItemError, match=f"{at['sk']['S']} has shape 2"):
        CALLS[reading].make(store)


@pytest.mark.parametrize("given", [f'"{"x" * 200}"', "hunter2", ""], ids=["too large", "no JSON", "empty"])
def test_an_input_that_no_job_can_be_given_is_told_without_being_shown(
    store: DynamoBackend, given: str
) -> None:
    edit(store, run_key(PENDING.ref), "input", {"S": given})
    with pytest.raises(UnreadableItemError, match="attribute `input` is malformed: the input") as raised:
        store.runs.get(PENDING.ref)
    assert "hunter2" not in str(raised.value)


def test_an_attempt_that_lacks_an_attribute_is_named(store: DynamoBackend) -> None:
    assert CALLS["runs.apply: finish"].make(store) is Applied.DONE
    assert store.steps.attempts(MINE.ref) == [ATTEMPT]
    edit(store, attempt_key(MINE.ref, 1), "outcome", None, STEPS)

    with pytest.raises(UnreadableItemError, match=r"ATTEMPT#1.*`outcome` is missing"):
        store.steps.attempts(MINE.ref)


@pytest.mark.parametrize("name, value", [("fencing_token", {"S": "7"}), ("completed_at", {"S": "noon"})])
def test_a_lease_that_cannot_be_understood_is_an_error_not_a_busy_lease(
    store: DynamoBackend, name: str, value: Attribute
) -> None:
    edit(store, lease_key(), name, value)

    with pytest.raises(StoreError, match=r"lease|LEASE"):
        store.lease.take("scheduler-2", NOW + 2 * TTL)


def test_a_lease_whose_end_can_be_compared_with_nothing_is_an_error_not_a_busy_lease(
    store: DynamoBackend,
) -> None:
    # moto cannot compare a number with a text; DynamoDB says that the condition does not hold.
    item = {
        **store.engine.client.get_item(TableName=RUNS, Key=lease_key())["Item"],
        "lease_until": {"N": "1"},
    }

    def refuse(operation: str, _proceed: Proceed) -> Any:
        answer: Any = {"Error": {"Code": "ConditionalCheckFailedException", "Message": ""}, "Item": item}
        raise ClientError(answer, operation)

    store.engine.fault = refuse
    with pytest.raises(UnreadableItemError, match=r"SCHEDULER / LEASE.*`lease_until` is malformed"):
        store.lease.take("scheduler-2", NOW + 2 * TTL)


def test_a_lease_without_an_end_can_be_taken(store: DynamoBackend) -> None:
    edit(store, lease_key(), "lease_until", None)

    grant = store.lease.take("scheduler-2", NOW)

    assert grant is not None
    assert grant.fencing_token == GRANT.fencing_token + 1


def test_no_token_is_made_up_for_a_job_that_has_lost_its_own(store: DynamoBackend) -> None:
    edit(store, job_key(JOB), "fencing_token", None)

    with pytest.raises(UnreadableItemError, match=r"JOB#daily-menu / JOB.*`fencing_token` is missing"):
        store.jobs.next_token(JOB)
    with pytest.raises(UnreadableItemError, match=r"`fencing_token` is missing"):
        store.jobs.get(JOB)


def test_a_job_that_lost_planned_to_is_not_planned(store: DynamoBackend) -> None:
    edit(store, job_key(JOB), "planned_to", None)

    assert store.plans.commit(GRANT, [window(STATE, pending(ref(10)))]) == CommitOutcome(
        stale=frozenset({JOB})
    )


def test_a_finish_over_slots_that_were_edited_is_told_to_read_again(store: DynamoBackend) -> None:
    edit(store, job_key(JOB), "slots", {"SS": ["nonsense"]})

    assert CALLS["runs.apply: finish"].make(store) is Applied.JOB_MOVED


def test_one_unreadable_run_or_gap_does_not_hide_the_others(store: DynamoBackend) -> None:
    store.place(gap(40), gap(60))
    store.spoil_item(gap(40))
    store.spoil_item(MINE)

    assert store.runs.gaps(JOB).records == [gap(30), gap(60)]
    assert [run.ref for run in store.runs.runs(JOB, NOW, NOW + 10 * MINUTE, 2).records] == [
        FAILED.ref,
        QUEUED.ref,
    ]
    assert set(store.runs.get_many([MINE.ref, PENDING.ref])) == {PENDING.ref}


@pytest.mark.parametrize("sk", ["QUEUE#yesterday", "QUEUE#", "QUEUE#2026-01-05T00:00:00Z#"])
def test_a_marker_that_names_no_run_is_passed_over(store: DynamoBackend, sk: str) -> None:
    store.engine.client.put_item(TableName=RUNS, Item={**key(f"JOB#{JOB}", sk), "shape": {"N": "1"}})

    assert store.runs.first_queued(JOB) == QUEUED


def test_more_orphan_markers_than_a_page_do_not_hide_the_queue(store: DynamoBackend) -> None:
    orphans = [queued(ref(-number)) for number in range(1, 26)]
    store.place(*orphans)
    for orphan in orphans:
        store.remove_item(orphan)
        item = {**key(f"JOB#{JOB}", f"QUEUE#{orphan.ref.key}"), "shape": {"N": "1"}}
        store.engine.client.put_item(TableName=RUNS, Item=item)

    assert store.runs.first_queued(JOB) == QUEUED
    assert store.markers(JOB) == [QUEUED.ref]


@pytest.mark.parametrize("due_at", ["", "0", "2026-01-05", "soon"])
def test_i20_a_line_of_the_index_that_was_broken_is_shown_and_can_be_set_aside(
    store: DynamoBackend, due_at: str
) -> None:
    edit(store, run_key(PENDING.ref), "due_at", {"S": due_at or "?"})

    (entry,) = store.index.due(DueKind.PENDING, None, 10)
    assert (entry.run, entry.due_at) == (PENDING.ref, LONG_AGO)
    with pytest.raises(UnreadableItemError, match="`due_at` is malformed"):
        store.runs.get(PENDING.ref)
    assert store.runs.set_aside(entry, NOW + MINUTE)
    assert not store.runs.set_aside(entry, NOW + 2 * MINUTE)
    assert store.runs.get(PENDING.ref) == replace(PENDING, due_at=NOW + MINUTE)


def test_an_end_of_grace_that_was_broken_makes_somebody_look(store: DynamoBackend) -> None:
    edit(store, run_key(PENDING.ref), "expect_by", {"S": "later"})

    (entry,) = store.index.due(DueKind.PENDING, None, 10)

    assert entry.expect_by == LONG_AGO


def test_setting_aside_touches_nothing_but_the_place(store: DynamoBackend) -> None:
    edit(store, run_key(PENDING.ref), "rev", {"S": "torn"})
    (entry,) = store.index.due(DueKind.PENDING, None, 10)
    before = store.engine.client.get_item(TableName=RUNS, Key=run_key(PENDING.ref))["Item"]

    assert store.runs.set_aside(entry, NOW + MINUTE)

    after = store.engine.client.get_item(TableName=RUNS, Key=run_key(PENDING.ref))["Item"]
    assert after == {**before, "due_at": {"S": "2026-01-05T00:01:00.000Z"}}


def test_a_write_leaves_attributes_of_a_later_release_alone(store: DynamoBackend) -> None:
    for at in (run_key(MINE.ref), job_key(JOB), run_key(QUEUED.ref)):
        edit(store, at, "added_later", {"S": "kept"})
    finish = finish_of(MINE, slots=HANDED_ON, woken=(QUEUED, WOKEN))

    assert store.runs.apply(finish) is Applied.DONE
    assert store.plans.commit(GRANT, [window(STATE)]).done

    kept = [item["added_later"]["S"] for item in store.engine.items() if "added_later" in item]
    assert kept == ["kept"] * 3


def test_an_end_writes_over_nothing_that_others_set_meanwhile_but_a_request_to_cancel(
    store: DynamoBackend,
) -> None:
    later = NOW + timedelta(hours=1)
    store.place(replace(MINE, expect_by=later, cancel_requested=True, due_at=later, rev=9))

    assert store.runs.apply(finish_of(MINE)) is Applied.DONE

    run = stored(store, MINE.ref)
    assert (run.status, run.expect_by, run.cancel_requested, run.rev) == (
        RunStatus.SUCCEEDED,
        later,
        False,
        10,
    )


def test_all_steps_of_a_run_are_read_over_several_pages(store: DynamoBackend) -> None:
    big = [step(MINE.ref, "send", chunk=number, result="x" * 200_000) for number in range(1, 13)]
    for chunk in big:
        assert store.steps.record(MINE, chunk)
    store.engine.calls.clear()

    assert [kept.chunk for kept in store.steps.load(MINE.ref)] == [None, None, *range(1, 13)]
    assert len(store.engine.calls) >= 2, "2.4 MB do not come in one page"
