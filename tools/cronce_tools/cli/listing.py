"""`cronce list`."""

from __future__ import annotations

from cronce.core.jobstate import JobState
from cronce.core.records import RunRecord
from cronce.core.run import RunStatus
from cronce.engine.inquiry import Standing, in_force
from cronce_tools.cli import json_form
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit
from cronce_tools.cli.output import BAD, GOOD, QUIET, WAITS, Cell, Row
from cronce_tools.cli.times import shown

HEADINGS = ("job", "schedule", "next (local)", "next (UTC)", "last", "state")
UNREADABLE = "cannot be read any more"
STYLES = {
    RunStatus.SUCCEEDED: GOOD,
    RunStatus.FAILED: BAD,
    RunStatus.SKIPPED: WAITS,
    RunStatus.CANCELLED: WAITS,
}


def list_jobs(call: Call) -> int:
    """Show all jobs.

    Returns:
        The exit code: 0, whatever is wrong with them.
    """
    stack = call.reach()
    inquiry = stack.operator.inquiry
    standings, now = inquiry.standings(), inquiry.clock.now()
    if call.output.as_json:
        jobs = [json_form.standing(each, *_words(each.state)) for each in standings]
        call.output.document({**json_form.head(stack, now), "jobs": jobs})
        return Exit.YES
    if not standings:
        call.output.line(f"There are no jobs in {stack.place}: no tick of its scheduler has planned any yet.")
        return Exit.YES
    call.output.table(HEADINGS, [_row(each) for each in standings])
    return Exit.YES


def _words(state: JobState | None) -> tuple[str, str]:
    """The schedule in words, and the zone that it is meant in."""
    schedule = in_force(state) if state else None
    return (schedule.describe(), schedule.tz) if schedule else (UNREADABLE, "UTC")


def _row(found: Standing) -> Row:
    state = found.state
    if state is None:
        return (found.name, "-", "-", "-", "-", Cell(found.problem or "no tick has planned it yet", BAD))
    words, zone = _words(state)
    next_at = state.next_at if state.removed_at is None else None
    return (
        found.name,
        words,
        shown(next_at, zone),
        shown(next_at),
        _last(found.last, zone),
        _state(found, zone),
    )


def _last(run: RunRecord | None, zone: str) -> Cell:
    if run is None:
        return Cell("none", QUIET)
    reason = f"({run.reason.value})" if run.reason else ""
    manual = ", by hand" if run.ref.suffix else ""
    return Cell(f"{run.status.value}{reason} {shown(run.ref.scheduled_at, zone)}{manual}", STYLES[run.status])


def _state(found: Standing, zone: str) -> Cell:
    """What a person must know first, the worst in front."""
    state = found.state
    assert state is not None  # noqa: S101 - rows without are made elsewhere
    parts = []
    if found.overdue:
        first = found.overdue[0]
        more = f" and {len(found.overdue) - 1} more" if len(found.overdue) > 1 else ""
        parts.append(Cell(f"{first.verdict.upper()}: {shown(first.time.scheduled_at, zone)}{more}", BAD))
    if state.held:
        parts.append(Cell(f"held: {state.held.value}", BAD))
    if state.removed_at:
        parts.append(Cell(f"removed {shown(state.removed_at, zone)}", QUIET))
    if state.paused:
        why = f": {state.paused.why}" if state.paused.why else ""
        parts.append(Cell(f"paused by {state.paused.by}{why}", WAITS))
    if found.alert:
        parts.append(Cell(f"alert since {shown(found.alert.since, zone)}", BAD))
    parts += [
        Cell(f"{run.status.value}{f'({run.reason.value})' if run.reason else ''}", "")
        for run in found.unfinished[:1]
    ]
    return Cell("; ".join(part.text for part in parts), parts[0].style) if parts else Cell("fine", QUIET)
