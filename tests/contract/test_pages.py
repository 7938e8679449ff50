"""Answers that do not fit into one page of the store, which ends after a megabyte.

Invariants:
- every list is complete and in order, however many pages it takes;
- a bound on the number of entries counts entries, not pages.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.records import AttemptRecord
from cronce.core.run import DueKind
from cronce.testing import ManualClock
from tests.contract.backends import Backend
from tests.contract.makers import JOB, MINUTE, NOW, born, gap, pending, ref
from tests.support.dynamodb_backend import DynamoBackend

LARGE = "x" * 200_000
LONG_NAME = "j" * 1_900
"""A partition key may take 2,048 bytes, and stands in the index as well: it makes small items large."""
MANY = 600
"""So many of them are more than a page."""


def asked(backend: Backend) -> int:
    """How many pages were asked for; a store without pages counts as if there had been several."""
    return backend.engine.calls.count("Query") if isinstance(backend, DynamoBackend) else 2


def forget_calls(backend: Backend) -> None:
    """What was written does not count."""
    if isinstance(backend, DynamoBackend):
        backend.engine.calls.clear()


def test_runs_of_a_job_over_several_pages_are_all_listed(backend: Backend) -> None:
    runs = [pending(ref(number), rev=1, log_stream=LARGE) for number in range(12)]
    backend.place(*runs)
    forget_calls(backend)

    assert backend.runs.runs(JOB, NOW, NOW + 60 * MINUTE, 100).records == runs[::-1]
    assert asked(backend) > 1
    assert backend.runs.runs(JOB, NOW, NOW + 60 * MINUTE, 11).records == runs[:0:-1]


def test_attempts_over_several_pages_are_all_listed(backend: Backend) -> None:
    run = born(backend, pending(ref(0)))
    kept = [
        AttemptRecord(
            ref=run.ref,
            number=number,
            fencing_token=number,
            started_at=NOW,
            ended_at=NOW,
            outcome="error",
            error=LARGE,
        )
        for number in range(1, 8)
    ]
    for attempt in kept:
        after = replace(run, dispatches=attempt.number)
        change = RunChange(before=run, after=after, guard=Guard.SEEN, attempt=attempt)
        assert backend.runs.apply(change) is Applied.DONE
        run = replace(after, rev=run.rev + 1)
    forget_calls(backend)

    assert backend.steps.attempts(run.ref) == kept
    assert asked(backend) > 1


def test_gaps_and_the_index_over_several_pages_are_all_listed(backend: Backend, clock: ManualClock) -> None:
    gaps = [
        replace(gap(10 * number, job=LONG_NAME), created_at=NOW + number * MINUTE) for number in range(MANY)
    ]
    backend.place(*reversed(gaps))
    clock.advance(MINUTE)  # the index is late
    forget_calls(backend)

    assert backend.runs.gaps(LONG_NAME).records == gaps
    assert asked(backend) > 1

    forget_calls(backend)
    lines = backend.index.due(DueKind.NOTICE, NOW + MANY * MINUTE, 10_000)
    assert [line.due_at for line in lines] == [each.created_at for each in gaps]
    assert asked(backend) > 1
    assert len(backend.index.due(DueKind.NOTICE, NOW + MANY * MINUTE, MANY - 1)) == MANY - 1


@pytest.mark.slow
def test_a_batch_larger_than_one_answer_is_read_completely(backend: Backend) -> None:
    runs = [pending(ref(number), rev=1, log_stream=LARGE) for number in range(95)]
    backend.place(*runs)

    assert backend.runs.get_many([run.ref for run in runs]) == {run.ref: run for run in runs}
