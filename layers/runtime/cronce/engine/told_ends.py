"""Takes ends out of the index once an alert has them, or once nobody need be told of them.

An alert that lists an end is durable, and owes its notice by itself; whether that is out already does not
matter here. What is not marked in time is found by the next patrol, which lists nothing twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from cronce.core import moves
from cronce.core.answers import DueEntry
from cronce.core.changes import Guard, RunChange
from cronce.core.ports import RunStore
from cronce.core.records import RunRecord
from cronce.engine.aside import ASIDE_AT_LEAST, ASIDE_AT_MOST
from cronce.engine.patrol_log import PatrolLog
from cronce.engine.survey import Survey

Write = Callable[[], object]


class ToldEnds:
    """The marks that one patrol has to make.

    Args:
        runs: where runs and gaps are.
        log: where trouble goes; one job's trouble keeps no other job's marks from being made.
        now: of the patrol.
    """

    def __init__(self, runs: RunStore, log: PatrolLog, now: datetime) -> None:
        self._runs = runs
        self._log = log
        self._now = now
        self._parts: deque[tuple[str, deque[Write]]] = deque()

    def add(self, survey: Survey, recorded: Collection[str]) -> None:
        """Note what is to be marked, put off or set aside.

        Args:
            survey: what the patrol found.
            recorded: scopes whose alerts are safely written.
        """
        for job, lines in survey.ends.items():
            if job in recorded:
                self._part(f"told ends of job {job}", (partial(self._mark, line) for line in lines))
        rest: list[Write] = [partial(self._mark, line) for line in survey.quiet]
        rest += [partial(self._put_off, run, until) for run, until in survey.put_off]
        rest += [partial(self._runs.set_aside, line, self._now + moves.NEWER_AGAIN) for line in survey.newer]
        self._part("ends that need not be told", rest)

    def mark(self, has_time: Callable[[], bool]) -> bool:
        """Make the marks, from where the last call stopped; returns whether all are made."""
        while self._parts:
            what, writes = self._parts.popleft()
            with self._log.part(what):
                while writes:
                    if not has_time():
                        self._parts.appendleft((what, writes))
                        return False
                    writes.popleft()()
        return True

    def _part(self, what: str, writes: Iterable[Write]) -> None:
        self._parts.append((what, deque(writes)))

    def _mark(self, line: DueEntry) -> None:
        """Mark an end as told. One that cannot be understood steps aside, for as long as it is old."""
        if not self._runs.mark_told(line):
            age = self._now - line.run.scheduled_at if line.run else ASIDE_AT_MOST
            pause: timedelta = min(max(age, ASIDE_AT_LEAST), ASIDE_AT_MOST)
            self._runs.set_aside(line, self._now + pause)

    def _put_off(self, run: RunRecord, until: datetime) -> None:
        self._runs.apply(RunChange(before=run, after=replace(run, due_at=until), guard=Guard.SEEN))
