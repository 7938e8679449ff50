"""`cronce history`: the days of a month, each with the worst that happened on it."""

from __future__ import annotations

import calendar
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise

from cronce.core.accounting import Account
from cronce.core.verdicts import Verdict
from cronce.engine.inquiry import in_force
from cronce_tools.cli import json_form
from cronce_tools.cli.account_words import OUTCOME_STYLES
from cronce_tools.cli.call import Call
from cronce_tools.cli.did_run import zone_of
from cronce_tools.cli.exits import Exit
from cronce_tools.cli.output import Cell, Json, Output
from cronce_tools.cli.times import DAY, midnight, month_of

MARKS = {
    Verdict.MISSED: "M",
    Verdict.STUCK: "H",
    Verdict.OVERDUE: "O",
    Verdict.FAILED: "F",
    Verdict.UNREADABLE: "X",
    Verdict.UNRECORDED: "?",
    Verdict.CANCELLED: "C",
    Verdict.SKIPPED: "S",
    Verdict.LATE: "L",
    Verdict.DUE: "~",
    Verdict.UNDER_WAY: "~",
    Verdict.RAN: "+",
    Verdict.TO_COME: ".",
    Verdict.NOT_BEGUN: "-",
}
"""The mark of a day, the worst first."""
WORST = {outcome: rank for rank, outcome in enumerate(MARKS)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """A day of a job.

    Attributes:
        day: in the job's zone.
        counts: occurrences by what became of them.
    """

    day: date
    counts: Mapping[Verdict, int]

    @property
    def worst(self) -> Verdict | None:
        """The worst of it; None: there was nothing to run."""
        return min(self.counts, key=lambda outcome: WORST[outcome], default=None)


def show_history(call: Call, name: str, month: str | None) -> int:
    """Show a month.

    Returns:
        The exit code.
    """
    stack = call.reach()
    inquiry, now = stack.operator.inquiry, stack.operator.clock.now()
    state = stack.job(name)
    schedule = in_force(state)
    zone = zone_of(schedule)
    today = (schedule.local(now) if schedule else now).date()
    first = month_of(month) if month is not None else today.replace(day=1)
    end = (first.replace(day=28) + 4 * DAY).replace(day=1)
    start, stop = midnight(first, zone), midnight(end, zone)
    accounts = inquiry.books(state, start, stop).accounts(start, stop)
    days = list(_days(first, end, accounts, zone))
    if call.output.as_json:
        body = {"job": name, "month": f"{first:%Y-%m}", "tz": zone, "days": [_json(day) for day in days]}
        call.output.document({**json_form.head(stack, now), **body})
        return Exit.YES
    call.output.line(f"{name}  {first:%B %Y}  {schedule.describe() if schedule else zone}")
    _calendar(call.output, days)
    _legend(call.output, days)
    return Exit.YES


def _days(first: date, end: date, accounts: Sequence[Account], zone: str) -> Iterator[Day]:
    edges = [midnight(first + number * DAY, zone) for number in range((end - first).days + 1)]
    for number, (start, stop) in enumerate(pairwise(edges)):
        yield Day(day=first + number * DAY, counts=_counted(accounts, start, stop))


def _counted(accounts: Sequence[Account], start: datetime, stop: datetime) -> Counter[Verdict]:
    counts: Counter[Verdict] = Counter()
    for account in accounts:
        if start <= account.at < stop:
            counts[account.outcome] += account.count
    return counts


def _calendar(output: Output, days: Sequence[Day]) -> None:
    rows: list[list[Cell]] = [[Cell("")] * days[0].day.weekday()]
    for day in days:
        if len(rows[-1]) == len(calendar.day_abbr):
            rows.append([])
        worst = day.worst
        mark, style = (MARKS[worst], OUTCOME_STYLES[worst]) if worst else (" ", "")
        rows[-1].append(Cell(f"{day.day.day:2} {mark}", style))
    rows[-1] += [Cell("")] * (len(calendar.day_abbr) - len(rows[-1]))
    output.table(list(calendar.day_abbr), rows)


def _legend(output: Output, days: Sequence[Day]) -> None:
    """What the marks mean, and how many times stand behind each; then the days of which not all ran."""
    total: Counter[Verdict] = Counter()
    for day in days:
        total.update(day.counts)
    for outcome in reversed(MARKS):
        if total[outcome]:
            output.line(f"{MARKS[outcome]} {_name(outcome)}: {total[outcome]}", OUTCOME_STYLES[outcome])
    mixed = [
        day
        for day in days
        if len(day.counts) > 1 and day.worst not in {Verdict.RAN, Verdict.DUE, Verdict.UNDER_WAY}
    ]
    for day in mixed:
        parts = ", ".join(f"{count} {_name(outcome)}" for outcome, count in sorted(day.counts.items()))
        output.line(f"{day.day:%a %Y-%m-%d}: {parts}")


def _name(outcome: Verdict) -> str:
    return outcome.replace("_", " ")


def _json(day: Day) -> Json:
    worst = day.worst
    return {
        "day": day.day.isoformat(),
        "worst": worst.value if worst else None,
        "counts": {outcome.value: count for outcome, count in sorted(day.counts.items())},
    }
