"""What stores answer: values of the ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from cronce.core.jobstate import Gap, JobState
from cronce.core.records import RunRef
from cronce.core.run import DueKind
from cronce.core.values import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class JobReads:
    """Job items that were read, and those that exist but cannot be understood (name -> what is wrong)."""

    states: Mapping[str, JobState] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitOutcome:
    """What became of one transaction of windows.

    When it was not done, exactly one of the others is set; `passes` goes with a problem.

    Attributes:
        done: it was written.
        lease_lost: the lease was taken over: stop.
        stale: jobs whose condition failed: they wait for the next tick.
        runs: run records that exist already: drop them and send the rest again.
        gaps: gaps of the windows that exist already, of the same extent and reason; likewise.
        problem: any other refusal (conflict, invalid item, too large): send each job alone.
        passes: the problem is a conflict with another transaction: later there is none.
    """

    done: bool = False
    lease_lost: bool = False
    stale: frozenset[str] = frozenset()
    runs: frozenset[RunRef] = frozenset()
    gaps: frozenset[Gap] = frozenset()
    problem: str | None = None
    passes: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DueEntry:
    """A line of the `due` index: a hint that somebody must look at an item.

    Attributes:
        kind: the partition.
        due_at: when.
        pk: partition key of the item, `JOB#<name>` or `SCHEDULER`.
        sk: sort key of the item.
        status: of a run.
        expect_by: past this without success it is overdue.
    """

    kind: DueKind
    due_at: datetime
    pk: str
    sk: str
    status: str | None = None
    expect_by: datetime | None = None

    @property
    def job(self) -> str | None:
        """The job it belongs to, if any."""
        return self.pk.removeprefix("JOB#") if self.pk.startswith("JOB#") else None

    @property
    def run(self) -> RunRef | None:
        """The run it stands for, if it does (None also for a key that is no run id)."""
        if not self.sk.startswith("RUN#"):
            return None
        try:
            return RunRef.parse(f"{self.job}@{self.sk.removeprefix('RUN#')}")
        except ValueError:
            return None


class Applied(StrEnum):
    """What became of a `RunChange`."""

    DONE = "done"
    """Written (now, or before with the reply lost)."""
    RUN_MOVED = "run_moved"
    """The guard on the run failed: somebody else was first, or the claim is lost."""
    STOP_REQUESTED = "stop_requested"
    """The worker's claim stands, but an operator asked it to stop: the run must not go on."""
    JOB_MOVED = "job_moved"
    """The job's slots are no longer as read (or its item is gone): read again and try again."""
    WOKEN_MOVED = "woken_moved"
    """The queued run that was to be woken has moved: choose again."""
    STEP_MOVED = "step_moved"
    """The step that was to be resolved is no longer as read."""
    CONFLICT = "conflict"
    """Another transaction was under way on one of the items: wait a moment and try again."""
