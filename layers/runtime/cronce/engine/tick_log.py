"""What a tick tells the log of one written window: not each on-time run, but what somebody may ask about."""

from __future__ import annotations

from cronce.core.jobstate import Held, JobState, JobWindow
from cronce.core.judgement import ON_TIME
from cronce.core.ports import Telemetry
from cronce.core.run import Notice, RunStatus


def tell(window: JobWindow, telemetry: Telemetry) -> None:
    """Say what became of a job: created, gone, back, held, another schedule, caught up, gaps."""
    before, after = window.before, window.after
    if before is None:
        telemetry.event("job.created", job=after.name, module=after.module, next_at=after.next_at)
    else:
        _tell_changes(before, after, telemetry)
    late = [
        run
        for run in window.runs
        if run.status is not RunStatus.SKIPPED and run.created_at - run.ref.scheduled_at > ON_TIME
    ]
    if late:
        oldest, newest = late[0].ref.scheduled_at, late[-1].ref.scheduled_at
        telemetry.event("job.caught_up", job=after.name, runs=len(late), oldest=oldest, newest=newest)
    for gap in window.gaps:
        tell_gap = telemetry.warn if gap.notice is Notice.PENDING else telemetry.event
        tell_gap(
            "job.gap", job=gap.job, first=gap.first, last=gap.last, count=gap.count, reason=gap.reason.value
        )


def _tell_changes(before: JobState, after: JobState, telemetry: Telemetry) -> None:
    if after.schedule_hash != before.schedule_hash:
        telemetry.event(
            "job.schedule_adopted",
            job=after.name,
            before=before.schedule,
            after=after.schedule,
            begins=after.planned_to,
        )
    if after.removed_at != before.removed_at:
        telemetry.event("job.removed" if after.removed_at else "job.back", job=after.name)
    if after.held is not before.held and after.held is not None:
        say = telemetry.warn if after.held is Held.UNAVAILABLE else telemetry.event
        say(f"job.{after.held.value}", job=after.name, planned_to=after.planned_to)
