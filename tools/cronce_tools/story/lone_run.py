"""Runs a job on a ledger of its own, in memory: nothing coordinates it with anybody else."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from cronce import Job
from cronce.core.claim import Invocation
from cronce.core.jobstate import JobState
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Dispatch, RunStatus
from cronce.core.schedule import schedule_hash
from cronce.engine.claims import Claims
from cronce.engine.executor import Executor
from cronce.engine.ledger import Ledger
from cronce.engine.renewal import RenewalThread
from cronce.testing import ManualClock, MemoryStore, RecordingTelemetry

RETENTION = timedelta(days=400)
INVOCATION = timedelta(minutes=15)


def run_alone(job: Job, scheduled_at: datetime) -> RunStatus | None:
    """Execute one occurrence of a job on a store that nobody else knows.

    Returns:
        The state in which the run ended.
    """
    clock, telemetry = ManualClock(scheduled_at), RecordingTelemetry()
    store = MemoryStore(clock)
    ref = RunRef(job.name, scheduled_at)
    store.place(_job_state(job, scheduled_at), _record(job, ref, scheduled_at))
    ledger = Ledger(runs=store.runs, jobs=store.jobs, clock=clock, telemetry=telemetry, retention=RETENTION)
    executor = Executor(
        claims=Claims(ledger=ledger, store_clock=store.clock),
        steps=store.steps,
        leases=store.leases,
        load=lambda _module, _name: job,
        renewal=RenewalThread(telemetry=telemetry),
        key_prefix="alone",
    )
    executor.execute(ref, Invocation(owner=uuid4().hex, deadline=scheduled_at + INVOCATION))
    run = store.runs.get(ref)
    return run.status if run else None


def _job_state(job: Job, at: datetime) -> JobState:
    return JobState(
        name=job.name,
        module=job.module,
        schedule=job.schedule.spec(),
        schedule_hash=schedule_hash(job.schedule),
        grace=job.grace,
        planned_to=at,
        planned_local=job.schedule.local(at).replace(tzinfo=None),
        next_at=job.schedule.next_after(at),
        expect_by=None,
        due_at=None,
    )


def _record(job: Job, ref: RunRef, at: datetime) -> RunRecord:
    return RunRecord(
        ref=ref,
        status=RunStatus.PENDING,
        created_at=at,
        scheduled_local=job.schedule.local(at).isoformat(),
        timeout=job.timeout,
        max_attempts=job.retry.attempts,
        due_at=at,
        dispatch=Dispatch.STREAM,
        rev=1,
    )
