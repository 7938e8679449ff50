"""Memory stores of planning: lease, registry, job items, and the transaction that plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime

from cronce.core.answers import Applied, CommitOutcome, JobReads
from cronce.core.changes import check_transition
from cronce.core.errors import UnreadableItemError
from cronce.core.job_change import JobChange
from cronce.core.jobstate import Gap, JobState, JobWindow, Registry
from cronce.core.lease import LEASE_TTL, Grant, Lease, may_take
from cronce.core.records import RunRecord, Slots
from cronce.testing.keys import (
    LEASE,
    REGISTRY,
    Key,
    LeaseItem,
    Marker,
    act_key,
    gap_key,
    job_key,
    marker_key,
    run_key,
)
from cronce.testing.table import ITEM_LIMIT, TRANSACTION_BYTES, TRANSACTION_LIMIT, MemoryTable

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""End of a lease that was given back: free for everybody, whatever their clocks say."""


def holds(table: MemoryTable, grant: Grant) -> bool:
    """The condition of every planning write: the lease is still this grant's."""
    lease = table.matching(LEASE, LeaseItem)
    return lease is not None and (lease.owner, lease.fencing_token) == (grant.owner, grant.fencing_token)


class MemoryLeaseStore:
    """`LeaseStore` in memory."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def take(self, owner: str, now: datetime) -> Grant | None:
        """Take the lease if it is free; see `LeaseStore.take`."""
        with self._table.call("lease.take"):
            if self._table.in_conflict():
                return None
            stored = self._table.find(LEASE, LeaseItem)
            if stored is None or may_take(_lease(stored), now):
                stored = LeaseItem(
                    owner=owner,
                    fencing_token=(stored.fencing_token if stored else 0) + 1,
                    lease_until=now + LEASE_TTL,
                    completed_at=stored.completed_at if stored else None,
                    fingerprint=stored.fingerprint if stored else None,
                )
                self._table.put(LEASE, stored)
            elif stored.owner != owner:
                return None
            return Grant(
                owner=owner,
                fencing_token=stored.fencing_token,
                fingerprint=stored.fingerprint,
                completed_at=stored.completed_at,
            )

    def read(self) -> Lease | None:
        """The lease item, strong."""
        with self._table.call("lease.read"):
            stored = self._table.find(LEASE, LeaseItem)
            return _lease(stored) if stored else None

    def release(self, grant: Grant, completed_at: datetime | None) -> bool:
        """Give the lease back if it is still the grant's."""
        with self._table.call("lease.release"):
            stored = self._table.matching(LEASE, LeaseItem)
            if stored is None or not holds(self._table, grant):
                return False
            completed = completed_at if completed_at is not None else stored.completed_at
            self._table.put(LEASE, replace(stored, owner=None, lease_until=LONG_AGO, completed_at=completed))
            return True


def _lease(item: LeaseItem) -> Lease:
    return Lease(
        owner=item.owner,
        fencing_token=item.fencing_token,
        lease_until=item.lease_until,
        completed_at=item.completed_at,
    )


class MemoryRegistryStore:
    """`RegistryStore` in memory."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def read(self) -> Registry | None:
        """The registry, strong."""
        with self._table.call("registry.read"):
            stored = self._table.find(REGISTRY, Registry)
            return replace(stored, jobs=dict(stored.jobs)) if stored else None

    def write(self, grant: Grant, registry: Registry) -> bool:
        """Put the registry and its fingerprint on the lease, if the lease is the grant's."""
        with self._table.call("registry.write"):
            lease = self._table.matching(LEASE, LeaseItem)
            if self._table.in_conflict() or lease is None or not holds(self._table, grant):
                return False
            self._table.put(REGISTRY, replace(registry, jobs=dict(registry.jobs)))
            self._table.put(LEASE, replace(lease, fingerprint=registry.fingerprint))
            return True


class MemoryJobStore:
    """`JobStore` in memory."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def get(self, name: str) -> JobState | None:
        """One job, strong."""
        with self._table.call("jobs.get"):
            return self._read(name)

    def get_many(self, names: Sequence[str]) -> JobReads:
        """Many jobs, strong."""
        states: dict[str, JobState] = {}
        unreadable: dict[str, str] = {}
        with self._table.call("jobs.get_many"):
            for name in names:
                try:
                    state = self._read(name)
                except UnreadableItemError as error:
                    unreadable[name] = str(error)
                    continue
                if state is not None:
                    states[name] = state
        return JobReads(states=states, unreadable=unreadable)

    def _read(self, name: str) -> JobState | None:
        state = self._table.find(job_key(name), JobState)
        return replace(state, schedule=dict(state.schedule)) if state else None

    def change(self, change: JobChange) -> Applied:
        """Write what an operator makes of a job, or nothing; see `JobStore.change`."""
        with self._table.call("jobs.change"):
            if self._table.in_conflict():
                return Applied.CONFLICT
            key = job_key(change.after.name)
            stored = self._table.matching(key, JobState)
            if stored is None or not change.was_read(stored):
                return Applied.DONE if stored is not None and change.wrote(stored) else Applied.JOB_MOVED
            gaps = {gap_key(gap): gap for gap in change.gaps}
            if any(self._table.matching(place, Gap) != gap for place, gap in gaps.items()):
                return Applied.JOB_MOVED
            self._table.put(key, replace(change.after, slots=stored.slots))
            for place in gaps:
                self._table.delete(place)
            if change.past_act:
                self._table.put(act_key(change.past_act), change.past_act)
            return Applied.DONE

    def next_token(self, name: str) -> int | None:
        """Add one to the job's fencing token."""
        with self._table.call("jobs.next_token"):
            state = self._table.find(job_key(name), JobState)
            if state is None:
                return None
            token = state.slots.fencing_token + 1
            self._table.put(job_key(name), replace(state, slots=replace(state.slots, fencing_token=token)))
            return token


