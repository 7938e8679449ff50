"""What the next ticks would make of a job's past, if it were now: the planner itself, without its writes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from cronce.core.job import Job
from cronce.core.jobstate import Gap, GapReason, Held, JobState, JobWindow
from cronce.core.planning import Moment, plan
from cronce.core.run import Reason, RunStatus
from cronce.core.values import dataclass

MOST_TICKS = 20
"""Ticks that are looked at: a job that has more to catch up is cut there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """A time, or a stretch of them, and what would become of it.

    Attributes:
        first: the first time.
        last: the last one.
        count: how many.
        reason: why they would not run; None = it would run.
    """

    first: datetime
    last: datetime
    count: int
    reason: Reason | GapReason | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CatchUpPreview:
    """What would become of all that is due.

    Attributes:
        times: oldest first.
        more: whether it goes on: more ticks than were looked at have something to do.
    """

    times: tuple[Forecast, ...]
    more: bool


def preview(job: Job, state: JobState, moment: Moment) -> CatchUpPreview:
    """What would become of the times that are due, and of those of a pause if it ended now.

    Records that exist already (of a backfill) are not known here; they would stay as they are.

    Args:
        job: as declared; its calendar is asked, and what it raises comes through.
        state: as stored.
        moment: the present.
    """
    if state.paused is not None:
        state = replace(state, paused=None, resumed_at=moment.now)
    times: list[Forecast] = []
    for _ in range(MOST_TICKS):
        window = plan(job, state, moment)
        if window is None:
            return CatchUpPreview(times=tuple(times), more=False)
        times += _forecasts(window)
        state = window.after
        if state.held is not Held.BEHIND:
            return CatchUpPreview(times=tuple(times), more=False)
    return CatchUpPreview(times=tuple(times), more=True)


def _forecasts(window: JobWindow) -> list[Forecast]:
    runs = [
        Forecast(
            first=run.ref.scheduled_at,
            last=run.ref.scheduled_at,
            count=1,
            reason=run.reason if run.status is RunStatus.SKIPPED else None,
        )
        for run in window.runs
    ]
    return sorted([*runs, *map(_of_gap, window.gaps)], key=lambda forecast: forecast.first)


def _of_gap(gap: Gap) -> Forecast:
    return Forecast(first=gap.first, last=gap.last, count=gap.count, reason=gap.reason)
