"""Reads that are answered one item a page: whatever is read as a list is read to its end.

Invariants:
- no read answers otherwise because its answer comes in more pages;
- that holds for every port method that queries, found by what it sends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.run import DueKind
from cronce.testing import ManualClock, Marker
from cronce_tools.local.moto_engine import Proceed
from tests.contract.makers import JOB, MINUTE, NOW, gap, queued, ref, step, stored
from tests.support.dynamodb_backend import DynamoBackend, dynamodb
from tests.support.port_calls import ACT, ATTEMPT, MINE, PENDING, READS, fill

QUERIES = [name for name, call in READS.items() if "Query" in call.sends and name != "steps.input"]
LISTS: dict[str, Any] = {
    "index.due": lambda store: store.index.due(DueKind.NOTICE, None, 10),
    "runs.runs": lambda store: store.runs.runs(JOB, NOW, NOW + 60 * MINUTE, 50).records,
    "runs.gaps": lambda store: store.runs.gaps(JOB).records,
    "runs.first_queued": lambda store: store.runs.first_queued(JOB),
    "steps.load": lambda store: list(store.steps.load(MINE.ref)),
    "steps.attempts": lambda store: store.steps.attempts(MINE.ref),
    "steps.acts": lambda store: store.steps.acts(PENDING.ref.id),
}
"""A call of each that has more than one item to read."""


@pytest.fixture
def store() -> Iterator[DynamoBackend]:
    """A store with several items for each list; the first queue markers are orphans."""
    with dynamodb(ManualClock()) as backend:
        fill(backend)
        orphans = [Marker(ref=ref(-number)) for number in range(1, 4)]
        backend.place(*orphans, queued(ref(20), rev=1), Marker(ref=ref(20)))
        backend.place(*(gap(100 * number) for number in range(1, 5)))
        for name in ("a", "b", "c"):
            assert backend.steps.record(MINE, step(MINE.ref, name))
        for number in range(1, 5):
            run = stored(backend, PENDING.ref)
            kept = replace(ATTEMPT, number=number)
            after = replace(run, dispatches=number, act=replace(ACT, at=NOW + number * MINUTE))
            # attempts are kept beside any write of a run; whose they are does not matter here
            change = RunChange(before=run, after=after, guard=Guard.SEEN, attempt=kept)
            assert backend.runs.apply(change) is Applied.DONE
        yield backend


def test_every_read_that_queries_is_here() -> None:
    assert sorted(LISTS) == sorted(QUERIES)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_complete_however_many_pages_it_takes(store: DynamoBackend, name: str) -> None:
    whole = LISTS[name](store)
    if name == "runs.first_queued":  # it has deleted the orphans
        store.place(*(Marker(ref=ref(-number)) for number in range(1, 4)))
    store.engine.calls.clear()

    def one_item_a_page(operation: str, proceed: Proceed) -> Any:
        if operation == "Query":
            store.engine.requests[-1]["Limit"] = 1
        return proceed()

    store.engine.fault = one_item_a_page

    assert LISTS[name](store) == whole
    assert store.engine.calls.count("Query") >= 3
