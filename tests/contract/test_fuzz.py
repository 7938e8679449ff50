"""Sixteen workers fight over the slots of one job, with the engine's own protocols.

Invariants:
- each run is executed once, and all are;
- no more of them at once than there are slots;
- in the end nobody is queued, there is no marker, and no slot is held but by a run that said that it left it
  behind (whoever finds the slots full drops those);
- tokens are strictly increasing, and none is used twice.
"""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from cronce.core import moves
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.claim import Invocation
from cronce.core.job import job
from cronce.core.records import RunRecord, RunRef, Slots
from cronce.core.run import RunStatus, Trigger
from cronce.core.schedule import Cron
from cronce.core.slots import RunPolicy
from cronce.engine.claims import Candidate, Claims, Entry
from cronce.engine.ledger import Ledger
from cronce.testing import ManualClock, RecordingTelemetry
from tests.contract.backends import Backend
from tests.contract.makers import JOB, NOW, born, job_in, job_state, pending, ref, step, stored
from tests.contract.probe import at_once
from tests.support.dynamodb_backend import DynamoBackend

pytestmark = pytest.mark.usefixtures("linearizable")

RUNS = 20
SLOTS = 3
ROUNDS = 300
"""Of one worker: far more than it takes, so that a store that loses a run does not go on for ever."""
RETENTION = timedelta(days=400)
CONTESTED = job(JOB, schedule=Cron("* * * * *"), concurrency=SLOTS)(lambda run: None)
POLICY = RunPolicy.of(CONTESTED)


class NoSkew:
    """All clocks agree: the engines' own is real, that of the tests is not."""

    def skew(self) -> timedelta:
        return timedelta(0)


@dataclass
class Fight:
    """What the workers share, and what was seen of them.

    Attributes:
        backend: the store.
        claims: theirs.
        refs: of all runs.
        tokens: of all claims, by run.
        at_work: workers between claim and end.
        most: of them at once.
    """

    backend: Backend
    claims: Claims
    refs: list[RunRef]
    tokens: dict[str, list[int]] = field(default_factory=dict)
    at_work: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def worker(self, number: int) -> None:
        """Take whatever is to be done until all is."""
        draw = random.Random(number)
        for turn in range(ROUNDS):
            runs = self.backend.runs.get_many(self.refs)
            left = [runs[each] for each in self.refs if not runs[each].status.is_final]
            if not left:
                return
            run = draw.choice(left)
            if run.status is RunStatus.PENDING:
                self.execute(run, f"worker-{number}-{turn}")
            elif run.is_queued:
                self.claims.wake(run, POLICY, NOW)
        raise AssertionError("not everything was done")

    def execute(self, run: RunRecord, owner: str) -> None:
        """What an executor does."""
        invocation = Invocation(owner=owner, deadline=NOW + timedelta(minutes=15))
        admission = self.claims.claim(Candidate(run=run, job=CONTESTED, invocation=invocation))
        if admission.entry is not Entry.CLAIMED:
            return
        claimed = admission.run
        with self.lock:
            self.tokens.setdefault(run.ref.id, []).append(claimed.fencing_token)
            self.at_work += 1
            self.most = max(self.most, self.at_work)
        mine = stored(self.backend, run.ref)
        recorded = step(run.ref, owner=owner, fencing_token=claimed.fencing_token)
        assert self.backend.steps.record(mine, recorded)
        with self.lock:
            self.at_work -= 1
        ended = moves.succeeded(mine, NOW, RETENTION)
        change = RunChange(before=mine, after=ended, guard=Guard.LIVE)
        for _ in range(ROUNDS):
            if self.claims.ledger.move(change, POLICY) is Applied.DONE:
                return
        raise AssertionError(f"the end of {run.ref.id} was not written")


def test_sixteen_workers_do_all_runs_once_within_the_slots(backend: Backend, clock: ManualClock) -> None:
    if isinstance(backend, DynamoBackend) and backend.engine.one_at_a_time:
        pytest.skip("moto sees one call at a time: nothing races there")
    backend.place(job_state())
    refs = [ref(0, suffix=f"m{number:02d}") for number in range(RUNS)]
    for each in refs:
        born(backend, pending(each, trigger=Trigger.MANUAL, expect_by=None))
    telemetry = RecordingTelemetry()
    ledger = Ledger(
        runs=backend.runs,
        jobs=backend.jobs,
        clock=clock,
        telemetry=telemetry,
        retention=RETENTION,
        draw=lambda: 0.0,
    )
    fight = Fight(backend, Claims(ledger=ledger, store_clock=NoSkew()), refs)

    at_once(fight.worker)

    ended = [stored(backend, each) for each in refs]
    assert {run.status for run in ended} == {RunStatus.SUCCEEDED}
    assert [len(fight.tokens[each.id]) for each in refs] == [1] * RUNS
    assert fight.most <= SLOTS
    slots = job_in(backend).slots
    left_behind = {line.fields["run"] for line in telemetry.named("slot.left_behind")}
    assert slots.held <= left_behind
    assert replace(slots, held=frozenset()) == Slots(fencing_token=RUNS)
    assert sorted(run.fencing_token for run in ended) == list(range(1, RUNS + 1))
    assert backend.markers(JOB) == []
    assert all([kept.owner for kept in backend.steps.load(run.ref)] == [run.last_owner] for run in ended)
