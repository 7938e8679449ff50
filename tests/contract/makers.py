"""Records for contract tests, complete and unremarkable unless a test says otherwise."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange, SlotsChange
from cronce.core.jobstate import Gap, GapReason, JobState, JobWindow
from cronce.core.lease import Grant
from cronce.core.lease_ports import LeaseStore
from cronce.core.ports import JobStore, RunStore
from cronce.core.records import RunRecord, RunRef, Slots, StepRecord
from cronce.core.run import Dispatch, Notice, Reason, RunStatus

NOW = datetime(2026, 1, 5, tzinfo=UTC)
"""Where the tests' clock starts."""
MINUTE = timedelta(minutes=1)
JOB = "daily-menu"
TTL = timedelta(seconds=60)


def ref(minutes: int = 0, *, job: str = JOB, suffix: str = "") -> RunRef:
    """A run, so many minutes after NOW."""
    return RunRef(job, NOW + minutes * MINUTE, suffix)


def job_state(name: str = JOB, **values: Any) -> JobState:
    """A job that is planned up to NOW and due in a minute."""
    known: dict[str, Any] = {
        "module": "jobs.daily_menu",
        "schedule": {"kind": "cron", "expression": "* * * * *", "tz": "UTC"},
        "schedule_hash": "hash-1",
        "grace": timedelta(minutes=15),
        "zone_data": "2026f",
        "planned_to": NOW,
        "planned_local": NOW.replace(tzinfo=None),
        "next_at": NOW + MINUTE,
        "expect_by": NOW + 16 * MINUTE,
        "due_at": NOW + MINUTE,
    }
    return JobState(name=name, **{**known, **values})


def pending(run: RunRef, **values: Any) -> RunRecord:
    """A run as the planner makes it."""
    known: dict[str, Any] = {
        "status": RunStatus.PENDING,
        "created_at": NOW,
        "scheduled_local": "2026-01-05T00:00:00+00:00",
        "timeout": timedelta(minutes=15),
        "max_attempts": 3,
        "due_at": NOW + 2 * MINUTE,
        "expect_by": NOW + 15 * MINUTE,
        "dispatch": Dispatch.STREAM,
    }
    return RunRecord(ref=run, **{**known, **values})


def queued(run: RunRef, **values: Any) -> RunRecord:
    """A run that waits for a slot."""
    return pending(
        run,
        **{
            "status": RunStatus.WAITING,
            "reason": Reason.QUEUED,
            "dispatch": None,
            "expect_by": None,
            "due_at": NOW + 10 * MINUTE,
            **values,
        },
    )


def running(run: RunRef, **values: Any) -> RunRecord:
    """A run that worker `me` claimed under token 7."""
    return pending(
        run,
        **{
            "status": RunStatus.RUNNING,
            "dispatch": None,
            "due_at": NOW + TTL,
            "attempt": 1,
            "slice": 1,
            "started_at": NOW,
            "attempt_started_at": NOW,
            "slice_started_at": NOW,
            "owner": "me",
            "fencing_token": 7,
            "claim_until": NOW + TTL,
            "rev": 2,
            **values,
        },
    )


def failed(run: RunRef, **values: Any) -> RunRecord:
    """A run that ended FAILED and must be told."""
    return pending(
        run,
        **{
            "status": RunStatus.FAILED,
            "reason": Reason.ERROR,
            "dispatch": None,
            "due_at": NOW,
            "notice": Notice.PENDING,
            "ended_at": NOW,
            "last_owner": "me",
            "fencing_token": 7,
            "rev": 3,
            **values,
        },
    )


def gap(minutes: int = 0, *, reason: GapReason = GapReason.LATE, job: str = JOB, **values: Any) -> Gap:
    """A gap of ten occurrences that must be told."""
    first = NOW + minutes * MINUTE
    known: dict[str, Any] = {
        "last": first + 9 * MINUTE,
        "count": 10,
        "created_at": NOW,
        "notice": Notice.PENDING,
    }
    return Gap(job=job, first=first, reason=reason, **{**known, **values})


def window(before: JobState | None, *runs: RunRecord, gaps: tuple[Gap, ...] = (), **after: Any) -> JobWindow:
    """A window that plans one minute of a job."""
    origin = before or job_state()
    moved: dict[str, Any] = {
        "planned_to": origin.planned_to + MINUTE,
        "due_at": origin.planned_to + 2 * MINUTE,
    }
    return JobWindow(before=before, after=replace(origin, **{**moved, **after}), runs=runs, gaps=gaps)


def step(run: RunRef, name: str = "build", **values: Any) -> StepRecord:
    """A finished step of worker `me` under token 7."""
    known: dict[str, Any] = {"result": '{"menu": ["soup"]}', "owner": "me", "fencing_token": 7, "at": NOW}
    return StepRecord(ref=run, name=name, **{**known, **values})


def claim_of(seen: RunRecord, *, token: int = 1, owner: str = "me", slots: Slots | None = None) -> RunChange:
    """The change by which a worker claims a PENDING run; with `slots`, as read, it takes one."""
    after = replace(
        seen,
        status=RunStatus.RUNNING,
        owner=owner,
        fencing_token=token,
        attempt=seen.attempt + 1,
        claim_until=NOW + TTL,
        due_at=NOW + TTL,
    )
    taken = None
    if slots is not None:
        held = slots.held | {seen.ref.id}
        taken = SlotsChange(before=slots, after=Slots(held=held, queued=slots.queued, fencing_token=token))
    return RunChange(before=seen, after=after, guard=Guard.SEEN, slots=taken)


def finish_of(claimed: RunRecord, **change: Any) -> RunChange:
    """The change by which a worker records success."""
    after = replace(
        claimed,
        status=RunStatus.SUCCEEDED,
        owner=None,
        last_owner=claimed.owner,
        claim_until=None,
        due_at=None,
        ended_at=NOW + MINUTE,
        forget_at=NOW + timedelta(days=400),
    )
    return RunChange(before=claimed, after=after, guard=Guard.LIVE, **change)


class Ports(Protocol):
    """The part of a store that the helpers below use."""

    @property
    def lease(self) -> LeaseStore: ...
    @property
    def jobs(self) -> JobStore: ...
    @property
    def runs(self) -> RunStore: ...


def born(backend: Ports, record: RunRecord) -> RunRecord:
    """Store a run through its port, and read it back."""
    assert backend.runs.apply(RunChange(before=None, after=record, guard=Guard.BORN)) is Applied.DONE
    return stored(backend, record.ref)


def stored(backend: Ports, run: RunRef) -> RunRecord:
    """The run as it is stored now."""
    found = backend.runs.get(run)
    assert found is not None, f"{run.id} is not stored"
    return found


def job_in(backend: Ports, name: str = JOB) -> JobState:
    """The job as it is stored now."""
    found = backend.jobs.get(name)
    assert found is not None, f"job {name} is not stored"
    return found


def grant_of(backend: Ports, owner: str = "scheduler-1", at: datetime = NOW) -> Grant:
    """The lease, taken."""
    grant = backend.lease.take(owner, at)
    assert grant is not None, f"{owner} did not get the lease"
    return grant
