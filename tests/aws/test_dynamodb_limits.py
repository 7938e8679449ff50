"""What is refused before it is sent: engines used in tests take it, and the real store's error names nothing.

Invariants:
- a transaction of more than 100 actions or 4 MB, or with one item twice, an item over 400 KB and a key
  over its length never reach the store; the error names the item or the size;
- for a plan that is a problem, so that each job is sent alone; for a step it is the author's error;
- a size is never taken for smaller than the store counts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cronce.aws.limits import (
    ITEM_BYTES,
    TRANSACTION_ACTIONS,
    TRANSACTION_BYTES,
    check_transaction,
    check_write,
    item_bytes,
)
from cronce.aws.writes import Write, check, delete, put
from cronce.core.changes import Guard, RunChange
from cronce.core.errors import RefusedError, StepResultTooLargeError, StoreError
from cronce.core.jobstate import Registry, RegistryEntry
from cronce.testing import ManualClock
from cronce_tools.local.moto_engine import Proceed
from tests.contract.makers import NOW, job_state, pending, ref, step, window
from tests.support.dynamodb_backend import DynamoBackend, dynamodb
from tests.support.port_calls import GRANT, MINE, STATE, fill

LARGE = ITEM_BYTES // 10 * 9


@pytest.fixture
def store() -> Iterator[DynamoBackend]:
    """A store with a job and some runs."""
    with dynamodb(ManualClock()) as backend:
        fill(backend)
        yield backend


def of_size(size: int, sk: str = "STEP#a") -> Write:
    """A put of an item of exactly so many bytes."""
    item = {"pk": {"S": "x"}, "sk": {"S": sk}, "text": {"S": ""}}
    return put("steps", {**item, "text": {"S": "t" * (size - item_bytes(item))}})


@pytest.mark.parametrize(
    "attribute, size",
    [
        ({"S": "abc"}, 3),
        ({"S": "ü€"}, 5),
        ({"S": ""}, 0),
        ({"SS": ["ab", "c"]}, 3),
        ({"N": "7"}, 2),
        ({"N": "1" * 38}, 21),
        ({"BOOL": True}, 1),
        ({"M": {"ab": {"S": "c"}}}, 3 + 2 + 1 + 1),
        ({"L": [{"S": "c"}, {"M": {}}]}, 3 + 1 + 1 + 1 + 3),
    ],
)
def test_sizes_are_those_that_the_store_counts(attribute: dict[str, Any], size: int) -> None:
    assert item_bytes({"name": attribute}) == len("name") + size


def test_p90_an_item_of_400_kb_is_sent_and_one_byte_more_is_not() -> None:
    check_write("record a step", of_size(ITEM_BYTES))

    with pytest.raises(RefusedError, match=rf"record a step: item x / STEP#a takes {ITEM_BYTES + 1} bytes"):
        check_write("record a step", of_size(ITEM_BYTES + 1))


def test_p90_a_sort_key_over_its_length_is_not_sent() -> None:
    check_write("write", of_size(2000, "s" * 1024))

    for write in (of_size(2000, "s" * 1025), delete("steps", of_size(2000, "s" * 1025).key)):
        with pytest.raises(RefusedError, match=r"write: sort key x / sss.* takes 1025 bytes"):
            check_write("write", write)


def test_p90_a_transaction_of_100_actions_is_sent_and_one_more_is_not() -> None:
    writes = [of_size(100, f"STEP#{number}") for number in range(TRANSACTION_ACTIONS + 1)]
    check_transaction("plan", writes[:-1])

    with pytest.raises(RefusedError, match=r"plan: 101 actions in one transaction; it takes 100"):
        check_transaction("plan", writes)


def test_p90_a_transaction_of_4_mb_is_sent_and_a_little_more_is_not() -> None:
    whole = [of_size(ITEM_BYTES, f"STEP#{number}") for number in range(10)]
    rest = TRANSACTION_BYTES - 10 * ITEM_BYTES
    check_transaction("plan", [*whole, of_size(rest, "STEP#rest")])

    with pytest.raises(RefusedError, match=rf"plan: {TRANSACTION_BYTES + 1} bytes in one transaction"):
        check_transaction("plan", [*whole, of_size(rest + 1, "STEP#rest")])


def test_p90_checks_count_towards_the_size_of_a_transaction_too() -> None:
    whole = [of_size(ITEM_BYTES, f"STEP#{number}") for number in range(10)]
    rest = of_size(TRANSACTION_BYTES - 10 * ITEM_BYTES, "STEP#rest")

    with pytest.raises(RefusedError, match="bytes in one transaction"):
        check_transaction("plan", [*whole, rest, check("runs", of_size(100).key, "attribute_exists(#pk)")])


def test_p90_one_item_twice_in_a_transaction_is_not_sent() -> None:
    with pytest.raises(RefusedError, match="two actions of one transaction are on item x / STEP#a"):
        check_transaction("plan", [of_size(100), check("steps", of_size(100).key, "attribute_exists(#pk)")])


def test_p90_the_same_key_in_two_tables_is_two_items() -> None:
    check_transaction("plan", [of_size(100), check("runs", of_size(100).key, "attribute_exists(#pk)")])


def test_i6_a_record_too_large_is_a_problem_that_names_it_and_nothing_is_sent(store: DynamoBackend) -> None:
    outcome = store.plans.commit(GRANT, [window(STATE, pending(ref(10), error="x" * (ITEM_BYTES + 1)))])

    assert outcome.problem is not None
    assert "RUN#2026-01-05T00:10:00Z takes" in outcome.problem
    assert store.engine.calls == []


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(window(STATE, pending(ref(10), timeout=timedelta(seconds=1.5))), id="half seconds"),
        pytest.param(
            window(STATE, pending(replace(ref(10), scheduled_at=NOW.replace(microsecond=1)))), id="key"
        ),
        pytest.param(window(STATE, grace=timedelta(seconds=0.5)), id="grace"),
        pytest.param(window(STATE, planned_to=NOW.replace(tzinfo=None)), id="naive"),
    ],
)
def test_i6_a_record_that_cannot_be_stored_is_a_problem_and_nothing_is_sent(
    store: DynamoBackend, broken: Any
) -> None:
    assert store.plans.commit(GRANT, [broken]).problem is not None
    assert store.engine.calls == []


def test_i6_what_the_store_itself_refuses_is_a_problem_too(store: DynamoBackend) -> None:
    def refuse(operation: str, _proceed: Proceed) -> Any:
        raise ClientError({"Error": {"Code": "ValidationException", "Message": "no such thing"}}, operation)

    store.engine.fault = refuse
    outcome = store.plans.commit(GRANT, [window(STATE, pending(ref(10)))])

    assert outcome.problem == "plan: ValidationException: no such thing"


def test_more_than_99_actions_of_a_plan_are_a_problem(store: DynamoBackend) -> None:
    runs = [pending(ref(10 + number)) for number in range(98)]

    assert store.plans.commit(GRANT, [window(STATE, *runs)]).done
    more = replace(
        window(job_state("another")), runs=tuple(pending(ref(n, job="another")) for n in range(99))
    )
    outcome = store.plans.commit(GRANT, [more])
    assert outcome.problem == "plan: 101 actions in one transaction; it takes 100"


def test_a_step_too_large_is_the_authors_error_and_names_run_step_and_size(store: DynamoBackend) -> None:
    with pytest.raises(
        StepResultTooLargeError,
        match=rf"run {MINE.ref.id}: step 'build': \d+ bytes, and an item takes {ITEM_BYTES}",
    ):
        store.steps.record(MINE, step(MINE.ref, result="x" * ITEM_BYTES))
    assert store.engine.calls == []


def test_a_step_just_below_the_limit_is_recorded(store: DynamoBackend) -> None:
    large = step(MINE.ref, result="x" * LARGE)

    assert store.steps.record(MINE, large)
    assert large in list(store.steps.load(MINE.ref))


def test_a_registry_too_large_names_its_item(store: DynamoBackend) -> None:
    entry = RegistryEntry(module="m" * 500, schedule_hash="h" * 64, grace=timedelta(minutes=1))
    jobs = {f"job-{number}": entry for number in range(1_000)}

    with pytest.raises(StoreError, match="write the registry: item SCHEDULER / REGISTRY takes"):
        store.registry.write(GRANT, Registry(jobs=jobs, zone_data="z", fingerprint="f"))


def test_a_run_too_large_names_its_item(store: DynamoBackend) -> None:
    born = RunChange(before=None, after=pending(ref(10), error="x" * ITEM_BYTES), guard=Guard.BORN)

    with pytest.raises(StoreError, match=r"write run daily-menu@.*: item JOB#daily-menu / RUN#.* takes"):
        store.runs.apply(born)


def test_a_registry_of_a_thousand_jobs_fits(store: DynamoBackend) -> None:
    entry = RegistryEntry(module="jobs.some_module_name", schedule_hash="h" * 64, grace=timedelta(minutes=1))
    registry = Registry(
        jobs={f"a-job-with-a-name-{number}": entry for number in range(1_000)}, zone_data="z", fingerprint="f"
    )

    assert store.registry.write(GRANT, registry)
    assert store.registry.read() == registry
