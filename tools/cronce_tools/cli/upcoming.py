"""`cronce next`: the times of a job, and what clock changes do to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from cronce.aws.clock import SystemClock
from cronce.core.schedule import Schedule
from cronce.engine.inquiry import in_force
from cronce_tools.cli import working_copy
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit, UsageError
from cronce_tools.cli.json_form import instant
from cronce_tools.cli.output import QUIET, WAITS, Cell, Json
from cronce_tools.cli.times import SECOND, backwards, shown, window_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What was asked.

    Attributes:
        job: its name.
        since: where to begin.
        until: where to end.
        count: at most so many.
        code: by the code of the working copy.
    """

    job: str
    since: str | None
    until: str | None
    count: int
    code: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Times:
    """Where the times come from.

    Attributes:
        schedule: it names them.
        source: who says so, in words.
        now: the present.
        excluded: whether the job's calendar excludes a time; None: it is not known here.
        note: what keeps the job from running.
    """

    schedule: Schedule
    source: str
    now: datetime
    excluded: Callable[[datetime], bool] | None = None
    note: str | None = None


def next_times(call: Call, question: Question) -> int:
    """Show times of a job.

    Returns:
        The exit code: 1 if there is none.
    """
    times = _of_code(call, question.job) if question.code else _of_stack(call, question.job)
    schedule = times.schedule
    first, last = window_of(question.since, question.until, schedule.tz, times.now)
    start = first if first is not None else times.now
    if last is not None and last <= start:
        raise backwards(start, last - SECOND, schedule.tz)
    # windows of schedules leave their start out; here it is included
    found = _found(schedule, start - SECOND, last, question.count)
    with working_copy.calendar_of(question.job):
        barred = [times.excluded(at) if times.excluded else None for at in found]
    if call.output.as_json:
        listed = [_json(schedule, at, excluded) for at, excluded in zip(found, barred, strict=True)]
        call.output.document(
            {
                "job": question.job,
                "source": times.source,
                "schedule_in_words": schedule.describe(),
                "times": listed,
            }
        )
        return Exit.YES if found else Exit.NO
    call.output.note(f"{question.job}: {schedule.describe()} ({times.source})")
    if times.note:
        call.output.note(times.note)
    if not found:
        call.output.line("no time in this range" if last else "no time to come")
        return Exit.NO
    rows = []
    for at, excluded in zip(found, barred, strict=True):
        mark = _mark(schedule, at, excluded=bool(excluded))
        rows.append((shown(at, schedule.tz), shown(at), Cell(mark, QUIET if mark == EXCLUDED else WAITS)))
    call.output.table(("local", "UTC", "remark"), rows)
    return Exit.YES


EXCLUDED = "excluded by the job's calendar"


def _found(schedule: Schedule, start: datetime, last: datetime | None, count: int) -> list[datetime]:
    if last is not None:
        return schedule.between(start, last - SECOND, limit=count)
    found: list[datetime] = []
    at = schedule.next_after(start)
    while at is not None and len(found) < count:
        found.append(at)
        at = schedule.next_after(at)
    return found


def _of_stack(call: Call, name: str) -> Times:
    stack = call.reach()
    inquiry = stack.operator.inquiry
    state = inquiry.job(name)
    schedule = in_force(state)
    if schedule is None:
        raise UsageError(
            f"the stored schedule of {name} cannot be read any more: `cronce next {name} --code`"
        )
    note = None
    if state.removed_at:
        note = "The job is not in the deployment any more: nothing is started."
    elif state.paused:
        note = f"Paused by {state.paused.by}: nothing is started until it is resumed."
    return Times(schedule=schedule, source=f"in force in {stack.place}", now=inquiry.clock.now(), note=note)


def _of_code(call: Call, name: str) -> Times:
    job = working_copy.declared(call.project, name).job
    return Times(
        schedule=job.schedule,
        source=f"declared in {job.module}",
        now=SystemClock().now(),
        excluded=job.is_excluded,
    )


def _mark(schedule: Schedule, at: datetime, *, excluded: bool) -> str:
    """What is special about a time, in words; mostly nothing."""
    parts = [EXCLUDED] if excluded else []
    if walls := schedule.skipped_walls(at):
        named = ", ".join(wall.strftime("%H:%M") for wall in walls)
        parts.append(f"stands in for {named}, which the clock skips")
    passes = schedule.passes(at)
    if len(passes) > 1:
        parts.append(
            f"pass {passes.index(at) + 1} of {len(passes)}: the clock shows {schedule.local(at):%H:%M} twice"
        )
    return "; ".join(parts)


def _json(schedule: Schedule, at: datetime, excluded: bool | None) -> Json:
    passes = schedule.passes(at)
    return {
        "at": instant(at),
        "at_local": schedule.local(at).isoformat(),
        "stands_in_for_local": [wall.isoformat() for wall in schedule.skipped_walls(at)],
        "pass": passes.index(at) + 1,
        "passes": len(passes),
        "excluded": excluded,
    }
