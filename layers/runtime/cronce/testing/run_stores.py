"""Memory stores of runs: their records, their steps, their past attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from cronce.core.acts import Act, PastAct
from cronce.core.answers import Applied, DueEntry
from cronce.core.changes import Guard, RunChange
from cronce.core.errors import StepResultTooLargeError, UnreadableItemError
from cronce.core.found import Found
from cronce.core.instants import to_key
from cronce.core.jobstate import Gap, JobState
from cronce.core.records import AttemptRecord, RunRecord, RunRef, StepRecord
from cronce.core.run import Notice, RunStatus
from cronce.core.run_input import RunInput
from cronce.testing.keys import (
    Marker,
    act_key,
    attempt_key,
    input_key,
    job_key,
    marker_key,
    run_key,
    step_key,
)
from cronce.testing.table import ITEM_LIMIT, MemoryTable, set_aside


def is_live(stored: RunRecord | None, claimed: RunRecord) -> bool:
    """The condition of every write of a worker: the run is RUNNING under its owner and token."""
    return (
        stored is not None
        and stored.status is RunStatus.RUNNING
        and stored.owner == claimed.owner
        and stored.fencing_token == claimed.fencing_token
    )


def merged(stored: RunRecord, before: RunRecord, after: RunRecord) -> RunRecord:
    """The stored record with what differs between `before` and `after`, and nothing else."""
    names = [field.name for field in fields(RunRecord) if field.name not in {"ref", "rev"}]
    differing = {
        name: getattr(after, name) for name in names if getattr(before, name) != getattr(after, name)
    }
    return replace(stored, **differing, rev=stored.rev + 1)


class MemoryRunStore:
    """`RunStore` in memory."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def get(self, ref: RunRef) -> RunRecord | None:
        """One run, strong; an expired one is absent."""
        with self._table.call("runs.get"):
            return self._table.read(run_key(ref), RunRecord)

    def get_many(self, refs: Sequence[RunRef]) -> dict[RunRef, RunRecord]:
        """Many runs, strong; those absent or unreadable are left out."""
        found: dict[RunRef, RunRecord] = {}
        with self._table.call("runs.get_many"):
            for ref in refs:
                run = self._table.matching(run_key(ref), RunRecord)
                if run is not None and not self._table.has_expired(run):
                    found[ref] = run
        return found

    def runs(self, job: str, since: datetime, until: datetime, limit: int) -> Found[RunRecord]:
        """Runs of a job by occurrence, newest first, strong."""
        begin = f"RUN#{to_key(since.replace(microsecond=0))}"
        with self._table.call("runs.runs"):
            found = self._table.query(f"JOB#{job}", "RUN#", RunRecord, begin)
            unread = self._table.unread(job, "RUN#", RunRecord, begin)
        inside = [run for run in reversed(found) if since <= run.ref.scheduled_at <= until]
        oldest = inside[limit - 1].ref.scheduled_at if len(inside) >= limit else since
        broken = [
            one for one in reversed(unread) if one.run is None or oldest <= one.run.scheduled_at <= until
        ]
        return Found(records=inside[:limit], unread=broken)

    def gaps(self, job: str) -> Found[Gap]:
        """All gaps of a job, oldest first, strong."""
        with self._table.call("runs.gaps"):
            found = self._table.query(f"JOB#{job}", "GAP#", Gap)
            return Found(records=found, unread=self._table.unread(job, "GAP#", Gap))

    def apply(self, change: RunChange) -> Applied:
        """Write the change in one transaction, or nothing; see `RunStore.apply`."""
        with self._table.call("runs.apply"):
            if self._table.in_conflict():
                return Applied.CONFLICT
            stored = self._table.matching(run_key(change.after.ref), RunRecord)
            if not self._guard_holds(change, stored):
                return self._refused(change, stored)
            if not self._slots_are_as_read(change):
                return Applied.JOB_MOVED
            if change.woken and not self._is_seen(change.woken[0]):
                return Applied.WOKEN_MOVED
            if change.step and not self._is_same(change.step.before):
                return Applied.STEP_MOVED
            self._write(change, stored)
            return Applied.DONE

    def renew(self, claimed: RunRecord, claim_until: datetime) -> RunRecord | None:
        """Extend a claim, conditional on LIVE."""
        with self._table.call("runs.renew"):
            stored = self._table.matching(run_key(claimed.ref), RunRecord)
            if stored is None or not is_live(stored, claimed):
                return None
            renewed = replace(stored, claim_until=claim_until, rev=stored.rev + 1)
            self._table.put(run_key(claimed.ref), renewed)
            return renewed

    def first_queued(self, job: str) -> RunRecord | None:
        """The run of the first queue marker; orphan markers are deleted on the way."""
        with self._table.call("runs.first_queued"):
            for marker in self._table.query(f"JOB#{job}", "QUEUE#", Marker):
                try:
                    run = self._table.read(run_key(marker.ref), RunRecord)
                except UnreadableItemError:
                    continue
                if run is not None and run.is_queued:
                    return run
                self._table.delete(marker_key(marker.ref))
            return None

    def mark_told(self, entry: DueEntry) -> bool:
        """Set `notice` from pending to told and take the item out of the index."""
        with self._table.call("runs.mark_told"):
            row = self._table.row((entry.pk, entry.sk))
            item = row.item if row else None
            if not isinstance(item, RunRecord | Gap) or item.notice is not Notice.PENDING:
                return False
            if isinstance(item, RunRecord):
                told: RunRecord | Gap = replace(item, notice=Notice.TOLD, due_at=None, rev=item.rev + 1)
            else:
                told = replace(item, notice=Notice.TOLD)
            self._table.put((entry.pk, entry.sk), told)
            return True

    def set_aside(self, entry: DueEntry, due_at: datetime) -> bool:
        """Move an item to a later place in the index, if it still is where it was."""
        with self._table.call("runs.set_aside"):
            row = self._table.row((entry.pk, entry.sk))
            if row is None or row.entry is None:
                return False
            if (row.entry.kind, row.entry.due_at) != (entry.kind, entry.due_at):
                return False
            self._table.store((entry.pk, entry.sk), set_aside(row, due_at))
            return True

    def _refused(self, change: RunChange, stored: RunRecord | None) -> Applied:
        """What it means that the guard on the run failed."""
        if change.wrote(stored, self._step_of(change)):
            return Applied.DONE
        return Applied.STOP_REQUESTED if change.met_stop(stored) else Applied.RUN_MOVED

    def _guard_holds(self, change: RunChange, stored: RunRecord | None) -> bool:
        if change.guard is Guard.BORN or change.before is None:
            return not self._table.exists(run_key(change.after.ref))
        if change.guard is Guard.LIVE:
            return is_live(stored, change.before) and not change.met_stop(stored)
        return self._is_seen(change.before)

    def _is_seen(self, judged: RunRecord) -> bool:
        stored = self._table.matching(run_key(judged.ref), RunRecord)
        return stored is not None and stored.rev == judged.rev

    def _step_of(self, change: RunChange) -> StepRecord | None:
        return self._table.matching(step_key(change.step.after), StepRecord) if change.step else None

    def _is_same(self, read: StepRecord) -> bool:
        stored = self._table.matching(step_key(read), StepRecord)
        return stored is not None and stored.is_same(read)

    def _slots_are_as_read(self, change: RunChange) -> bool:
        if change.slots is None:
            return True
        job = self._table.matching(job_key(change.after.ref.job), JobState)
        return job is not None and job.slots == change.slots.before

    def _write(self, change: RunChange, stored: RunRecord | None) -> None:
        if stored is None or change.before is None:
            self._table.put(run_key(change.after.ref), replace(change.after, rev=1))
        else:
            written = merged(stored, change.before, change.after)
            cleared: dict[str, Any] = {name: getattr(change.after, name) for name in change.removed}
            self._table.put(run_key(change.after.ref), replace(written, **cleared))
        self._mark(change.before, change.after)
        if change.woken:
            before, after = change.woken
            woken = self._table.find(run_key(before.ref), RunRecord)
            if woken is not None:
                self._table.put(run_key(before.ref), merged(woken, before, after))
            self._mark(before, after)
        if change.slots:
            key = job_key(change.after.ref.job)
            job = self._table.find(key, JobState)
            if job is not None:
                self._table.put(key, replace(job, slots=change.slots.after))
        if change.step:
            self._table.put(step_key(change.step.after), change.step.after)
        if change.input:
            self._table.put(input_key(change.input), change.input)
        if change.past_act:
            self._table.put(act_key(change.past_act), change.past_act)
        if change.attempt:
            self._table.put(attempt_key(change.attempt), change.attempt)

    def _mark(self, before: RunRecord | None, after: RunRecord) -> None:
        """Queue markers follow from the states."""
        was_queued = before is not None and before.is_queued
        if after.is_queued and not was_queued:
            self._table.put(marker_key(after.ref), Marker(ref=after.ref))
        if was_queued and not after.is_queued:
            self._table.delete(marker_key(after.ref))


