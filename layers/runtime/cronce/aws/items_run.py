"""Run records, gaps and queue markers as items, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cronce.aws.attributes import (
    COUNT,
    EPOCH,
    FLAG,
    FREE_TEXT,
    INSTANT,
    MILLISECONDS,
    SECONDS,
    TEXT,
    Form,
    Forms,
    Item,
    decode,
    encode,
    member,
    optional,
    read_attribute,
    unreadable,
)
from cronce.aws.items_act import ACT
from cronce.aws.keys import GAP, QUEUE, RUN, SHAPED, gap_key, marker_key, run_key
from cronce.core.instants import from_key, to_text
from cronce.core.jobstate import Gap, GapReason
from cronce.core.records import INLINE_LIMIT, RunRecord, RunRef
from cronce.core.run import Dispatch, DueKind, Notice, Reason, RunStatus, Trigger
from cronce.core.run_input import checked_input


def _short(text: str) -> str:
    return checked_input(text, INLINE_LIMIT)


INPUT = Form(tag="S", write=_short, read=_short)
"""A person may have written it: what is too large or no JSON is not handed to a job."""
RUN_FORMS: Forms = {
    "trigger": member(Trigger),
    "status": member(RunStatus),
    "reason": optional(member(Reason)),
    "created_at": INSTANT,
    "scheduled_local": TEXT,
    "timeout": SECONDS,
    "max_attempts": COUNT,
    "attempt": COUNT,
    "slice": COUNT,
    "started_at": optional(INSTANT),
    "attempt_started_at": optional(INSTANT),
    "slice_started_at": optional(INSTANT),
    "slice_ends_at": optional(INSTANT),
    "attempt_ended_at": optional(INSTANT),
    "attempt_outcome": optional(member(Reason)),
    "ended_at": optional(INSTANT),
    "executed": MILLISECONDS,
    "owner": optional(TEXT),
    "last_owner": optional(TEXT),
    "fencing_token": COUNT,
    "claim_until": optional(INSTANT),
    "due_at": optional(INSTANT),
    "expect_by": optional(INSTANT),
    "dispatch": optional(member(Dispatch)),
    "dispatches": COUNT,
    "notice": optional(member(Notice)),
    "touched": FLAG,
    "cancel_requested": FLAG,
    "act": optional(ACT),
    "unknown_since": optional(INSTANT),
    "request_id": optional(FREE_TEXT),
    "log_stream": optional(FREE_TEXT),
    "error": optional(FREE_TEXT),
    "error_kept": FLAG,
    "input": optional(INPUT),
    "input_kept": FLAG,
    "forget_at": optional(EPOCH),
    "rev": COUNT,
}
"""Every field of `RunRecord` but `ref`, which is the key."""
GAP_FORMS: Forms = {
    "count": COUNT,
    "created_at": INSTANT,
    "notice": optional(member(Notice)),
    "forget_at": optional(EPOCH),
}
"""Every field of `Gap` but those in the key."""


def due_place(kind: DueKind | None, due_at: Mapping[str, Any] | None) -> Item:
    """The attributes that put an item into the `due` index: both or none."""
    return {"due_kind": {"S": kind.value}, "due_at": dict(due_at)} if kind and due_at else {}


def run_item(run: RunRecord, rev: int) -> Item:
    """A run record as it is stored.

    Args:
        run: the record.
        rev: the number of its writes, this one included.
    """
    item = encode(RUN_FORMS, replace(run, rev=rev))
    return {**run_key(run.ref), **SHAPED, **item, **due_place(run.due_kind, item.get("due_at"))}


def read_run(item: Mapping[str, Any]) -> RunRecord:
    """A run record.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    values = decode(RUN_FORMS, item)
    if values["status"] is RunStatus.RUNNING and values["claim_until"] is None:
        raise unreadable(item, "claim_until", "is missing: nobody can tell when its claim ends")
    return RunRecord(ref=read_ref(item, RUN), **values)


def read_ref(item: Mapping[str, Any], prefix: str) -> RunRef:
    """The run that a record's or marker's key names.

    Raises:
        UnreadableItemError: the key is not of that form.
    """
    pk, sk = read_attribute(item, "pk", TEXT), read_attribute(item, "sk", TEXT)
    if not pk.startswith("JOB#") or not sk.startswith(prefix):
        raise unreadable(item, "sk", f"is malformed: the key is not of the form JOB#... / {prefix}...")
    try:
        return RunRef.parse(f"{pk.removeprefix('JOB#')}@{sk.removeprefix(prefix)}")
    except ValueError as error:
        raise unreadable(item, "sk", f"is malformed: {error}") from error


def marker_item(ref: RunRef) -> Item:
    """A queue marker: its key says all."""
    return {**marker_key(ref), **SHAPED}


def read_marker(item: Mapping[str, Any]) -> RunRef:
    """The run that a marker stands for.

    Raises:
        UnreadableItemError: its key is malformed.
    """
    return read_ref(item, QUEUE)


def gap_item(gap: Gap) -> Item:
    """A gap as it is stored; one that must be told is due at its creation."""
    item = encode(GAP_FORMS, gap)
    due = due_place(gap.due_kind, {"S": to_text(gap.created_at)})
    return {**gap_key(gap), **SHAPED, **item, **due}


def read_gap(item: Mapping[str, Any]) -> Gap:
    """A gap.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    values = decode(GAP_FORMS, item)
    pk, sk = read_attribute(item, "pk", TEXT), read_attribute(item, "sk", TEXT)
    try:
        first, last, reason = sk.removeprefix(GAP).split("#")
        return Gap(
            job=pk.removeprefix("JOB#"),
            first=from_key(first),
            last=from_key(last),
            reason=GapReason(reason),
            **values,
        )
    except ValueError as error:
        raise unreadable(item, "sk", f"is malformed: {error}") from error
