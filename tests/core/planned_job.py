"""One job that is planned step by step without a store: what a window says is applied, nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cronce.core.job import Job, job
from cronce.core.jobstate import Gap, JobState, JobWindow, Pause
from cronce.core.planning import Moment, first_sight, plan
from cronce.core.records import RunRecord
from cronce.core.run import RunStatus
from cronce.core.schedule import Schedule

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
RETENTION = timedelta(days=400)
ZONE_DATA = "2026f"


def at(text: str) -> datetime:
    """`2026-01-05 10:03:04` as an instant."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def declare(schedule: Schedule, /, name: str = "menu", **policies: Any) -> Job:
    """A job that does nothing."""
    return job(name, schedule=schedule, **policies)(lambda run: None)


def moment(now: datetime, *, zone_data: str = ZONE_DATA, retention: timedelta = RETENTION) -> Moment:
    """What planning takes from its surroundings."""
    return Moment(now=now, zone_data=zone_data, retention=retention)


class Planned:
    """A job, its stored state, and the ledger so far.

    Args:
        declared: as in the deployment; assign to `declared` to deploy another version.
        seen: when it is first seen.
    """

    def __init__(self, declared: Job, seen: datetime) -> None:
        self.declared = declared
        self.state: JobState = first_sight(declared, "jobs.menu", moment(seen)).after
        self.runs: list[RunRecord] = []
        self.gaps: list[Gap] = []

    def look(self, now: datetime, **surroundings: Any) -> JobWindow | None:
        """What a tick would write; nothing is applied."""
        return plan(self.declared, self.state, moment(now, **surroundings))

    def tick(self, now: datetime, **surroundings: Any) -> JobWindow:
        """One tick; the window, empty if there was nothing to write."""
        window = self.look(now, **surroundings)
        if window is None:
            return JobWindow(before=self.state, after=self.state)
        assert window.actions <= 90, "a window takes at most 90 writes"
        self.state = replace(
            window.after,
            slots=replace(self.state.slots, queued=self.state.slots.queued + len(window.queued)),
        )
        self.runs += window.runs
        self.gaps += window.gaps
        return window

    def pause(self, now: datetime) -> None:
        """As an operator does it."""
        paused = Pause(at=now, by="ada", why="stock-taking")
        self.state = replace(self.state, paused=paused, due_at=None, expect_by=None)

    def resume(self, now: datetime) -> None:
        """As an operator does it."""
        self.state = replace(
            self.state, paused=None, resumed_at=now, due_at=now, expect_by=now + self.declared.grace
        )

    @property
    def ran(self) -> list[str]:
        """Occurrences that became runs, as `05 10:03`."""
        return [short(run.ref.scheduled_at) for run in self.runs if run.status is not RunStatus.SKIPPED]

    @property
    def skipped(self) -> list[str]:
        """Occurrences that became records of their own, with the reason."""
        skips = [run for run in self.runs if run.status is RunStatus.SKIPPED]
        return [f"{short(run.ref.scheduled_at)} {run.reason}" for run in skips]

    def accounts(self) -> Counter[datetime]:
        """How often each occurrence is accounted for, by the schedule that is declared now."""
        ledger = Counter(run.ref.scheduled_at for run in self.runs)
        for gap in self.gaps:
            inside = self.declared.schedule.between(gap.first - timedelta(seconds=1), gap.last)
            assert len(inside) == gap.count, "a gap says how many occurrences it holds"
            assert (inside[0], inside[-1]) == (gap.first, gap.last), "a gap ends with its occurrences"
            ledger.update(inside)
        return ledger


def short(instant: datetime) -> str:
    """Day and time."""
    return f"{instant:%d %H:%M}"


def spans(gaps: list[Gap] | tuple[Gap, ...]) -> list[str]:
    """Gaps as `05 10:04 - 05 18:02: 479 superseded`."""
    return [f"{short(gap.first)} - {short(gap.last)}: {gap.count} {gap.reason}" for gap in gaps]
