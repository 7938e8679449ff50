"""What came of a fault: which alarm after how many minutes, what people were told, and how it ended.

Minutes are counted from the fault's beginning (or end) and rounded up. Of an alarm they are the most that it
can take: what the points of a minute show, CloudWatch may see up to a minute after the minute's end.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path

from cronce.core.run import RunStatus
from cronce.engine.metrics import TICK_COMPLETED
from cronce_tools.local.alarm_model import State
from cronce_tools.local.metrics import MINUTE, OWN, Series
from cronce_tools.local.stack import STACK
from tests.alarms.faults import Fault
from tests.alarms.memory_stack import memory_stack
from tests.alarms.played import StartStack
from tests.alarms.replay import Replay, alarms_of, replay
from tests.template.stack import Stack

FOLDER = Path(__file__).parent / "faulty"
MADE = datetime(2026, 11, 3, 12, 50, tzinfo=UTC)
"""When the stack is made. Six minutes later the fault begins, with all alarms OK."""
SETTLED = 6 * MINUTE
LONGEST_WAY_BACK = 20
"""Minutes after a fault until which everything is to be well again."""
SUFFIX = "Alarm"
GRACE = {"rounds": timedelta(minutes=3), "report": timedelta(minutes=5)}
"""Of the jobs in FOLDER."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """A notice.

    Attributes:
        at: when it was published.
        minutes: after the fault began.
        subject: its first line in a mail program.
        body: its text.
    """

    at: datetime
    minutes: int
    subject: str
    body: str

    @property
    def what_happened(self) -> str:
        """Its second line (the first one is as the subject), without the place in the log."""
        return self.body.splitlines()[1].partition(" [log stream")[0]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a fault.

    Attributes:
        fault: which.
        alarms: minutes after its beginning until each alarm was up for the first time, in that order.
        told: notices while it lasted and afterwards.
        missed: times that had no success within their grace, with their grace's end.
        began: when everything was still well.
        ended: when it was mended.
        all_ok: minutes after that until every alarm was OK.
        left: alarms that were still up in the end.
        lost_ticks: minutes since it began in which no tick was completed.
    """

    fault: Fault
    alarms: dict[str, int]
    told: list[Told]
    missed: dict[tuple[str, datetime], datetime]
    began: datetime
    ended: datetime
    all_ok: int
    left: set[str]
    lost_ticks: int

    def alarm_at(self, alarm: str) -> datetime | None:
        """When an alarm was up for the first time, at the latest; None if it never was."""
        minutes = self.alarms.get(alarm)
        return None if minutes is None else self.began + minutes * MINUTE


def outcome_of(fault: Fault, deployed: Stack, begin: StartStack = memory_stack) -> Outcome:
    """Play a fault.

    Args:
        fault: what goes wrong.
        deployed: the translated template.
        begin: what it is played on.
    """
    with replay(MADE, FOLDER, deployed, begin) as replayed:
        replayed.play_until(MADE + SETTLED + MINUTE)
        began, changes = replayed.now, len(replayed.watch.changes)
        with fault.begin(replayed):
            replayed.play_until(began + fault.minutes * MINUTE)
        ended = replayed.now
        for _ in range(LONGEST_WAY_BACK):
            replayed.play_until(replayed.now + MINUTE)
        ups = [(at, name) for at, name, _, state in replayed.watch.changes[changes:] if state is State.ALARM]
        last = max((at for at, *_ in replayed.watch.changes[changes:]), default=ended)
        return Outcome(
            fault=fault,
            alarms={name: _minutes(at + MINUTE - began) for at, name in reversed(ups)},
            told=[
                Told(at=at, minutes=_minutes(at - began), subject=subject, body=body)
                for at, subject, body in replayed.stack.notices
            ],
            missed=_missed(replayed, began),
            began=began,
            ended=ended,
            all_ok=max(_minutes(last + MINUTE - ended), 0),
            left=alarms_of(replayed),
            lost_ticks=_lost_ticks(replayed, began),
        )


def row(outcome: Outcome) -> str:
    """The outcome as a row of the page's table."""
    by_time = sorted(outcome.alarms.items(), key=lambda each: (each[1], each[0]))
    alarms = ", ".join(f"`{name.removesuffix(SUFFIX)}` {minutes}" for name, minutes in by_time) or "none"
    opened = [told for told in outcome.told if "Recovered" not in told.subject]
    closed = [told for told in outcome.told if "Recovered" in told.subject]
    notices = "<br>".join(f"{told.minutes}: *{told.subject}*: {_cell(told.what_happened)}" for told in opened)
    back = "; ".join(f"{_minutes(told.at - outcome.ended)}: *{told.subject}*" for told in closed)
    ok = f"all OK after {outcome.all_ok}" if outcome.alarms else ""
    after = "<br>".join(part for part in (ok, back) if part)
    return f"| {outcome.fault.name} | {alarms} | {notices or 'none'} | {after or 'nothing'} |"


def _missed(replayed: Replay, began: datetime) -> dict[tuple[str, datetime], datetime]:
    """The times since the fault began that had no success by the end of their grace."""
    found: dict[tuple[str, datetime], datetime] = {}
    at = began.replace(second=0, microsecond=0) + MINUTE
    runs = {run.ref.id: run for job in GRACE for run in replayed.stack.runs(job)}
    while at < replayed.now:
        for job, step in (("rounds", 2), ("report", 60)):
            run = runs.get(f"{job}@{at:%Y-%m-%dT%H:%M:%SZ}")
            end = at + GRACE[job]
            well = run is not None and run.status is RunStatus.SUCCEEDED and (run.ended_at or end) <= end
            if at.minute % step == 0 and not well and end < replayed.now:
                found[job, at] = end
        at += MINUTE
    return found


def _lost_ticks(replayed: Replay, began: datetime) -> int:
    series = Series.named(OWN, TICK_COMPLETED, {"stack": STACK})
    played = (replayed.now - began) // MINUTE
    end = replayed.now.replace(second=0, microsecond=0) + MINUTE
    return replayed.stack.metrics.statistic(series, "Sum", end, played).count(None)


def _minutes(delta: timedelta) -> int:
    return ceil(delta / MINUTE)


def _cell(text: str) -> str:
    """A text within a table's cell."""
    return text.replace("|", "\\|")
