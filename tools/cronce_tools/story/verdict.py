"""The ledger at the end: every scheduled time of every job against what the tables say about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from cronce import Job
from cronce.core.run import RunStatus
from cronce_tools.story.records import gaps_of, runs_between
from cronce_tools.story.world import World


@dataclass(frozen=True)
class JobVerdict:
    """One job's line of the ledger.

    Attributes:
        job: its name.
        due: scheduled times in the story.
        by_status: run records by status.
        in_gaps: scheduled times that lie in recorded gaps.
        unaccounted: scheduled times without any entry.
        unscheduled: records of times that the schedule does not name.
        unfinished: runs that have not ended.
    """

    job: str
    due: int
    by_status: Counter[RunStatus]
    in_gaps: int
    unaccounted: int
    unscheduled: int
    unfinished: int

    @property
    def kept(self) -> bool:
        """Whether each time has exactly one entry, and each entry has ended."""
        return not (self.unaccounted or self.unscheduled or self.unfinished)


def judge(world: World, job: Job, start: datetime, end: datetime) -> JobVerdict:
    """Compare a job's schedule with the ledger in (start, end].

    A record is keyed by its scheduled time, so no time can have two; what can go wrong is none, or one too
    many.
    """
    due = set(job.schedule.between(start, end))
    runs = {run.ref.scheduled_at: run for run in runs_between(world, job.name, start, end)}
    gaps = gaps_of(world, job.name)
    in_gaps = {when for when in due - set(runs) if any(gap.first <= when <= gap.last for gap in gaps)}
    return JobVerdict(
        job=job.name,
        due=len(due),
        by_status=Counter(run.status for run in runs.values()),
        in_gaps=len(in_gaps),
        unaccounted=len(due - set(runs) - in_gaps),
        unscheduled=len(set(runs) - due),
        unfinished=sum(not run.status.is_final for run in runs.values()),
    )
