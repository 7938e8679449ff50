"""`cronce rewind`, and what a resumed job would catch up: planning that is looked at or done again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cronce.core.adoption import Moment
from cronce.core.catch_up_preview import CatchUpPreview, Forecast, preview
from cronce.core.zones import check_zone_data
from cronce.engine.inquiry import in_force
from cronce_tools.cli import json_form, working_copy
from cronce_tools.cli.asking import agreed
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit
from cronce_tools.cli.output import GOOD, QUIET, Cell, Json, Row, counted
from cronce_tools.cli.signature import caller
from cronce_tools.cli.times import SECOND, instant_of, shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What was asked for.

    Attributes:
        job: its name.
        to: from here on it is planned again.
        replan_gaps: times in gaps too.
        yes: it was agreed to beforehand.
        reason: why.
    """

    job: str
    to: str
    replan_gaps: bool
    yes: bool
    reason: str


def rewind(call: Call, wish: Wish) -> int:
    """Set a job back, so that the next tick plans again what nothing accounts for.

    Returns:
        The exit code.
    """
    stack = call.reach()
    schedule = in_force(stack.job(wish.job))
    zone = schedule.tz if schedule else "UTC"
    begin = instant_of(wish.to, zone, stack.operator.clock.now())
    what = "what has no record" + (", and what lies in gaps" if wish.replan_gaps else "")
    question = f"from {shown(begin, zone)} on {wish.job} in {stack.place} is planned again: {what}"
    if not agreed(question, yes=wish.yes):
        return Exit.NO
    by, before = caller(stack, call.by), begin - SECOND
    done = stack.operator.operations.rewind(
        wish.job, before, replan_gaps=wish.replan_gaps, by=by, why=wish.reason
    )
    if call.output.as_json:
        head = json_form.head(stack, stack.operator.clock.now())
        body = {
            "job": wish.job,
            "planned_to": json_form.instant(done.state.planned_to),
            "times": [json_form.instant(at) for at in done.times],
            "gaps": [json_form.gap(each) for each in done.gaps],
        }
        call.output.document({**head, **body})
        return Exit.YES
    given_up = f"; {counted(len(done.gaps), 'gap')} given up" if done.gaps else ""
    times = counted(len(done.times), "time")
    call.output.line(f"set {wish.job} in {stack.place} back: the next tick plans {times}{given_up}", GOOD)
    for at in done.times:
        call.output.line(f"  {shown(at, zone)}")
    return Exit.YES


def foresee(call: Call, name: str) -> int:
    """Show what the next ticks would make of what is due, if the job were resumed now.

    Returns:
        The exit code.
    """
    stack = call.reach()
    state, now = stack.job(name), stack.operator.clock.now()
    declared = working_copy.declared(call.project, name).job
    moment = Moment(now=now, zone_data=check_zone_data(), retention=stack.retention)
    with working_copy.calendar_of(name):
        found = preview(declared, state, moment)
    if call.output.as_json:
        times = [_json(each) for each in found.times]
        call.output.document({**json_form.head(stack, now), "job": name, "times": times, "more": found.more})
        return Exit.YES
    if found.times:
        call.output.table(("local", "times", "what becomes of it"), _rows(found, declared.schedule.tz))
    else:
        call.output.line("nothing is due")
    if found.more:
        call.output.line("and so on: there is more than was looked at")
    return Exit.YES


def _rows(found: CatchUpPreview, zone: str) -> Sequence[Row]:
    return [
        (
            _ends(each.first, each.last, zone),
            str(each.count),
            Cell(f"skipped({each.reason.value})", QUIET) if each.reason else Cell("runs", GOOD),
        )
        for each in found.times
    ]


def _ends(first: datetime, last: datetime, zone: str) -> str:
    return shown(first, zone) if first == last else f"{shown(first, zone)} to {shown(last, zone)}"


def _json(forecast: Forecast) -> Json:
    return {
        "first": json_form.instant(forecast.first),
        "last": json_form.instant(forecast.last),
        "count": forecast.count,
        "reason": forecast.reason.value if forecast.reason else None,
    }
