"""Where each item stands: the keys of both tables."""

from __future__ import annotations

from cronce.aws.attributes import SHAPE, Item
from cronce.core.acts import PastAct
from cronce.core.alerts import SCHEDULER
from cronce.core.errors import RefusedError
from cronce.core.instants import to_text
from cronce.core.jobstate import Gap
from cronce.core.records import RunRef, StepRecord

RUN, GAP, QUEUE, STEP, ATTEMPT, ACT = "RUN#", "GAP#", "QUEUE#", "STEP#", "ATTEMPT#", "ACT#"
"""How the sort keys begin."""
INPUT = "INPUT"
"""The sort key of a run's input."""
NAMED_LEASE = "LEASE#"
"""How the partition keys of jobs' own leases begin."""
SHAPED: Item = {"shape": {"N": str(SHAPE)}}
"""What every item carries."""


def key(pk: str, sk: str) -> Item:
    """A primary key."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def lease_key() -> Item:
    """The lease."""
    return key(SCHEDULER, "LEASE")


def named_lease_key(name: str) -> Item:
    """A job's own lease."""
    return key(f"{NAMED_LEASE}{name}", "LEASE")


def registry_key() -> Item:
    """The registry."""
    return key(SCHEDULER, "REGISTRY")


def job_partition(name: str) -> str:
    """The partition of a job and all its records."""
    return f"JOB#{name}"


def job_key(name: str) -> Item:
    """A job item."""
    return key(job_partition(name), "JOB")


def run_key(ref: RunRef) -> Item:
    """A run record.

    Raises:
        RefusedError: its occurrence is no whole second, so that two runs could share a key.
    """
    return key(job_partition(ref.job), f"{RUN}{_key_part(ref)}")


def marker_key(ref: RunRef) -> Item:
    """The queue marker of a run."""
    return key(job_partition(ref.job), f"{QUEUE}{_key_part(ref)}")


def gap_key(gap: Gap) -> Item:
    """A gap.

    Raises:
        RefusedError: its first or last occurrence is no whole second.
    """
    try:
        return key(job_partition(gap.job), f"{GAP}{gap.key}")
    except ValueError as error:
        raise RefusedError(f"gap of job {gap.job}: {error}") from error


def alert_key(scope: str) -> Item:
    """An alert, of a job or of the scheduler."""
    return key(SCHEDULER if scope == SCHEDULER else job_partition(scope), "ALERT")


def step_key(step: StepRecord) -> Item:
    """A step or chunk. No step's name holds a '#', so a name is no chunk of another."""
    return key(step.ref.id, f"{STEP}{step.name}" + ("" if step.chunk is None else f"#{step.chunk:09d}"))


def attempt_key(ref: RunRef, number: int) -> Item:
    """A kept attempt."""
    return key(ref.id, f"{ATTEMPT}{number}")


def input_key(ref: RunRef) -> Item:
    """The input of a run that is too long for its record."""
    return key(ref.id, INPUT)


def act_key(past: PastAct) -> Item:
    """A displaced act of an operator, on a run or on a job."""
    return key(past.of, f"{ACT}{to_text(past.act.at)}#{past.act.what.value}")


def _key_part(ref: RunRef) -> str:
    try:
        return ref.key
    except ValueError as error:
        raise RefusedError(f"run of job {ref.job}: {error}") from error
