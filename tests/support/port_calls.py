"""One call of every method of every store port, on a store in which it succeeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from cronce.core.acts import Act, What
from cronce.core.alerts import Alert
from cronce.core.answers import DueEntry
from cronce.core.changes import Guard, RunChange, SlotsChange
from cronce.core.job_change import JobChange
from cronce.core.jobstate import JobWindow, Registry
from cronce.core.lease import Grant
from cronce.core.named_lease import Taking
from cronce.core.records import AttemptRecord, Slots, StepStatus
from cronce.core.resolution import Verdict, resolved
from cronce.core.run import Dispatch, DueKind, RunStatus, Trigger
from cronce.core.run_input import RunInput
from cronce.testing import Marker
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    TTL,
    claim_of,
    failed,
    finish_of,
    gap,
    job_state,
    pending,
    queued,
    ref,
    running,
    step,
    window,
)
from tests.support.dynamodb_backend import DynamoBackend

GRANT = Grant(owner="scheduler-1", fencing_token=1)
REGISTRY = Registry(jobs={}, zone_data="2026f", fingerprint="f")
MINE = running(ref(0))
PENDING = pending(ref(1), rev=1)
QUEUED = queued(ref(2), rev=1)
WOKEN = replace(
    QUEUED, status=RunStatus.PENDING, reason=None, dispatch=Dispatch.STREAM, due_at=NOW + 2 * MINUTE
)
FAILED = failed(ref(3))
READ = Slots(held=frozenset({MINE.ref.id}), queued=1, fencing_token=7)
STATE = job_state(slots=READ)
ALERT = Alert(scope=JOB, since=NOW, times=(), count=0, due_at=NOW)
ATTEMPT = AttemptRecord(
    ref=MINE.ref, number=1, fencing_token=7, started_at=NOW, ended_at=NOW, outcome="error", error="no soup"
)
TAKING = Taking(name="export", owner="me/1", holder=MINE.ref.id, ttl=timedelta(minutes=10), now=NOW)
TAKEN = TAKING.taken(1)
HELD = replace(TAKEN, name="import")
BEGUN = step(MINE.ref, "charge", status=StepStatus.STARTED, until=NOW + TTL)
STARTED = replace(BEGUN, ref=FAILED.ref)
ACT = Act(what=What.RESOLVE, by="ann", why="it is on the statement", at=NOW)
LONG = '"' + 300 * "i" + '"'
MANUAL = pending(ref(9, suffix="a1"), trigger=Trigger.MANUAL, input_kept=True)
GIVEN = RunInput(ref=MANUAL.ref, text=LONG, at=NOW)
SIGNED = job_state("signed", act=ACT)
SAID = Verdict(done='"paid"', act=ACT)
HANDED_ON = SlotsChange(before=READ, after=replace(READ, held=frozenset({QUEUED.ref.id}), queued=0))


def line(kind: DueKind, sk: str, minutes: int) -> DueEntry:
    """A line of the index as it is read."""
    return DueEntry(kind=kind, due_at=NOW + minutes * MINUTE, pk=f"JOB#{JOB}", sk=sk)


def fill(store: DynamoBackend) -> None:
    """A lease that `GRANT` holds, and a job with a run in every state that matters."""
    assert store.lease.take("scheduler-1", NOW) == GRANT
    for begun in (BEGUN, STARTED):
        claimed = running(begun.ref)
        store.place(claimed)
        assert store.steps.record(claimed, begun)
    store.place(SIGNED, gap(30, job=SIGNED.name))
    store.place(STATE, MINE, PENDING, QUEUED, Marker(ref=QUEUED.ref), FAILED, gap(30))
    assert store.leases.take(replace(TAKING, name=HELD.name)) == HELD
    store.engine.calls.clear()
    store.engine.requests.clear()


@dataclass(frozen=True, kw_only=True)
class PortCall:
    """A method of a port, called.

    Attributes:
        make: calls it.
        sends: the client's calls that it takes, in order.
        twice: what the second of two executions answers, when the first one's reply was lost; None = reads.
    """

    make: Callable[[DynamoBackend], Any]
    sends: tuple[str, ...]
    twice: Callable[[Any], bool] | None = None


def _is_true(answer: object) -> bool:
    return answer is True


def _is_done(answer: Any) -> bool:
    return bool(answer == "done" or getattr(answer, "done", False))


CALLS: dict[str, PortCall] = {
    "lease.take": PortCall(
        make=lambda s: s.lease.take("scheduler-2", NOW + 2 * TTL),
        sends=("UpdateItem",),
        twice=lambda grant: bool(grant == Grant(owner="scheduler-2", fencing_token=2)),
    ),
    "lease.read": PortCall(make=lambda s: s.lease.read(), sends=("GetItem",)),
    "lease.release": PortCall(
        make=lambda s: s.lease.release(GRANT, NOW), sends=("UpdateItem",), twice=_is_true
    ),
    "leases.take": PortCall(
        make=lambda s: s.leases.take(TAKING), sends=("UpdateItem",), twice=lambda lease: bool(lease == TAKEN)
    ),
    "leases.take: a judged one": PortCall(
        make=lambda s: s.leases.take(replace(TAKING, name=HELD.name), judged=HELD),
        sends=("UpdateItem",),
        twice=lambda lease: bool((lease.owner, lease.fencing_token) == (TAKING.owner, 2)),
    ),
    "leases.renew": PortCall(
        make=lambda s: s.leases.renew(replace(HELD, until=NOW + timedelta(hours=1))),
        sends=("UpdateItem",),
        twice=_is_true,
    ),
    "leases.release": PortCall(make=lambda s: s.leases.release(HELD), sends=("UpdateItem",), twice=_is_true),
    "registry.read": PortCall(make=lambda s: s.registry.read(), sends=("GetItem",)),
    "registry.write": PortCall(
        make=lambda s: s.registry.write(GRANT, REGISTRY), sends=("TransactWriteItems",), twice=_is_true
    ),
    "jobs.get": PortCall(make=lambda s: s.jobs.get(JOB), sends=("GetItem",)),
    "jobs.get_many": PortCall(make=lambda s: s.jobs.get_many([JOB]), sends=("BatchGetItem",)),
    "jobs.change": PortCall(
        make=lambda s: s.jobs.change(
            JobChange(before=STATE, after=replace(STATE, act=replace(ACT, what=What.PAUSE), due_at=None))
        ),
        sends=("UpdateItem",),
        twice=_is_done,
    ),
    "jobs.change of an act and a gap": PortCall(
        make=lambda s: s.jobs.change(
            JobChange(
                before=SIGNED,
                after=replace(SIGNED, act=replace(ACT, what=What.REWIND)),
                gaps=(gap(30, job=SIGNED.name),),
            )
        ),
        sends=("TransactWriteItems",),
        twice=_is_done,
    ),
    "jobs.next_token": PortCall(
        make=lambda s: s.jobs.next_token(JOB), sends=("UpdateItem",), twice=lambda token: bool(token == 9)
    ),
    "plans.commit": PortCall(
        make=lambda s: s.plans.commit(
            GRANT, [window(STATE, pending(ref(10)), queued(ref(11)), gaps=(gap(12),))]
        ),
        sends=("TransactWriteItems",),
        twice=_is_done,
    ),
    "plans.commit of a new job": PortCall(
        make=lambda s: s.plans.commit(GRANT, [JobWindow(before=None, after=job_state("another"))]),
        sends=("TransactWriteItems",),
        twice=_is_done,
    ),
    "index.due": PortCall(make=lambda s: s.index.due(DueKind.NOTICE, None, 10), sends=("Query",)),
    "runs.get": PortCall(make=lambda s: s.runs.get(MINE.ref), sends=("GetItem",)),
    "runs.get_many": PortCall(make=lambda s: s.runs.get_many([MINE.ref]), sends=("BatchGetItem",)),
    "runs.runs": PortCall(make=lambda s: s.runs.runs(JOB, NOW, NOW, 5).records, sends=("Query",)),
    "runs.gaps": PortCall(make=lambda s: s.runs.gaps(JOB).records, sends=("Query",)),
    "runs.apply: birth": PortCall(
        make=lambda s: s.runs.apply(RunChange(before=None, after=pending(ref(10)), guard=Guard.BORN)),
        sends=("PutItem",),
        twice=_is_done,
    ),
    "runs.apply: birth of a queued run": PortCall(
        make=lambda s: s.runs.apply(
            RunChange(
                before=None,
                after=queued(ref(10)),
                guard=Guard.BORN,
                slots=SlotsChange(before=READ, after=replace(READ, queued=2)),
            )
        ),
        sends=("TransactWriteItems",),
        twice=_is_done,
    ),
    "runs.apply: birth of a run with a long input": PortCall(
        make=lambda s: s.runs.apply(
            RunChange(
                before=None, after=MANUAL, guard=Guard.BORN, input=RunInput(ref=MANUAL.ref, text=LONG, at=NOW)
            )
        ),
        sends=("TransactWriteItems",),
        twice=_is_done,
    ),
    "runs.apply: sweep": PortCall(
        make=lambda s: s.runs.apply(
            RunChange(before=PENDING, after=replace(PENDING, dispatches=1), guard=Guard.SEEN)
        ),
        sends=("UpdateItem",),
        twice=_is_done,
    ),
    "runs.apply: claim": PortCall(
        make=lambda s: s.runs.apply(claim_of(PENDING, token=8, owner="me", slots=READ)),
        sends=("TransactWriteItems",),
        twice=_is_done,
    ),
    "runs.apply: finish": PortCall(
        make=lambda s: s.runs.apply(finish_of(MINE, slots=HANDED_ON, woken=(QUEUED, WOKEN), attempt=ATTEMPT)),
        sends=("TransactWriteItems",),
        twice=_is_done,
    ),
    "runs.apply: finish alone": PortCall(
        make=lambda s: s.runs.apply(finish_of(MINE)), sends=("UpdateItem",), twice=_is_done
    ),
    "runs.apply: a step is resolved": PortCall(
        make=lambda s: s.runs.apply(resolved(FAILED, STARTED, SAID)),
        sends=("TransactWriteItems",),
        twice=_is_done,
    ),
    "runs.renew": PortCall(
        make=lambda s: s.runs.renew(MINE, NOW + 2 * TTL),
        sends=("UpdateItem",),
        twice=lambda run: bool(run == replace(MINE, claim_until=NOW + 2 * TTL, rev=4)),
    ),
    "runs.first_queued": PortCall(make=lambda s: s.runs.first_queued(JOB), sends=("Query", "GetItem")),
    "runs.mark_told": PortCall(
        make=lambda s: s.runs.mark_told(line(DueKind.NOTICE, f"RUN#{FAILED.ref.key}", 0)),
        sends=("UpdateItem",),
        twice=lambda told: told is False,  # the caller learns that it was told, which is all there is to know
    ),
    "runs.set_aside": PortCall(
        make=lambda s: s.runs.set_aside(
            line(DueKind.PENDING, f"RUN#{PENDING.ref.key}", 2), NOW + timedelta(hours=1)
        ),
        sends=("UpdateItem",),
        twice=_is_true,
    ),
    "steps.load": PortCall(make=lambda s: list(s.steps.load(MINE.ref)), sends=("Query",)),
    "steps.record": PortCall(
        make=lambda s: s.steps.record(MINE, step(MINE.ref)), sends=("TransactWriteItems",), twice=_is_true
    ),
    "steps.record: the end of a started one": PortCall(
        make=lambda s: s.steps.record(MINE, replace(BEGUN, status=StepStatus.DONE, until=None), BEGUN),
        sends=("TransactWriteItems",),
        twice=_is_true,
    ),
    "steps.attempts": PortCall(make=lambda s: s.steps.attempts(MINE.ref), sends=("Query",)),
    "steps.input": PortCall(make=lambda s: s.steps.input(MANUAL.ref), sends=("Query",)),
    "steps.acts": PortCall(make=lambda s: s.steps.acts(MINE.ref.id), sends=("Query",)),
    "alerts.get": PortCall(make=lambda s: s.alerts.get(JOB), sends=("GetItem",)),
    "alerts.put": PortCall(make=lambda s: s.alerts.put(None, ALERT), sends=("PutItem",), twice=_is_true),
}
READS = {name: call for name, call in CALLS.items() if call.twice is None}
WRITES = {name: call for name, call in CALLS.items() if call.twice is not None}
