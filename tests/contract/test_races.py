"""Sixteen threads at once.

Invariants:
- of many that write the same thing one wins, and everybody else knows that they did not;
- fencing tokens grow strictly, in the order in which the claims were written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.answers import Applied, CommitOutcome
from cronce.core.changes import Guard, RunChange
from cronce.core.lease import Grant
from cronce.core.named_lease import NamedLease, Taking
from cronce.core.records import Slots
from tests.contract.backends import Backend
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    born,
    claim_of,
    gap,
    grant_of,
    job_in,
    job_state,
    pending,
    ref,
    running,
    step,
    stored,
    window,
)
from tests.contract.probe import THREADS, at_once

pytestmark = pytest.mark.usefixtures("linearizable")

TRIES = 1_000
"""More than sixteen threads that each win once can lose: a broken store shall not go on for ever."""


@pytest.fixture(autouse=True)
def hurried_threads() -> Iterator[None]:
    """Threads take turns a thousand times as often as usual, so that a missing lock shows."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 1000)
    yield
    sys.setswitchinterval(usual)


def test_p28_sixteen_threads_put_the_same_run_and_one_wins(backend: Backend) -> None:
    def put(number: int) -> Applied:
        record = pending(ref(0), created_at=NOW + timedelta(milliseconds=number))
        return backend.runs.apply(RunChange(before=None, after=record, guard=Guard.BORN))

    outcomes = at_once(put)

    assert outcomes.count(Applied.DONE) == 1
    assert set(outcomes) <= {Applied.DONE, Applied.RUN_MOVED, Applied.CONFLICT}
    assert stored(backend, ref(0)).created_at == NOW + timedelta(milliseconds=outcomes.index(Applied.DONE))


def test_sixteen_threads_plan_the_same_window_and_one_wins(backend: Backend) -> None:
    backend.place(job_state())
    grant = grant_of(backend)

    def plan(number: int) -> CommitOutcome:
        made = pending(ref(1), created_at=NOW + timedelta(milliseconds=number))
        return backend.plans.commit(grant, [window(job_state(), made, gaps=(gap(5, count=number + 1),))])

    outcomes = at_once(plan)

    (winner,) = (number for number, outcome in enumerate(outcomes) if outcome.done)
    assert all(outcome.stale or outcome.problem for outcome in outcomes if not outcome.done)
    assert stored(backend, ref(1)).created_at == NOW + timedelta(milliseconds=winner)
    assert backend.runs.gaps(JOB).records == [gap(5, count=winner + 1)]


def test_sixteen_threads_take_the_lease_and_one_gets_it_in_each_round(backend: Backend) -> None:
    tokens = []
    for turn in range(4):

        def take(number: int, turn: int = turn) -> Grant | None:
            return backend.lease.take(f"owner-{turn}-{number}", NOW + turn * MINUTE)

        grants = [grant for grant in at_once(take) if grant is not None]
        assert len(grants) == 1
        tokens.append(grants[0].fencing_token)

    assert tokens == [1, 2, 3, 4]


def test_sixteen_threads_take_a_jobs_own_lease_and_one_gets_it_in_each_round(backend: Backend) -> None:
    tokens = []
    for turn in range(4):

        def take(number: int, turn: int = turn) -> NamedLease | None:
            asked = Taking(
                name="export", owner=f"{turn}-{number}", holder="run", ttl=MINUTE, now=NOW + turn * MINUTE
            )
            lease = backend.leases.take(asked)
            return lease if lease.owner == asked.owner else None

        leases = [lease for lease in at_once(take) if lease is not None]
        assert len(leases) == 1
        tokens.append(leases[0].fencing_token)

    assert tokens == [1, 2, 3, 4]


def test_p42_sixteen_executors_claim_one_run_and_one_gets_it(backend: Backend) -> None:
    backend.place(job_state())
    seen = born(backend, pending(ref(0)))

    def claim(number: int) -> Applied:
        for _ in range(TRIES):
            outcome = backend.runs.apply(claim_of(seen, token=1, owner=f"worker-{number}", slots=Slots()))
            if outcome is not Applied.CONFLICT:
                return outcome
        return Applied.CONFLICT

    outcomes = at_once(claim)

    assert outcomes.count(Applied.DONE) == 1
    assert stored(backend, ref(0)).owner == f"worker-{outcomes.index(Applied.DONE)}"
    assert job_in(backend).slots == Slots(held=frozenset({ref(0).id}), fencing_token=1)


def test_i26_claims_of_sixteen_runs_of_one_job_have_strictly_increasing_tokens(backend: Backend) -> None:
    backend.place(job_state())
    runs = [born(backend, pending(ref(number))) for number in range(THREADS)]

    def claim(number: int) -> int:
        for _ in range(TRIES):
            slots = job_in(backend).slots
            change = claim_of(
                runs[number], token=slots.fencing_token + 1, owner=f"worker-{number}", slots=slots
            )
            if backend.runs.apply(change) is Applied.DONE:
                return slots.fencing_token + 1
        raise AssertionError(f"worker {number} never got through")

    tokens = at_once(claim)

    assert sorted(tokens) == list(range(1, THREADS + 1))
    assert [stored(backend, ref(number)).fencing_token for number in range(THREADS)] == tokens
    assert job_in(backend).slots == Slots(held=frozenset(run.ref.id for run in runs), fencing_token=THREADS)


def test_i26_tokens_of_a_job_without_slots_are_handed_out_once_each(backend: Backend) -> None:
    backend.place(job_state())

    tokens = at_once(lambda number: backend.jobs.next_token(JOB))

    assert sorted(token or 0 for token in tokens) == list(range(1, THREADS + 1))
    assert job_in(backend).slots.fencing_token == THREADS


def test_sixteen_workers_record_the_same_step_and_it_is_the_holders(backend: Backend) -> None:
    backend.place(running(ref(0), owner="worker-5"))

    def record(number: int) -> bool:
        mine = running(ref(0), owner=f"worker-{number}")
        return backend.steps.record(mine, step(ref(0), owner=mine.owner))

    recorded = at_once(record)

    assert [number for number, done in enumerate(recorded) if done] == [5]
    assert [kept.owner for kept in backend.steps.load(ref(0))] == ["worker-5"]


def test_sixteen_operators_touch_a_run_and_none_overwrites_another(backend: Backend) -> None:
    born(backend, pending(ref(0)))

    def touch(number: int) -> None:
        for _ in range(TRIES):
            seen = stored(backend, ref(0))
            after = replace(seen, dispatches=seen.dispatches + 1, request_id=f"operator-{number}")
            if backend.runs.apply(RunChange(before=seen, after=after, guard=Guard.SEEN)) is Applied.DONE:
                return
        raise AssertionError(f"operator {number} never got through")

    at_once(touch)

    assert stored(backend, ref(0)).dispatches == THREADS
    assert stored(backend, ref(0)).rev == THREADS + 1
