"""What is known beside an alert when its notice is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from cronce.core.alerting import ref_of
from cronce.core.alerts import Alert, Trouble
from cronce.core.jobstate import Gap, JobState
from cronce.core.records import RunRecord, RunRef
from cronce.core.run_story import StepStory
from cronce.core.values import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class NextTime:
    """A time that a silent scheduler has not planned yet."""

    job: str
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Background:
    """What a notice says beside its alert, as far as it is known.

    Attributes:
        stack: its name.
        jobs: those that the notice names.
        runs: of the times that the alert lists.
        steps: of the run of the newest of them, in the order in which they were recorded.
        gap: the stretch of skipped times that begins with the newest of them.
        unread: what the newest of them came to could not be asked, or its item cannot be read.
        outlook: what a silent scheduler has not planned: the oldest first.
    """

    stack: str
    jobs: Mapping[str, JobState]
    runs: Mapping[RunRef, RunRecord]
    steps: Sequence[StepStory] = ()
    gap: Gap | None = None
    unread: bool = False
    outlook: Sequence[NextTime] = ()

    def zone(self, job: str) -> str | None:
        """The zone of a job's schedule, if the job is known."""
        state = self.jobs.get(job)
        return state.schedule.get("tz", "UTC") if state else None

    def newest_run(self, alert: Alert) -> RunRecord | None:
        """The run of the newest time of a job's alert; None: there is none, or it could not be read."""
        return self.runs.get(ref_of(alert.newest, alert.scope))

    def never_planned(self, alert: Alert) -> bool:
        """Whether it is sure that the newest time of a job's alert has no record, and why: no tick made one.

        The item of the job says which times are still to be planned, and records outrank it: both were read.
        """
        missed = alert.newest.trouble is Trouble.MISSED
        return missed and not self.unread and alert.scope in self.jobs and self.newest_run(alert) is None
