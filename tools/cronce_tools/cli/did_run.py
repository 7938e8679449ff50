"""`cronce did-run`: did a job run on a day, or at a time? Yes or no, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from cronce.core.accounting import Account, ran
from cronce.core.jobstate import JobState
from cronce.core.records import RunRecord
from cronce.core.schedule import Schedule
from cronce.core.verdicts import Verdict
from cronce.core.zones import load_zone
from cronce.engine.inquiry import in_force
from cronce_tools.cli import json_form
from cronce_tools.cli.account_words import OUTCOME_STYLES, Teller
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit
from cronce_tools.cli.output import BAD, GOOD, Json
from cronce_tools.cli.stacks import Reached
from cronce_tools.cli.times import DAY, SECOND, day_of, midnight, shown, wall_or_instant

NEAR = 2 * DAY
"""A wall time is shown, or skipped, within so much of the same time in UTC: no zone is further away."""
OPEN = frozenset({Verdict.UNDER_WAY, Verdict.DUE, Verdict.TO_COME})
"""Of these nobody can say no yet."""


class Answer(StrEnum):
    """The answer in a word."""

    YES = "yes"
    """All of it ran."""
    NO = "no"
    """Something did not run."""
    NOT_YET = "not_yet"
    """Nothing says no, and something is still to come."""


STYLES = {Answer.YES: GOOD, Answer.NO: BAD, Answer.NOT_YET: ""}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question, and what the ledger says.

    Attributes:
        what: the day or time, in words.
        state: the job.
        schedule: in force; None if it cannot be read any more.
        accounts: what became of each occurrence.
        by_hand: runs of that time which are for no occurrence.
        now: the present.
        forgotten: before this nothing is kept.
    """

    what: str
    state: JobState
    schedule: Schedule | None
    accounts: Sequence[Account]
    by_hand: Sequence[RunRecord]
    now: datetime
    forgotten: datetime

    @property
    def answer(self) -> Answer:
        """Yes only if all of it ran; not yet as long as nothing says no."""
        if ran(self.accounts):
            return Answer.YES
        left = {account.outcome for account in self.accounts if not account.outcome.is_success}
        return Answer.NOT_YET if left and left <= OPEN else Answer.NO

    @property
    def teller(self) -> Teller:
        """Puts it into words."""
        return Teller(state=self.state, zone=zone_of(self.schedule), forgotten=self.forgotten)


def zone_of(schedule: Schedule | None) -> str:
    """The zone whose clock people read."""
    return schedule.tz if schedule else "UTC"


def answer_whether_it_ran(call: Call, name: str, when: str) -> int:
    """Answer the question.

    Returns:
        The exit code: 0 yes; 1 no, or not yet.
    """
    stack = call.reach()
    asked = _asked(stack, name, when)
    answer, why = asked.answer, _why(asked)
    if call.output.as_json:
        call.output.document({**json_form.head(stack, asked.now), **_json(asked, name, why)})
    else:
        call.output.line(f"{answer.replace('_', ' ')}: {why}", STYLES[answer])
        if len(asked.accounts) > 1:
            for text, outcome in asked.teller.lines(asked.accounts):
                call.output.line(f"  {text}", OUTCOME_STYLES[outcome])
        for run in asked.by_hand:
            call.output.line(f"  beside: {run.ref.id}, by hand, {run.status.value}")
    return Exit.YES if answer is Answer.YES else Exit.NO


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Where to look for what was asked.

    Attributes:
        start: included.
        end: excluded.
        what: the day or time, in words.
        wall: only what the clock shows so, or what stands in for it.
    """

    start: datetime
    end: datetime
    what: str
    wall: datetime | None = None


def _asked(stack: Reached, name: str, when: str) -> Asked:
    """Read what the ledger says of a day, of a wall time, or of an instant."""
    inquiry, now = stack.operator.inquiry, stack.operator.clock.now()
    state = stack.job(name)
    schedule = in_force(state)
    window = _window(when, zone_of(schedule), now)
    start, end, wall = window.start, window.end, window.wall
    books = inquiry.books(state, start, end)
    accounts = books.accounts(start, end)
    by_hand = [run for run in books.runs if run.ref.suffix and start <= run.ref.scheduled_at < end]
    return Asked(
        what=window.what,
        state=state,
        schedule=schedule,
        accounts=accounts if wall is None else [each for each in accounts if _is_at(each.at, wall, schedule)],
        by_hand=by_hand if wall is None else [],  # nobody names the second of a run by hand
        now=now,
        forgotten=now - stack.retention,
    )


def _window(when: str, zone: str, now: datetime) -> Window:
    day = day_of(when, now.astimezone(load_zone(zone)).date())
    if day is not None:
        what = f"{day:%a %Y-%m-%d} ({zone})"
        return Window(start=midnight(day, zone), end=midnight(day + DAY, zone), what=what)
    time = wall_or_instant(when)
    if time.tzinfo is not None:
        start = time.astimezone(UTC)
        return Window(start=start, end=start + SECOND, what=shown(time, zone))
    near = time.replace(tzinfo=UTC)
    what = f"{time:%a %Y-%m-%d %H:%M} ({zone})"
    return Window(start=near - NEAR, end=near + NEAR, what=what, wall=time)


def _is_at(at: datetime, wall: datetime, schedule: Schedule | None) -> bool:
    """Whether the clock shows the wall time at an instant, or the instant stands in for it."""
    if schedule is None:
        return at.replace(tzinfo=None) == wall
    return schedule.local(at).replace(tzinfo=None) == wall or wall in schedule.skipped_walls(at)


def _why(asked: Asked) -> str:
    if not asked.accounts:
        return _never(asked)
    if len(asked.accounts) == 1:
        ((text, _),) = asked.teller.lines(asked.accounts)
        return text
    counts: Counter[Verdict] = Counter()
    for account in asked.accounts:
        counts[account.outcome] += account.count
    good = counts[Verdict.RAN] + counts[Verdict.LATE]
    parts = [f"{good} of {counts.total()} times on {asked.what} ran"]
    parts += [
        f"{count} {outcome.replace('_', ' ')}"
        for outcome, count in counts.items()
        if outcome is not Verdict.RAN
    ]
    return ", ".join(parts)


def _never(asked: Asked) -> str:
    schedule = asked.schedule
    if schedule is None:
        return f"the ledger has nothing for {asked.what}, and the stored schedule cannot be read any more"
    following = schedule.next_after(asked.now)
    comes = f"the next time is {shown(following, schedule.tz)}" if following else "there is no time to come"
    return f"{asked.what} is no time of {asked.state.name} ({schedule.describe()}); {comes}"


def _json(asked: Asked, name: str, why: str) -> Json:
    zone = zone_of(asked.schedule)
    return {
        "job": name,
        "asked": asked.what,
        "answer": asked.answer.value,
        "why": why,
        "occurrences": [json_form.account(each, zone) for each in asked.accounts],
        "by_hand": [json_form.run(each) for each in asked.by_hand],
    }
