"""The transaction that plans: what one tick writes about some jobs, or nothing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cronce.aws.calls import Answer, Calls, Settlement, Verdict
from cronce.aws.items_job import PLANNING_FORMS, job_item, planning_item
from cronce.aws.items_run import gap_item, marker_item, run_item
from cronce.aws.job_slots import slots_as_read
from cronce.aws.keys import job_key, lease_key
from cronce.aws.lease_store import LEASE_MINE, grant_values
from cronce.aws.writes import ABSENT, Changes, Write, as_read, check, put, update
from cronce.core.answers import CommitOutcome
from cronce.core.changes import check_transition
from cronce.core.errors import RefusedError
from cronce.core.jobstate import Gap, JobWindow
from cronce.core.lease import Grant
from cronce.core.records import RunRecord, RunRef
from cronce.core.values import dataclass

#   tick 1 reads the job: planned_to = 10:00 ... stands still
#   tick 2 reads it, plans (10:00, 10:01], writes planned_to = 10:01
#   tick 1 wakes and writes its own (10:00, 10:01]: planned_to is 10:01, not 10:00
#   In the same way an operator who pauses or resumes the job in between makes the plan void.
JOB_AS_READ = ("planned_to", "schedule_hash", "paused", "resumed_at", "removed_at")
"""The attributes that a window was planned from. Each must be what was read, present or absent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Action:
    """An action of the transaction, and whose condition it carries.

    Attributes:
        write: the action.
        subject: a window for its job item, a run, a gap; None for the lease and for markers.
    """

    write: Write
    subject: JobWindow | RunRecord | Gap | None = None


class DynamoPlanStore:
    """`PlanStore` on the runs table.

    Args:
        calls: the client's calls.
        table: name of the runs table.
    """

    def __init__(self, calls: Calls, table: str) -> None:
        self._calls = calls
        self._table = table

    def commit(self, grant: Grant, windows: Sequence[JobWindow]) -> CommitOutcome:
        """Write the windows in one transaction.

        Conditions: LEASE_MINE on the lease; JOB_AS_READ on each job (ABSENT for a new one), and its slots as
        read if runs are queued; ABSENT on each run and gap. A marker has no condition of its own: it stands
        or falls with its run. Writes the job's differing attributes but never its slots and tokens (`queued`
        grows), and whole records. A reply that was lost: the lease is still the grant's, and everything
        stands there as this call writes it.
        """
        for run in (run for window in windows for run in window.runs):
            check_transition(None, run)
        try:
            actions = [
                _Action(write=check(self._table, lease_key(), LEASE_MINE, grant_values(grant))),
                *(action for window in windows for action in self._actions(window)),
            ]
            settlement = self._calls.transact("plan", [action.write for action in actions])
        except RefusedError as error:
            return CommitOutcome(problem=str(error))
        return CommitOutcome(done=True) if settlement.done else _outcome(actions, settlement)

    def _actions(self, window: JobWindow) -> list[_Action]:
        table = self._table
        return [
            _Action(write=self._job_write(window), subject=window),
            *(_Action(write=put(table, run_item(run, 1), ABSENT), subject=run) for run in window.runs),
            *(_Action(write=put(table, gap_item(gap), ABSENT), subject=gap) for gap in window.gaps),
            *(_Action(write=put(table, marker_item(run.ref))) for run in window.queued),
        ]

    def _job_write(self, window: JobWindow) -> Write:
        queued = len(window.queued)
        if window.before is None:
            slots = window.after.slots
            born = replace(window.after, slots=replace(slots, queued=slots.queued + queued))
            return put(self._table, job_item(born), ABSENT)
        read = planning_item(window.before)
        condition, values = as_read(read, JOB_AS_READ)
        if queued:
            slots_condition, slots_values = slots_as_read(window.before.slots)
            condition, values = f"{condition} AND {slots_condition}", {**values, **slots_values}
        differing = Changes.between(read, planning_item(window.after))
        changes = replace(differing, add={"queued": queued} if queued else {})
        key = job_key(window.after.name)
        if not changes:
            return check(self._table, key, condition, values)
        return update(self._table, key, changes, condition, values)


def _outcome(actions: Sequence[_Action], settlement: Settlement) -> CommitOutcome:
    """What a cancelled transaction says: the first kind of condition that failed."""
    lease, *rest = zip(actions, settlement.answers, strict=True)
    if lease[1].verdict is Verdict.FAILED:
        return CommitOutcome(lease_lost=True)
    failed = [action.subject for action, answer in rest if answer.verdict is Verdict.FAILED]
    if rest and all(_is_written(action, answer) for action, answer in rest):
        return CommitOutcome(done=True)
    jobs = frozenset(subject.after.name for subject in failed if isinstance(subject, JobWindow))
    runs: frozenset[RunRef] = frozenset(run.ref for run in failed if isinstance(run, RunRecord))
    gaps = frozenset(gap for gap in failed if isinstance(gap, Gap))
    if jobs:
        return CommitOutcome(stale=jobs)
    if runs:
        return CommitOutcome(runs=runs)
    if gaps:
        return CommitOutcome(gaps=gaps)
    return CommitOutcome(problem=f"conflict: {settlement.detail}", passes=True)


def _is_written(action: _Action, answer: Answer) -> bool:
    """Whether the store holds what this action writes: if all do, it was written, and the reply was lost."""
    stored: Mapping[str, Any] = answer.item or {}
    match action.subject:
        case None:
            return True  # a marker, which has no condition of its own
        case JobWindow(before=before, after=after):
            planned = planning_item(after)
            there = {name: stored[name] for name in (*PLANNING_FORMS, "due_kind") if name in stored}
            return there == planned and (before is None or planning_item(before) != planned)
        case _:
            return bool(stored == action.write.body["Item"])
