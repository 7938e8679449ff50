"""Weeks in which nothing goes wrong: deployments, pauses and clock changes, and every minute of CloudWatch.

Minutes in which nothing is due need not be played: a tick and a patrol find the same as a minute before. Once
an hour one of them is played all the same, and its points stand for those of the others. The slow tests play
every minute, and a test compares both ways for a night.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cronce.core.records import RunRecord
from cronce.core.run import RunStatus
from cronce.engine.ledger import Ledger
from cronce.engine.operations import Operations
from cronce.testing import RecordingTelemetry
from cronce_tools.local.alarm_model import State
from cronce_tools.local.alarms import Alarm
from cronce_tools.local.metrics import MINUTE, Metrics, Series
from cronce_tools.local.stack import RETENTION
from tests.alarms.memory_stack import MemoryStack
from tests.alarms.releases import NOTHING, OTHER_TIMES, WINDOWED
from tests.alarms.replay import Replay, replay
from tests.template.stack import Stack

FOLDER = Path(__file__).parent / "quiet"
BY = {"by": "ann", "why": "stock-taking"}
HOUR = timedelta(hours=1)
AFTER_AN_ACT = 6 * MINUTE
"""So long after somebody did something every minute is played."""
SOON = 15 * timedelta(seconds=1)
"""What is due so soon after a minute's beginning is due in that minute: its tick and patrol come before."""

Act = tuple[datetime, Callable[["Weeks"], None]]


def at(text: str) -> datetime:
    """An instant of 2026, UTC: `03-07 00:00`."""
    return datetime.fromisoformat(f"2026-{text}").replace(tzinfo=UTC)


@dataclass
class Weeks:
    """A stack on which nothing goes wrong.

    Attributes:
        replayed: it.
        stack: the stack of it.
        alarms: of it.
        began: when it was made.
        played: how many minutes were played.
    """

    replayed: Replay
    stack: MemoryStack
    alarms: list[Alarm]
    began: datetime
    played: int = 0
    _acted: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    _idle: dict[Series, list[float]] = field(default_factory=dict)
    _idle_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)

    def play(self, end: datetime, acts: Sequence[Act], *, every_minute: bool) -> None:
        """Play up to an instant."""
        waiting = sorted(acts, key=lambda act: act[0])
        while (minute := _floor(self.replayed.now) + MINUTE) < end:
            while waiting and waiting[0][0] <= minute:
                when, act = waiting.pop(0)
                self.stack.clock.set(when)
                act(self)
                self._acted = when
            idle = self._is_idle(minute)
            if idle and not every_minute and minute - self._idle_at < HOUR:
                self._leave_out(minute)
                continue
            self.replayed.play(minute)
            self.played += 1
            if idle:
                self._idle, self._idle_at = _points_of(self.stack.metrics, minute), minute

    def operations(self) -> Operations:
        """What an operator can do."""
        store, telemetry = self.stack.memory, RecordingTelemetry()
        ledger = Ledger(
            runs=store.runs, jobs=store.jobs, clock=self.stack.clock, telemetry=telemetry, retention=RETENTION
        )
        return Operations(
            ledger=ledger,
            steps=store.steps,
            alerts=store.alerts,
            store_clock=store.clock,
            job_of=lambda _: None,
        )

    def states(self, alarm: Alarm) -> list[State]:
        """What an alarm says after each of the minutes so far."""
        end = _floor(self.replayed.now) + MINUTE
        minutes = (end - self.began) // MINUTE
        points = alarm.points(self.stack.metrics, end, minutes)
        model, states, state = alarm.model, [], State.INSUFFICIENT_DATA
        judged = cache(model.next_state)
        for age in range(1, minutes + 1):
            window = tuple(points[max(0, age - model.range) : age])
            state = judged(window, state, min(age, model.warm_up + 1))
            states.append(state)
        return states

    def not_well(self, job: str) -> list[RunRecord]:
        """The runs of a job that are over and did not succeed."""
        over = (run for run in self.stack.runs(job) if run.status.is_final)
        return [run for run in over if run.status is not RunStatus.SUCCEEDED]

    def ran(self, job: str) -> list[datetime]:
        """The times at which a job ran well."""
        good = (run for run in self.stack.runs(job) if run.status is RunStatus.SUCCEEDED)
        return [run.ref.scheduled_at for run in good]

    def _is_idle(self, minute: datetime) -> bool:
        """Whether there is nothing to do in a minute: nobody asked, no time has come, nothing is on its way.

        A tick of a full hour compares the jobs with the deployment.
        """
        places = self.stack.memory.table.places()
        times = (time for entry in places for time in (entry.due_at, entry.expect_by) if time is not None)
        quiet_since = minute - self._acted
        return (
            minute.minute != 0 and quiet_since > AFTER_AN_ACT and all(time > minute + SOON for time in times)
        )

    def _leave_out(self, minute: datetime) -> None:
        self.stack.clock.set(minute)
        for series, values in self._idle.items():
            self.stack.metrics.points[series][minute] = list(values)


@contextmanager
def weeks(start: datetime, deployed: Stack) -> Iterator[Weeks]:
    """A new stack on which nothing goes wrong, until the end of the block."""
    with replay(start, FOLDER, deployed) as replayed:
        stack, judged = replayed.stack, replayed.watch.alarms
        assert isinstance(stack, MemoryStack)
        replayed.watch.alarms = []  # they are judged in the end, all minutes at once
        yield Weeks(replayed, stack, judged, start)


def release(**changed: str) -> Callable[[Weeks], None]:
    """Somebody deploys these modules of jobs in place of those that were there."""
    return lambda weeks: weeks.replayed.deploy(changed)


def pause(job: str) -> Callable[[Weeks], None]:
    """An operator pauses a job."""
    return lambda weeks: _done(weeks.operations().pause(job, **BY))


def resume(job: str) -> Callable[[Weeks], None]:
    """An operator resumes a job."""
    return lambda weeks: _done(weeks.operations().resume(job, **BY))


SPRING: tuple[Act, ...] = (
    (at("03-09 12:00:30"), release(often=OTHER_TIMES)),
    (at("03-10 08:10:30"), pause("paper-round")),
    (at("03-12 10:00:40"), resume("paper-round")),
    (at("03-13 13:20:30"), release(often=OTHER_TIMES, removed=NOTHING)),
    (at("03-27 04:00:30"), release(often=OTHER_TIMES, removed=NOTHING, windowed=WINDOWED)),
)
"""Three weeks with the nights in which clocks go forward in New York (8 March) and Amsterdam (29 March)."""
AUTUMN: tuple[Act, ...] = (
    (at("10-24 00:00:20"), release(windowed=WINDOWED)),
    (at("10-25 00:30:30"), release(often=OTHER_TIMES, windowed=WINDOWED)),
    (at("10-26 20:00:30"), pause("night-close")),
    (at("10-27 13:00:30"), release(often=OTHER_TIMES, removed=NOTHING)),
    (at("10-28 12:00:30"), resume("night-close")),
    (at("11-01 05:10:30"), release(removed=NOTHING)),
)
"""Nine days with the nights in which they go back, in Amsterdam (25 October) and New York (1 November)."""


def _points_of(metrics: Metrics, minute: datetime) -> dict[Series, list[float]]:
    return {series: list(points[minute]) for series, points in metrics.points.items() if minute in points}


def _done(answer: object) -> None:
    assert answer is not None


def _floor(instant: datetime) -> datetime:
    return instant.replace(second=0, microsecond=0)
