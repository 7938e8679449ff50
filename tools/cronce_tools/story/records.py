"""Reads the ledger of the story: the records in the tables, through the adapters that the functions use."""

from __future__ import annotations

from datetime import datetime

from cronce.core.jobstate import Gap
from cronce.core.records import RunRecord, RunRef
from cronce_tools.story.world import World

MANY = 10_000


class NoRecordError(Exception):
    """The story looks at a run that has no record: that promise is broken already."""


def run_at(world: World, job: str, scheduled_at: datetime) -> RunRecord:
    """The record of one occurrence.

    Raises:
        NoRecordError: there is none.
    """
    run = world.stack.store.runs.get(RunRef(job, scheduled_at))
    if run is None:
        raise NoRecordError(f"{job} has no record for {scheduled_at:%Y-%m-%d %H:%M}Z")
    return run


def runs_between(world: World, job: str, start: datetime, end: datetime) -> list[RunRecord]:
    """Records of a job with start <= scheduled_at <= end, oldest first."""
    return sorted(world.stack.store.runs.runs(job, start, end, MANY).records, key=lambda run: run.ref)


def gaps_of(world: World, job: str) -> list[Gap]:
    """Gaps of a job, oldest first."""
    return world.stack.store.runs.gaps(job).records


def attempts_kept(world: World, run: RunRecord) -> int:
    """How many attempts of a run have a record: the earlier ones beside it, the last one in it."""
    return len(world.stack.store.steps.attempts(run.ref)) + (run.attempt > 0)


def lease_token(world: World) -> int:
    """The fencing token of the last lease."""
    lease = world.stack.store.lease.read()
    return lease.fencing_token if lease else 0