class MemoryStepStore:
    """`StepStore` in memory."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def load(self, ref: RunRef) -> list[StepRecord]:
        """All steps and chunks of a run in order of their keys, strong."""
        with self._table.call("steps.load"):
            return self._table.query(ref.id, "STEP#", StepRecord)

    def record(self, claimed: RunRecord, step: StepRecord, before: StepRecord | None = None) -> bool:
        """Put a step that does not exist or still is `before`, together with the LIVE check of its run."""
        size = len(step.result.encode()) + sum(len(key.encode()) for key in step.keys)
        if size > ITEM_LIMIT:
            raise StepResultTooLargeError(
                f"run {step.ref.id}: step {step.name!r}: {size} bytes, and an item takes {ITEM_LIMIT}"
            )
        with self._table.call("steps.record"):
            stored = self._table.find(step_key(step), StepRecord)
            holds = stored is None if before is None else stored is not None and stored.is_same(before)
            if not holds:
                return stored is not None and stored.is_same(step)
            if not is_live(self._table.matching(run_key(claimed.ref), RunRecord), claimed):
                return False
            self._table.put(step_key(step), step)
            return True

    def attempts(self, ref: RunRef) -> list[AttemptRecord]:
        """The attempts kept of a run, oldest first, strong."""
        with self._table.call("steps.attempts"):
            return sorted(self._table.query(ref.id, "ATTEMPT#", AttemptRecord), key=lambda kept: kept.number)

    def input(self, ref: RunRef) -> str | None:
        """The input that is kept beside a run, strong."""
        with self._table.call("steps.input"):
            given = self._table.read((ref.id, "INPUT"), RunInput)
            return given.text if given else None

    def acts(self, of: str) -> list[Act]:
        """The displaced acts on a run or a job, oldest first, strong."""
        with self._table.call("steps.acts"):
            return [past.act for past in self._table.query(of, "ACT#", PastAct)]
