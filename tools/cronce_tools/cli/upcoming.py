"""`cronce next`: the times of a job or of all jobs, and what clock changes do to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from cronce.aws.clock import SystemClock
from cronce.core.jobstate import JobState
from cronce.core.schedule import Schedule
from cronce.engine.inquiry import in_force
from cronce.engine.registry import Declared
from cronce_tools.cli import working_copy
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit, UsageError
from cronce_tools.cli.json_form import instant
from cronce_tools.cli.output import QUIET, WAITS, Cell, Json
from cronce_tools.cli.stacks import Reached
from cronce_tools.cli.times import SECOND, backwards, shown, window_of

OF_ONE, OF_EACH = 10, 1
"""So many times are shown of the one job that is asked for, and of each job if none is named."""
EXCLUDED = "excluded by the job's calendar"


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What was asked.

    Attributes:
        job: its name; None: all of them.
        since: where to begin.
        until: where to end.
        count: at most so many of each job; None: what is usual.
        code: by the code of the working copy.
    """

    job: str | None
    since: str | None
    until: str | None
    count: int | None
    code: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Times:
    """Where the times of a job come from.

    Attributes:
        job: its name.
        schedule: it names them.
        source: who says so, in words.
        now: the present.
        excluded: whether the job's calendar excludes a time; None: it is not known here.
        note: what keeps the job from running.
    """

    job: str
    schedule: Schedule
    source: str
    now: datetime
    excluded: Callable[[datetime], bool] | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """Times of a job, each with whether its calendar excludes it (None: that is not known here)."""

    of: Times
    times: Sequence[tuple[datetime, bool | None]]


def next_times(call: Call, question: Question) -> int:
    """Show times of a job, or of all.

    Returns:
        The exit code: 1 if there is none.
    """
    if question.job is None:
        return _of_all(call, question)
    asked = _of_code(call, question.job) if question.code else _of_stack(call, question.job)
    found = _listed(asked, question, question.count or OF_ONE)
    if call.output.as_json:
        call.output.document(_document(found))
        return Exit.YES if found.times else Exit.NO
    call.output.note(f"{question.job}: {asked.schedule.describe()} ({asked.source})")
    if asked.note:
        call.output.note(asked.note)
    if not found.times:
        call.output.line("no time in this range" if question.until is not None else "no time to come")
        return Exit.NO
    call.output.table(
        ("local", "UTC", "remark"), [_row(asked, at, excluded=excluded) for at, excluded in found.times]
    )
    return Exit.YES


def _of_all(call: Call, question: Question) -> int:
    """The times of all jobs, the soonest first."""
    every = _all_of_code(call) if question.code else _all_of_stack(call)
    found = [_listed(each, question, question.count or OF_EACH) for each in every]
    if call.output.as_json:
        call.output.document({"jobs": [_document(each) for each in found]})
        return Exit.YES if any(each.times for each in found) else Exit.NO
    rows = [(at, each.of, excluded) for each in found for at, excluded in each.times]
    rows.sort(key=lambda row: (row[0], row[1].job))
    for each in found:
        if each.of.note:
            call.output.note(f"{each.of.job}: {each.of.note}")
        if not each.times:
            call.output.note(f"{each.of.job} has no time there")
    if not rows:
        call.output.line("no time in this range" if question.until is not None else "no time to come")
        return Exit.NO
    call.output.table(
        ("job", "local", "UTC", "remark"),
        [(of.job, *_row(of, at, excluded=excluded)) for at, of, excluded in rows],
    )
    return Exit.YES


def _listed(asked: Times, question: Question, count: int) -> Listed:
    schedule = asked.schedule
    first, last = window_of(question.since, question.until, schedule.tz, asked.now)
    start = first if first is not None else asked.now
    if last is not None and last <= start:
        raise backwards(start, last - SECOND, schedule.tz)
    # windows of schedules leave their start out; here it is included
    found = _found(schedule, start - SECOND, last, count)
    with working_copy.calendar_of(asked.job):
        return Listed(of=asked, times=[(at, asked.excluded(at) if asked.excluded else None) for at in found])


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
    times = _in_force(stack, stack.job(name))
    if times is None:
        raise UsageError(
            f"the stored schedule of {name} cannot be read any more: `cronce next {name} --code`"
        )
    return times


def _all_of_stack(call: Call) -> list[Times]:
    """All jobs whose schedule can be read; of the others that is said."""
    stack = call.reach()
    inquiry = stack.operator.inquiry
    states = inquiry.jobs.get_many(inquiry.names()).states
    every = {name: _in_force(stack, state) for name, state in sorted(states.items())}
    for name in inquiry.names():
        if every.get(name) is None:
            call.output.note(f"{name}: its schedule is not known; `cronce list` says why")
    return [times for times in every.values() if times]


def _in_force(stack: Reached, state: JobState) -> Times | None:
    """By the stored schedule of a job; None: it cannot be read any more."""
    schedule = in_force(state)
    if schedule is None:
        return None
    note = None
    if state.removed_at:
        note = "The job is not in the deployment any more: nothing is started."
    elif state.paused:
        note = f"Paused by {state.paused.by}: nothing is started until it is resumed."
    source, now = f"in force in {stack.place}", stack.operator.clock.now()
    return Times(job=state.name, schedule=schedule, source=source, now=now, note=note)


def _of_code(call: Call, name: str) -> Times:
    return _declared(working_copy.declared(call.project, name))


def _all_of_code(call: Call) -> list[Times]:
    found = working_copy.catalog(call.project)
    if found.problems:
        call.output.note(f"{', '.join(found.problems)} cannot be used: `cronce validate`")
    return [_declared(each) for each in found.jobs.values()]


def _declared(found: Declared) -> Times:
    job = found.job
    return Times(
        job=job.name,
        schedule=job.schedule,
        source=f"declared in {job.module}",
        now=SystemClock().now(),
        excluded=job.is_excluded,
    )


def _row(of: Times, at: datetime, *, excluded: bool | None) -> tuple[str, str, Cell]:
    mark = _mark(of.schedule, at, excluded=bool(excluded))
    return shown(at, of.schedule.tz), shown(at), Cell(mark, QUIET if mark == EXCLUDED else WAITS)


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


def _document(found: Listed) -> Json:
    schedule = found.of.schedule
    return {
        "job": found.of.job,
        "source": found.of.source,
        "schedule_in_words": schedule.describe(),
        "times": [_json(schedule, at, excluded) for at, excluded in found.times],
    }


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
