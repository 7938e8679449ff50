"""`cronce backfill`: runs for times of the past that have none."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    FillFate.UNREADABLE: "what accounts for it cannot be read",
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
    schedule = in_force(stack.job(wish.job))
    zone = schedule.tz if schedule else "UTC"
    start, end = range_of(wish.since, wish.until, zone, stack.operator.clock.now())
    with authors_code():
        plan = stack.operator.operations.preview(wish.job, start, end - SECOND, gaps=wish.gaps)
    if not call.output.as_json:
        _show(call.output, plan, zone)
    answer = Answer(call=call, stack=stack, plan=plan, zone=zone)
    if wish.dry_run or not plan.to_create:
        return answer.give()
    question = f"this makes {counted(len(plan.to_create), 'run')} of {wish.job} in {stack.place}"
    if len(plan.to_create) > FEW and not agreed(question, yes=wish.yes):
        return Exit.NO
    _fill(answer, wish.reason)
    return answer.give()


@dataclass(kw_only=True, slots=True)
class Answer:
    """What a backfill came to, as far as it came.

    Attributes:
        call: of the command.
        stack: where.
        plan: what was to be done.
        zone: whose clock is shown.
        made: the runs that were made.
        done: times that were dealt with: by this backfill, or by whoever was first.
    """

    call: Call
    stack: Reached
    plan: BackfillPlan
    zone: str
    made: list[RunRef] = field(default_factory=list)
    done: int = 0

    def give(self) -> int:
        """Say it.

        Returns:
            The exit code.
        """
        if self.call.output.as_json:
            self._document()
        else:
            self._tell(self.call.output)
        return Exit.YES

    def give_part(self) -> None:
        """It was stopped, or the stack could not be asked any more: say how far it came, also in JSON.

        What was under way may be made: nobody has heard.
        """
        of = len(self.plan.to_create)
        if self.call.output.as_json:
            self._document()
        self.call.output.note(
            f"stopped: {self.done} of {of} done, {counted(len(self.made), 'run')} made, perhaps one more; "
            "the same command does the others"
        )

    def _tell(self, output: Output) -> None:
        runs, place = counted(len(self.plan.to_create), "run"), self.stack.place
        if not self.plan.times:
            output.line("the schedule names no time there")
        elif self.made:
            output.line(f"made {counted(len(self.made), 'run')} in {place}; each waits its turn", GOOD)
        elif not self.plan.to_create:
            output.line("there is nothing to make")
        elif self.done:
            output.line("nothing is left to make: somebody else was first")
        else:
            output.line(f"{runs} would be made in {place}", WAITS)

    def _document(self) -> None:
        head = json_form.head(self.stack, self.stack.operator.clock.now())
        of = len(self.plan.to_create)
        body = {
            "job": self.plan.job,
            "times": [_json(time, self.zone) for time in self.plan.times],
            "made": [ref.id for ref in self.made],
            "done": self.done,
            "of": of,
        }
        self.call.output.document({**head, **body})


def _fill(answer: Answer, reason: str) -> None:
    """Make the runs one after the other; whoever stops it may give the command again."""
    stack, plan = answer.stack, answer.plan
    by, of = caller(stack, answer.call.by), len(plan.to_create)
    try:
        with progress() as show:
            for filled in stack.operator.operations.backfill(plan, by=by, why=reason):
                answer.done = filled.number
                if filled.created:
                    answer.made.append(RunRef(plan.job, filled.at))
                if filled.number % FEW == 0 or filled.number == of:
                    show(f"{filled.number} of {of}")
    except BaseException:  # Ctrl-C too
        answer.give_part()
        raise


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


def _json(time: FillTime, zone: str) -> Json:
    return {
        "at": json_form.instant(time.at),
        "at_local": local_json(time.at, zone),
        "fate": time.fate.value,
        "detail": time.detail or None,
    }
