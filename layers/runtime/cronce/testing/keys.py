"""What the memory store holds, and under which key: the tables' layout of the real store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

from cronce.core.acts import PastAct
from cronce.core.alerts import SCHEDULER, Alert
from cronce.core.instants import to_text
from cronce.core.jobstate import Gap, JobState, Registry
from cronce.core.named_lease import NamedLease
from cronce.core.records import AttemptRecord, RunRecord, RunRef, StepRecord
from cronce.core.run_input import RunInput

Key = tuple[str, str]
"""Partition key and sort key."""
LEASE: Key = (SCHEDULER, "LEASE")
REGISTRY: Key = (SCHEDULER, "REGISTRY")


def named_lease_key(name: str) -> Key:
    """Where a job's own lease is."""
    return f"LEASE#{name}", "LEASE"


def job_key(name: str) -> Key:
    """Where a job item is."""
    return f"JOB#{name}", "JOB"


@lru_cache(maxsize=10_000)
def run_key(ref: RunRef) -> Key:
    """Where a run record is."""
    return f"JOB#{ref.job}", f"RUN#{ref.key}"


def marker_key(ref: RunRef) -> Key:
    """Where the queue marker of a run is."""
    return f"JOB#{ref.job}", f"QUEUE#{ref.key}"


def gap_key(gap: Gap) -> Key:
    """Where a gap is."""
    return f"JOB#{gap.job}", f"GAP#{gap.key}"


def step_key(step: StepRecord) -> Key:
    """Where a step or chunk is."""
    return step.ref.id, f"STEP#{step.name}" + ("" if step.chunk is None else f"#{step.chunk:09d}")


def attempt_key(attempt: AttemptRecord) -> Key:
    """Where a kept attempt is."""
    return attempt.ref.id, f"ATTEMPT#{attempt.number}"


def input_key(given: RunInput) -> Key:
    """Where the input of a run is, if it is too long for the record."""
    return given.ref.id, "INPUT"


def act_key(past: PastAct) -> Key:
    """Where a displaced act of an operator is."""
    return past.of, f"ACT#{to_text(past.act.at)}#{past.act.what.value}"


def alert_key(scope: str) -> Key:
    """Where an alert is."""
    return (SCHEDULER if scope == SCHEDULER else f"JOB#{scope}"), "ALERT"


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseItem:
    """The lease as stored, with the registry's fingerprint beside it."""

    owner: str | None
    fencing_token: int
    lease_until: datetime
    completed_at: datetime | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """A queue marker: this run waits for a slot."""

    ref: RunRef


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """An item that was edited by hand: present, in its place of the index, and not understood."""

    problem: str


Item = (
    LeaseItem
    | NamedLease
    | Registry
    | JobState
    | RunRecord
    | Gap
    | Marker
    | Alert
    | StepRecord
    | AttemptRecord
    | PastAct
    | RunInput
    | Unreadable
)
T = TypeVar(
    "T",
    LeaseItem,
    NamedLease,
    Registry,
    JobState,
    RunRecord,
    Gap,
    Marker,
    Alert,
    StepRecord,
    AttemptRecord,
    PastAct,
    RunInput,
)


def key_of(item: Item) -> Key:
    """Where an item is stored.

    Raises:
        ValueError: an unreadable item has no key of its own.
    """
    match item:
        case LeaseItem():
            return LEASE
        case NamedLease():
            return named_lease_key(item.name)
        case Registry():
            return REGISTRY
        case JobState():
            return job_key(item.name)
        case Alert():
            return alert_key(item.scope)
        case Unreadable():
            raise ValueError("an unreadable item has no key of its own: use spoil()")
        case RunInput():
            return input_key(item)
        case PastAct():
            return act_key(item)
        case _:
            return _key_of_run_item(item)


def _key_of_run_item(item: RunRecord | Gap | Marker | StepRecord | AttemptRecord) -> Key:
    match item:
        case RunRecord():
            return run_key(item.ref)
        case Gap():
            return gap_key(item)
        case Marker():
            return marker_key(item.ref)
        case StepRecord():
            return step_key(item)
        case AttemptRecord():
            return attempt_key(item)
