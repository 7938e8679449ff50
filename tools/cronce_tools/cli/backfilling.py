"""`cronce backfill`: runs for times of the past that have none."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from cronce.core.backfill import BackfillPlan, FillFate, FillTime
from cronce.core.records import RunRef
from cronce.engine.inquiry import in_force
from cronce_tools.cli import json_form
from cronce_tools.cli.asking import agreed
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit
from cronce_tools.cli.output import GOOD, QUIET, WAITS, Cell, Json, Output, Row, counted
from cronce_tools.cli.signature import caller
from cronce_tools.cli.stacks import Reached
from cronce_tools.cli.times import SECOND, local_json, range_of, shown
from cronce_tools.cli.waiting import progress
from cronce_tools.cli.working_copy import authors_code

FEW = 10
"""Runs that are made without asking."""
WORDS = {
    FillFate.CREATE: "gets a run",
    FillFate.RECORD: "has a record",
    FillFate.GAP: "lies in a gap (--gaps runs it)",
    FillFate.EXCLUDED: "the job's calendar excludes it",
    FillFate.PLANNER: "the scheduler will plan it",
    FillFate.FUTURE: "has not come",
    FillFate.TOO_OLD: "its record may be forgotten",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What was asked for.

    Attributes:
        job: its name.
        since: from here on.
        until: up to here.
        gaps: times in gaps too.
        dry_run: only say what would be done.
        yes: it was agreed to beforehand.
        reason: why.
    """

    job: str
    since: str
    until: str
    gaps: bool
    dry_run: bool
    yes: bool
    reason: str


def backfill(call: Call, wish: Wish) -> int:
    """Make the runs.

    Returns:
        The exit code; 0 also if there was nothing to make.
    """
    stack = call.reach()
    schedule = in_force(stack.operator.inquiry.job(wish.job))
    zone = schedule.tz if schedule else "UTC"
    start, end = range_of(wish.since, wish.until, zone, stack.operator.clock.now())
    with authors_code():
        plan = stack.operator.operations.preview(wish.job, start, end - SECOND, gaps=wish.gaps)
    if not call.output.as_json:
        _show(call.output, plan, zone)
    if wish.dry_run or not plan.to_create:
        return _done(call, stack, plan, zone, [])
    question = f"this makes {counted(len(plan.to_create), 'run')} of {wish.job} in {stack.place}"
    if len(plan.to_create) > FEW and not agreed(question, yes=wish.yes):
        return Exit.NO
    return _done(call, stack, plan, zone, _fill(call, stack, plan, wish.reason))


def _fill(call: Call, stack: Reached, plan: BackfillPlan, reason: str) -> list[RunRef]:
    """Make the runs one after the other; whoever stops it may give the command again."""
    made: list[RunRef] = []
    by, of = caller(stack, call.by), len(plan.to_create)
    try:
        with progress() as show:
            for filled in stack.operator.operations.backfill(plan, by=by, why=reason):
                if filled.created:
                    made.append(RunRef(plan.job, filled.at))
                if filled.number % FEW == 0 or filled.number == of:
                    show(f"{filled.number} of {of}")
    except KeyboardInterrupt:
        call.output.note(f"stopped: {len(made)} of {of} runs are made; the same command makes the others")
        raise
    return made


def _show(output: Output, plan: BackfillPlan, zone: str) -> None:
    """What becomes of the times, several in a row together."""
    rows: list[Row] = []
    for (fate, detail), group in groupby(plan.times, key=lambda time: (time.fate, time.detail)):
        times = list(group)
        words = f"{WORDS[fate]}{f': {detail}' if detail else ''}"
        ends = shown(times[0].at, zone) + (f" to {shown(times[-1].at, zone)}" if len(times) > 1 else "")
        rows.append((ends, str(len(times)), Cell(words, GOOD if fate is FillFate.CREATE else QUIET)))
    if rows:
        output.table(("local", "times", "what becomes of it"), rows)


def _done(call: Call, stack: Reached, plan: BackfillPlan, zone: str, made: list[RunRef]) -> int:
    if call.output.as_json:
        head = json_form.head(stack, stack.operator.clock.now())
        times = [_json(time, zone) for time in plan.times]
        call.output.document({**head, "job": plan.job, "times": times, "made": [ref.id for ref in made]})
        return Exit.YES
    if not plan.times:
        call.output.line("the schedule names no time there")
    elif made:
        call.output.line(f"made {counted(len(made), 'run')} in {stack.place}; each waits its turn", GOOD)
    elif not plan.to_create:
        call.output.line("there is nothing to make")
    else:
        call.output.line(f"{counted(len(plan.to_create), 'run')} would be made in {stack.place}", WAITS)
    return Exit.YES


def _json(time: FillTime, zone: str) -> Json:
    return {
        "at": json_form.instant(time.at),
        "at_local": local_json(time.at, zone),
        "fate": time.fate.value,
        "detail": time.detail or None,
    }
