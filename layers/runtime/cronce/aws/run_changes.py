"""A `RunChange` as writes, and the store's answers to them as one outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import Enum, auto
from typing import Any

from cronce.aws.attributes import Item
from cronce.aws.calls import Answer, Verdict
from cronce.aws.items_run import marker_item, read_run, run_item
from cronce.aws.items_step import act_item, attempt_item, input_item, read_step, step_item
from cronce.aws.job_slots import slots_write
from cronce.aws.keys import marker_key, run_key
from cronce.aws.step_writes import step_write
from cronce.aws.writes import ABSENT, Changes, Write, delete, put, update
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.errors import UnreadableItemError
from cronce.core.records import RunRecord
from cronce.core.run import RunStatus

#   A claims with token 7 ... A stands still ... its claim expires, the sweep ends the attempt
#   B claims with token 8 (or the run is WAITING, FAILED, CANCELLED and has no owner)
#   A wakes and writes: owner and token are not A's any more
LIVE = "#status = :running AND #owner = :me AND #fencing_token = :mine"
"""The run is RUNNING under this worker's claim: the condition of every write that a worker makes."""

#   A's job asks to sleep ... an operator asks A to stop ... A writes WAITING(sleep)
#   nobody would look at the request before the sleep is over
UNASKED = "attribute_not_exists(#cancel_requested)"
"""No operator has asked the worker to stop."""

#   the sweep reads the run (rev 4) ... its worker finishes it (rev 5)
#   the sweep writes "lost": rev is not 4 any more
SEEN = "#rev = :seen"
"""The record is the one that was judged."""


class Part(Enum):
    """Whose condition a write of the transaction carries."""

    RUN = auto()
    """The run's own guard."""
    JOB = auto()
    """The job's slots."""
    WOKEN = auto()
    """The queued run that is woken."""
    STEP = auto()
    """The step that an operator resolves."""
    REST = auto()
    """None: it stands or falls with the others."""


def live_values(claimed: RunRecord) -> Item:
    """The values of `LIVE` for the worker that holds this record."""
    return {
        ":running": {"S": RunStatus.RUNNING.value},
        ":me": {"S": claimed.owner or ""},
        ":mine": {"N": str(claimed.fencing_token)},
    }


def writes_of(change: RunChange, runs: str, steps: str, retention: timedelta) -> list[tuple[Part, Write]]:
    """The writes of a change, its run first.

    Args:
        change: what to write.
        runs: name of the runs table.
        steps: name of the steps table.
        retention: how long the record of a finished run is kept.
    """
    writes = [(Part.RUN, _run_write(change, runs)), *_marker_writes(runs, change.before, change.after)]
    if change.slots:
        writes.append((Part.JOB, slots_write(runs, change.after.ref.job, change.slots)))
    if change.woken:
        before, after = change.woken
        writes.append((Part.WOKEN, _seen_write(runs, before, after)))
        writes += _marker_writes(runs, before, after)
    if change.step:
        resolved = step_item(change.step.after, retention)
        writes.append((Part.STEP, step_write(steps, resolved, change.step.before)))
    if change.input:
        writes.append((Part.REST, put(steps, input_item(change.input, retention))))
    if change.past_act:
        writes.append((Part.REST, put(steps, act_item(change.past_act, retention))))
    if change.attempt:
        writes.append((Part.REST, put(steps, attempt_item(change.attempt, retention))))
    return writes


def outcome_of(change: RunChange, answers: Sequence[tuple[Part, Answer]]) -> Applied:
    """What became of a change: a failed condition outranks a request to try again, the run's comes first."""
    failed = {part: answer for part, answer in answers if answer.verdict is Verdict.FAILED}
    if Part.RUN in failed:
        step = failed.get(Part.STEP)
        return _refused(change, failed[Part.RUN].item, step.item if step else None)
    if Part.JOB in failed:
        return Applied.JOB_MOVED
    if Part.WOKEN in failed:
        return Applied.WOKEN_MOVED
    if Part.STEP in failed:
        return Applied.STEP_MOVED
    again = any(answer.verdict is Verdict.AGAIN for _, answer in answers)
    return Applied.CONFLICT if again else Applied.DONE


def _run_write(change: RunChange, table: str) -> Write:
    if change.before is None or change.guard is Guard.BORN:
        return put(table, run_item(change.after, 1), ABSENT)
    if change.guard is Guard.SEEN:
        return _seen_write(table, change.before, change.after)
    key, changes = run_key(change.before.ref), _changes(change.before, change.after)
    changes = replace(changes, remove=tuple(sorted({*changes.remove, *change.removed})))
    condition = f"{LIVE} AND {UNASKED}" if change.yields_to_stop else LIVE
    return update(table, key, changes, condition, live_values(change.before))


def _seen_write(table: str, before: RunRecord, after: RunRecord) -> Write:
    seen = {":seen": {"N": str(before.rev)}}
    return update(table, run_key(before.ref), _changes(before, after), SEEN, seen)


def _changes(before: RunRecord, after: RunRecord) -> Changes:
    differing = Changes.between(run_item(before, before.rev), run_item(after, before.rev))
    return Changes(put=differing.put, remove=differing.remove, add={"rev": 1})


def _marker_writes(table: str, before: RunRecord | None, after: RunRecord) -> list[tuple[Part, Write]]:
    """Queue markers follow from the states. They have no condition of their own: their run's is it."""
    was_queued = before is not None and before.is_queued
    if after.is_queued and not was_queued:
        return [(Part.REST, put(table, marker_item(after.ref)))]
    if was_queued and not after.is_queued:
        return [(Part.REST, delete(table, marker_key(after.ref)))]
    return []


def _refused(change: RunChange, item: Mapping[str, Any] | None, step: Mapping[str, Any] | None) -> Applied:
    """What it means that the guard on the run failed, with the items as they stand.

    DONE: the record is this very change, written before with the reply lost. It is compared as it is stored
    too: `forget_at` is kept in whole seconds. A record that cannot be read is nobody's own write.
    """
    try:
        stored = read_run(item) if item else None
        resolved = read_step(step) if step else None
    except UnreadableItemError:
        return Applied.RUN_MOVED
    if change.wrote(stored, resolved):
        return Applied.DONE
    same_step = change.step is None or resolved == change.step.after
    if same_step and item == run_item(change.after, change.before.rev + 1 if change.before else 1):
        return Applied.DONE
    return Applied.STOP_REQUESTED if change.met_stop(stored) else Applied.RUN_MOVED
