"""What is more than the store takes is refused by us, before it is sent, and leaves nothing behind.

Invariants:
- a plan of 100 actions, its lease check included, is written, and one of 101 is a problem;
- so is one of more than 4 MB, and a record of more than 400 KB;
- the store's own error is never what a caller sees.
"""

from __future__ import annotations

import pytest

from cronce.core.errors import StepResultTooLargeError
from tests.contract.backends import Backend
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    grant_of,
    job_in,
    job_state,
    pending,
    ref,
    running,
    step,
    window,
)
from tests.support.dynamodb_backend import DynamoBackend

KB = 1024


def sent(backend: Backend) -> list[str]:
    """Writes that reached the store; a store in memory cannot be asked."""
    calls = backend.engine.calls if isinstance(backend, DynamoBackend) else []
    return [call for call in calls if call == "TransactWriteItems"]


@pytest.mark.parametrize("runs, done", [(98, True), (99, False)])
def test_p90_a_plan_takes_100_actions(backend: Backend, runs: int, done: bool) -> None:
    backend.place(job_state())
    grant = grant_of(backend)

    planned = window(job_in(backend), *(pending(ref(number)) for number in range(1, runs + 1)))
    outcome = backend.plans.commit(grant, [planned])

    assert outcome.done is done
    assert (outcome.problem is None) is done
    assert len(sent(backend)) <= done
    found = backend.runs.runs(JOB, NOW, NOW + 200 * MINUTE, 200).records
    assert len(found) == (runs if done else 0)


@pytest.mark.parametrize("kilobytes, runs, done", [(390, 10, True), (390, 11, False), (401, 1, False)])
def test_p90_a_plan_takes_4_mb_and_400_kb_a_record(
    backend: Backend, kilobytes: int, runs: int, done: bool
) -> None:
    backend.place(job_state())
    grant = grant_of(backend)
    large = [pending(ref(number), log_stream="x" * (kilobytes * KB)) for number in range(1, runs + 1)]

    outcome = backend.plans.commit(grant, [window(job_in(backend), *large)])

    assert outcome.done is done
    assert (outcome.problem is None) is done
    assert len(sent(backend)) <= done
    assert job_in(backend).planned_to == (NOW + MINUTE if done else NOW)
    assert len(backend.runs.runs(JOB, NOW, NOW + 60 * MINUTE, 20).records) == (runs if done else 0)


def test_p90_a_step_takes_400_kb(backend: Backend) -> None:
    mine = running(ref(0))
    backend.place(mine)
    assert backend.steps.record(mine, step(ref(0), "fits", result="x" * (390 * KB)))

    with pytest.raises(StepResultTooLargeError, match="step 'large'"):
        backend.steps.record(mine, step(ref(0), "large", result="x" * (400 * KB + 1)))

    assert [kept.name for kept in backend.steps.load(ref(0))] == ["fits"]