class MemoryPlanStore:
    """`PlanStore` in memory."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def commit(self, grant: Grant, windows: Sequence[JobWindow]) -> CommitOutcome:
        """Write the windows in one transaction, or nothing; see `PlanStore.commit`."""
        for run in (run for window in windows for run in window.runs):
            check_transition(None, run)
        with self._table.call("plans.commit"):
            refusal = self._problem(windows) or self._refusal(grant, windows)
            if refusal:
                return refusal
            for window in windows:
                self._write(window)
            return CommitOutcome(done=True)

    def _problem(self, windows: Sequence[JobWindow]) -> CommitOutcome | None:
        """What the store refuses before it looks at any condition."""
        if self._table.in_conflict():
            problem = "conflict: another transaction is under way on one of the items"
            return CommitOutcome(problem=problem, passes=True)
        actions = 1 + sum(window.actions for window in windows)
        if actions > TRANSACTION_LIMIT:
            return CommitOutcome(problem=f"{actions} actions; a transaction takes {TRANSACTION_LIMIT}")
        keys = [key for window in windows for key in _keys(window)]
        if len(set(keys)) < len(keys):
            return CommitOutcome(problem="two actions of one transaction are on one item")
        total = 0
        for run in (run for window in windows for run in window.runs):
            size = text_size(run)
            total += size
            if size > ITEM_LIMIT:
                return CommitOutcome(problem=f"run {run.ref.id}: {size} bytes; an item takes {ITEM_LIMIT}")
        if total > TRANSACTION_BYTES:
            return CommitOutcome(problem=f"{total} bytes; a transaction takes {TRANSACTION_BYTES}")
        return None

    def _refusal(self, grant: Grant, windows: Sequence[JobWindow]) -> CommitOutcome | None:
        """The first kind of condition that fails, over all windows."""
        if not holds(self._table, grant):
            return CommitOutcome(lease_lost=True)
        stale = frozenset(window.after.name for window in windows if not self._is_as_read(window))
        if stale:
            return CommitOutcome(stale=stale)
        runs = frozenset(
            run.ref for window in windows for run in window.runs if self._table.exists(run_key(run.ref))
        )
        gaps = frozenset(gap for window in windows for gap in window.gaps if self._table.exists(gap_key(gap)))
        if runs:
            return CommitOutcome(runs=runs)
        return CommitOutcome(gaps=gaps) if gaps else None

    def _is_as_read(self, window: JobWindow) -> bool:
        key = job_key(window.after.name)
        if window.before is None:
            return not self._table.exists(key)
        stored = self._table.matching(key, JobState)
        if stored is None or _judged(stored) != _judged(window.before):
            return False
        return not window.queued or stored.slots == window.before.slots

    def _write(self, window: JobWindow) -> None:
        key = job_key(window.after.name)
        stored = self._table.matching(key, JobState)
        slots = stored.slots if stored else window.after.slots
        grown = Slots(
            held=slots.held, queued=slots.queued + len(window.queued), fencing_token=slots.fencing_token
        )
        self._table.put(key, replace(window.after, schedule=dict(window.after.schedule), slots=grown))
        for run in window.runs:
            self._table.put(run_key(run.ref), replace(run, rev=1))
        for gap in window.gaps:
            self._table.put(gap_key(gap), gap)
        for run in window.queued:
            self._table.put(marker_key(run.ref), Marker(ref=run.ref))


def _judged(state: JobState) -> tuple[object, ...]:
    """What a window was planned from: if any of it has changed, the plan is void."""
    return state.planned_to, state.paused, state.resumed_at, state.removed_at, state.schedule_hash


def _keys(window: JobWindow) -> list[Key]:
    return [
        job_key(window.after.name),
        *(run_key(run.ref) for run in window.runs),
        *(marker_key(run.ref) for run in window.queued),
        *(gap_key(gap) for gap in window.gaps),
    ]


def text_size(item: RunRecord) -> int:
    """Bytes of the item's texts, which are nearly all of it."""
    texts = (getattr(item, field.name) for field in fields(item))
    return sum(len(text.encode()) for text in texts if isinstance(text, str))
