"""`cronce runs`: runs by state and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce.core.records import RunRecord
from cronce.core.run import RunStatus, Trigger
from cronce.core.verdicts import claim_is_over, is_late, of_run
from cronce.engine.inquiry import in_force
from cronce.engine.run_search import UNFINISHED, Search
from cronce_tools.cli import json_form
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit, UsageError
from cronce_tools.cli.output import BAD, GOOD, WAITS, Cell, Row
from cronce_tools.cli.times import local_text, shown, shown_for, window_of

HEADINGS = ("run", "local time", "status", "attempt", "started (UTC)", "took", "remark")
LOOK_BACK = timedelta(days=7)
"""How far ended runs of some state are looked for, unless more is asked: a job may have 1,440 a day."""
NO_GRACE = timedelta(0)
"""The verdict of a run that has not ended rests on its own `expect_by`."""
ERROR_SHOWN = 60
"""Characters of an error in a line; `cronce show` has all of it."""
STYLES = {
    RunStatus.SUCCEEDED: GOOD,
    RunStatus.FAILED: BAD,
    RunStatus.SKIPPED: WAITS,
    RunStatus.CANCELLED: WAITS,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What was asked.

    Attributes:
        job: of this job only.
        status: names of states.
        since: from here on.
        until: up to here.
        limit: the newest so many.
    """

    job: str | None
    status: tuple[str, ...]
    since: str | None
    until: str | None
    limit: int


def list_runs(call: Call, question: Question) -> int:
    """Show runs, newest first.

    Returns:
        The exit code: 1 if there are none.
    """
    statuses = frozenset(map(_status, question.status))
    stack = call.reach()
    now = stack.operator.clock.now()
    schedule = in_force(stack.job(question.job)) if question.job is not None else None
    zone = schedule.tz if schedule else "UTC"
    since, until = window_of(question.since, question.until, zone, now)
    looked_back = since is None and bool(statuses) and not statuses <= UNFINISHED.keys()
    if looked_back:
        since = (until or now) - LOOK_BACK
    search = Search(job=question.job, statuses=statuses, since=since, until=until, limit=question.limit)
    answer = stack.operator.search.find(search)
    found = answer.records
    if call.output.as_json:
        runs = [json_form.run(each) for each in found]
        unread = [each.problem for each in answer.unread]
        call.output.document({**json_form.head(stack, now), "runs": runs, "unreadable": unread})
    elif found:
        call.output.table(HEADINGS, [_row(each, now) for each in found])
    else:
        call.output.line("no such runs")
    for each in answer.unread:
        call.output.note(f"left out, for it cannot be read: {each.problem}")
    if looked_back and len(found) < question.limit:
        call.output.note(f"looked back to {shown(since, zone)}; --since looks further")
    return Exit.YES if found else Exit.NO


def _status(name: str) -> RunStatus:
    try:
        return RunStatus(name.upper())
    except ValueError:
        known = ", ".join(status.lower() for status in RunStatus)
        raise UsageError(f"there is no status {name!r}: there are {known}") from None


def status_cell(run: RunRecord, now: datetime) -> Cell:
    """State and reason; a run that is late, or that nobody stands behind, says so."""
    reason = f"({run.reason.value})" if run.reason else ""
    if claim_is_over(run, now):
        return Cell(f"{run.status.value}, its claim is over", BAD)
    if is_late(run, now):
        return Cell(f"{run.status.value}{reason}, {of_run(run, NO_GRACE, now).value}", BAD)
    return Cell(f"{run.status.value}{reason}", STYLES.get(run.status, ""))


def _row(run: RunRecord, now: datetime) -> Row:
    took = shown_for(run.ended_at - run.started_at) if run.ended_at and run.started_at else "-"
    return (
        run.ref.id,
        local_text(run.scheduled_local),
        status_cell(run, now),
        f"{run.attempt} of {run.max_attempts}",
        f"{run.started_at:%Y-%m-%d %H:%M:%S}" if run.started_at else "-",
        took,
        _remark(run),
    )


def _remark(run: RunRecord) -> str:
    parts = []
    if run.trigger is not Trigger.SCHEDULE:
        parts.append(run.trigger.value)
    if run.act:
        parts.append(f"{run.act.what.value} by {run.act.by}")
    if run.cancel_requested and not run.status.is_final:
        parts.append("asked to stop")
    if run.error:
        text = " ".join(run.error.split())
        parts.append(text if len(text) <= ERROR_SHOWN else f"{text[:ERROR_SHOWN]}...")
    return "; ".join(parts)
