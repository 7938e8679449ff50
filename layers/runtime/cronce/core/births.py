"""From fates to records: neighbours are merged, runs are born, what does not fit is left for the next tick.

* What is settled has its record: it is stepped over.
* Neighbouring skips of one reason are one gap. A single one is a record of its own, SKIPPED with its reason,
  unless the reason belongs to the stretch and not to the occurrence (paused, over the cap): that is always a
  gap.
* A run of an occurrence that is on time is PENDING; what becomes of it when the job's slots are full is
  judged at its claim. A run that is caught up waits in line: as many as there are free slots are PENDING, the
  rest is WAITING(queued), in order, behind those that wait already. With `all`, what follows a run that waits
  in line does too.
* A window takes `WINDOW_ACTIONS` writes. If there is more, its oldest part is written. The one run of
  `catch_up=latest` is written only with everything that follows it, else each part would have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from cronce.core.catch_up import Fate, Scene
from cronce.core.job import CatchUp, Job
from cronce.core.jobstate import Gap, GapReason, JobWindow
from cronce.core.judgement import ON_TIME
from cronce.core.moves import PENDING_REDISPATCH, queued, skipped, woken
from cronce.core.records import RunRecord, RunRef, Slots
from cronce.core.run import Dispatch, Notice, Reason, RunStatus
from cronce.core.schedule import Schedule
from cronce.core.values import dataclass

WINDOW_ACTIONS = 90
"""Writes of one job in one tick: a transaction takes 100, and the lease is checked in it too."""

_ALWAYS_GAPS = frozenset({Fate.PAUSED, Fate.CATCH_UP_LIMIT})
_TOLD_GAPS = frozenset({GapReason.LATE, GapReason.CATCH_UP_LIMIT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One record to be: a run, a skipped occurrence, or a stretch of them."""

    first: datetime
    last: datetime
    count: int
    fate: Fate


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """The records of a window.

    Attributes:
        runs: records to put.
        gaps: gaps to put.
        last: the last occurrence that they account for; None = there is no record.
    """

    runs: tuple[RunRecord, ...]
    gaps: tuple[Gap, ...]
    last: datetime | None


def merged(times: Sequence[datetime], fates: Sequence[Fate]) -> list[Entry]:
    """The records to be, in order of time. `times` may go on beyond the fates."""
    entries = []
    for fate, group in groupby(zip(times, fates, strict=False), key=lambda pair: pair[1]):
        ats = [at for at, _ in group]
        if fate in (Fate.RUN, Fate.SAME_LOCAL_TIME):
            entries += [Entry(first=at, last=at, count=1, fate=fate) for at in ats]
        else:
            entries.append(Entry(first=ats[0], last=ats[-1], count=len(ats), fate=fate))
    return entries


@dataclass(frozen=True, kw_only=True, slots=True)
class Births:
    """Makes the records of one window.

    Attributes:
        job: whose.
        schedule: in force for these occurrences.
        scene: when.
        slots: the job's, as read.
    """

    job: Job
    schedule: Schedule
    scene: Scene
    slots: Slots

    def part(self, entries: Sequence[Entry]) -> Part:
        """The oldest entries that fit into one window, as records.

        Args:
            entries: in order of time.
        """
        records = self._records(entries[:WINDOW_ACTIONS])
        fit = _that_fit(records)
        if fit < len(entries) and self.job.catch_up is CatchUp.LATEST:
            fit = _before_the_run(entries[:fit])
        written = records[:fit]
        return Part(
            runs=tuple(record for record in written if isinstance(record, RunRecord)),
            gaps=tuple(record for record in written if isinstance(record, Gap)),
            last=entries[fit - 1].last if fit else None,
        )

    def _records(self, entries: Sequence[Entry]) -> list[RunRecord | Gap | None]:
        records: list[RunRecord | Gap | None] = []
        free, in_line = self._free_slots(), False
        for entry in entries:
            if entry.fate is not Fate.RUN:
                records.append(None if entry.fate is Fate.SETTLED else self._skip(entry))
                continue
            run = self._pending(entry.first)
            in_line = self.job.concurrency is not None and (in_line or not self.scene.is_fresh(entry.first))
            records.append(queued(run, self.scene.now) if in_line and free <= 0 else run)
            if in_line:
                free -= 1
        return records

    def _free_slots(self) -> int:
        """Slots for runs that wait in line; none while others wait already."""
        if self.job.concurrency is None or self.slots.queued:
            return 0
        return self.job.concurrency - len(self.slots.held)

    def _pending(self, at: datetime) -> RunRecord:
        now, grace = self.scene.now, self.job.grace
        born_late = now - at > ON_TIME
        return RunRecord(
            ref=RunRef(self.job.name, at),
            status=RunStatus.PENDING,
            created_at=now,
            scheduled_local=self.schedule.local(at).isoformat(),
            timeout=self.job.timeout,
            max_attempts=self.job.retry.attempts,
            due_at=now + PENDING_REDISPATCH[0],
            expect_by=(now if born_late else at) + grace,
            dispatch=Dispatch.STREAM,
        )

    def _skip(self, entry: Entry) -> RunRecord | Gap:
        now, retention = self.scene.now, self.scene.retention
        if entry.count == 1 and entry.fate not in _ALWAYS_GAPS:
            run = skipped(self._pending(entry.first), Reason(entry.fate.value), now, retention)
            return replace(run, expect_by=None)
        stretch = (entry.first, entry.last, entry.count)
        return gap(self.job.name, stretch, GapReason(entry.fate.value), now, retention)


def gap(
    job: str, stretch: tuple[datetime, datetime, int], reason: GapReason, now: datetime, retention: timedelta
) -> Gap:
    """Occurrences that are not run. The gap is told if somebody has to know.

    Args:
        job: whose.
        stretch: the first, the last, how many.
        reason: why they are not run.
        now: of the tick.
        retention: how long it is kept.
    """
    first, last, count = stretch
    return Gap(
        job=job,
        first=first,
        last=last,
        count=count,
        reason=reason,
        created_at=now,
        notice=Notice.PENDING if reason in _TOLD_GAPS else None,
        forget_at=now + retention,
    )


def closed_up(window: JobWindow, left: JobWindow) -> JobWindow:
    """What is left of a window whose other records exist already, without places that nobody takes.

    Runs that are born in line are PENDING as far as there are free slots. One of those that exists already
    takes no slot by this window, so the next one in line is PENDING in its place: else all of them could be
    queued, and nobody would be there to wake them. If the existing one does need a slot, the claims sort it
    out.
    """
    kept = {run.ref for run in left.runs}
    places = sum(run.status is RunStatus.PENDING and run.ref not in kept for run in window.runs)
    moving_up = {run.ref for run in left.queued[:places]}
    grace = left.after.grace
    runs = (woken(run, run.created_at, grace) if run.ref in moving_up else run for run in left.runs)
    return replace(left, runs=tuple(runs)) if moving_up else left


def _that_fit(records: Sequence[RunRecord | Gap | None]) -> int:
    """How many of the records fit into one window, the job's own item counted."""
    used = 1
    for number, record in enumerate(records):
        used += 2 if isinstance(record, RunRecord) and record.is_queued else 1
        if used > WINDOW_ACTIONS:
            return number
    return len(records)


def _before_the_run(entries: Sequence[Entry]) -> int:
    """How many entries stand before the run of `latest`; all if it comes first: something must be written."""
    number = next((number for number, entry in enumerate(entries) if entry.fate is Fate.RUN), 0)
    return number or len(entries)
