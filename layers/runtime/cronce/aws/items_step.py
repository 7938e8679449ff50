"""What stands in the steps table: steps, chunks, kept attempts, inputs and displaced acts, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from cronce.aws.attributes import (
    COUNT,
    EPOCH,
    FREE_TEXT,
    INSTANT,
    TEXT,
    TEXTS,
    Attribute,
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
from cronce.aws.items_act import ACT_FORMS
from cronce.aws.keys import SHAPED, act_key, attempt_key, input_key, step_key
from cronce.core.acts import Act, PastAct
from cronce.core.moves import EXPIRY
from cronce.core.records import AttemptRecord, RunRef, StepRecord, StepStatus
from cronce.core.run_input import RunInput, checked_input

OUTLIVES = timedelta(days=30)
"""Steps outlive their run: a run that is there always finds all of its steps."""
STEP_FORMS: Forms = {
    "name": FREE_TEXT,
    "chunk": optional(COUNT),
    "status": member(StepStatus),
    "result": FREE_TEXT,
    "keys": TEXTS,
    "until": optional(INSTANT),
    "owner": TEXT,
    "fencing_token": COUNT,
    "at": INSTANT,
    "why": optional(FREE_TEXT),
}
"""Every field of `StepRecord` but its run, which is the key."""
WITH_AN_INSTANT = frozenset({StepStatus.STARTED, StepStatus.ASLEEP})
"""Such a step says nothing without its instant."""
ATTEMPT_FORMS: Forms = {
    "number": COUNT,
    "fencing_token": COUNT,
    "started_at": optional(INSTANT),
    "ended_at": INSTANT,
    "outcome": TEXT,
    "error": optional(FREE_TEXT),
    "request_id": optional(FREE_TEXT),
    "log_stream": optional(FREE_TEXT),
}
"""Every field of `AttemptRecord` but its run, which is the key."""
INPUT_FORMS: Forms = {"text": Form(tag="S", write=checked_input, read=checked_input), "at": INSTANT}
"""Every field of `RunInput` but its run. What a person has made no JSON of is handed to no job."""


def step_item(step: StepRecord, retention: timedelta) -> Item:
    """A step or chunk as it is stored.

    Args:
        step: the step.
        retention: how long the record of a finished run is kept.
    """
    return {
        **step_key(step),
        **SHAPED,
        "forget_at": _forget_at(step.at, retention),
        **encode(STEP_FORMS, step),
    }


def read_step(item: Mapping[str, Any]) -> StepRecord:
    """A step or chunk.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    values = decode(STEP_FORMS, item)
    if values["status"] in WITH_AN_INSTANT and values["until"] is None:
        raise unreadable(item, "until", f"is missing, and the step is {values['status']}")
    return StepRecord(ref=_read_ref(item), **values)


def attempt_item(attempt: AttemptRecord, retention: timedelta) -> Item:
    """A kept attempt as it is stored."""
    return {
        **attempt_key(attempt.ref, attempt.number),
        **SHAPED,
        "forget_at": _forget_at(attempt.ended_at, retention),
        **encode(ATTEMPT_FORMS, attempt),
    }


def read_attempt(item: Mapping[str, Any]) -> AttemptRecord:
    """A kept attempt.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    return AttemptRecord(ref=_read_ref(item), **decode(ATTEMPT_FORMS, item))


def input_item(given: RunInput, retention: timedelta) -> Item:
    """The input of a run as it is stored beside it."""
    forget_at = _forget_at(given.at, retention)
    return {**input_key(given.ref), **SHAPED, "forget_at": forget_at, **encode(INPUT_FORMS, given)}


def read_input(item: Mapping[str, Any]) -> RunInput:
    """The input of a run.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    return RunInput(ref=_read_ref(item), **decode(INPUT_FORMS, item))


def act_item(past: PastAct, retention: timedelta) -> Item:
    """A displaced act of an operator as it is stored."""
    return {
        **act_key(past),
        **SHAPED,
        "forget_at": _forget_at(past.act.at, retention),
        **encode(ACT_FORMS, past.act),
    }


def read_act(item: Mapping[str, Any]) -> Act:
    """A displaced act of an operator.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    return Act(**decode(ACT_FORMS, item))


def _forget_at(written_at: datetime, retention: timedelta) -> Attribute:
    """Later than the run's own, however long the run still takes."""
    return EPOCH.attribute(written_at + EXPIRY + retention + OUTLIVES)


def _read_ref(item: Mapping[str, Any]) -> RunRef:
    try:
        return RunRef.parse(read_attribute(item, "pk", TEXT))
    except ValueError as error:
        raise unreadable(item, "pk", f"is malformed: {error}") from error
