"""Reads the ledger of the story: the records in the tables, through the adapters that the functions use."""

from __future__ import annotations

from datetime import datetime

from cronce.core.jobstate import Gap
from cronce.core.records import AttemptRecord, RunRecord, RunRef
from cronce_tools.story.world import World

MANY = 10_000


def run_at(world: World, job: str, scheduled_at: datetime) -> RunRecord | None:
    """The record of one occurrence."""
    return world.store.runs.get(RunRef(job, scheduled_at))


def runs_between(world: World, job: str, start: datetime, end: datetime) -> list[RunRecord]:
    """Records of a job with start <= scheduled_at <= end, oldest first."""
    return sorted(world.store.runs.runs(job, start, end, MANY), key=lambda run: run.ref)


def gaps_of(world: World, job: str) -> list[Gap]:
    """Gaps of a job, oldest first."""
    return world.store.runs.gaps(job)


def attempts_of(world: World, run: RunRecord) -> list[AttemptRecord]:
    """The attempts of a run that are kept beside it."""
    return world.store.steps.attempts(run.ref)


def lease_token(world: World) -> int:
    """The fencing token of the last lease."""
    lease = world.store.lease.read()
    return lease.fencing_token if lease else 0
