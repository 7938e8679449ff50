"""Writes windows: several jobs to a transaction, and what to do when one is refused.

A refusal costs the job that caused it, and nobody else:

* the lease is lost: stop, somebody else is planning;
* a job is no longer as it was read (paused, planned by somebody else): it waits for the next tick;
* a record exists (backfilled, or the table was restored): it stays as it is, the rest of the window is sent
  again, and who is in line behind it moves up;
* anything else (a conflict, a record that the store does not take): each job goes alone. Alone it is tried
  `TRIES` times, since a conflict passes; then it is left for the next tick. A conflict of a few tenths of a
  second is nothing that anybody must see to (one that never ends makes the job overdue, and the watchdog
  says so); a record that is not taken is reported.

Every answer makes the work smaller, so it ends.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import field

from cronce.core.answers import CommitOutcome
from cronce.core.births import closed_up
from cronce.core.jobstate import JobWindow
from cronce.core.lease import Grant
from cronce.core.ports import Clock, PlanStore, Telemetry
from cronce.core.values import dataclass

SHARED_ACTIONS = 99
"""Writes of all windows of one transaction: it takes 100, and one is the check of the lease."""
TRIES = 3
"""Of a job that goes alone. Two transactions on one item conflict when a worker claims or finishes at that
moment."""
JITTER = 0.1
"""Seconds at most between two tries: a transaction takes some ten milliseconds."""


@dataclass(kw_only=True, slots=True)
class Written:
    """What became of the windows of one tick.

    Attributes:
        done: the windows as they were written.
        duplicates: records that existed already.
        stale: jobs that wait for the next tick because they had moved, or were in conflict at every try.
        refused: job -> why the store does not take its window.
        lease_lost: the lease is somebody else's; nothing further was tried.
    """

    done: list[JobWindow] = field(default_factory=list)
    duplicates: int = 0
    stale: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    lease_lost: bool = False


class PlanWriter:
    """Writes the windows of one tick under its grant.

    Args:
        plans: where to.
        clock: for the pause between two tries.
        telemetry: what is refused is said.
        grant: of the tick.
    """

    def __init__(self, plans: PlanStore, clock: Clock, telemetry: Telemetry, grant: Grant) -> None:
        self._plans = plans
        self._clock = clock
        self._telemetry = telemetry
        self._grant = grant
        self.written = Written()

    def write(self, windows: Iterable[JobWindow]) -> None:
        """Write the windows; `written` tells what became of them. After the lease is lost it does nothing.

        Raises:
            StoreError: the store could not be reached.
        """
        batches = deque(packed(windows))
        while batches and not self.written.lease_lost:
            batch = batches.popleft()
            outcome = self._commit(batch)
            if outcome.done:
                self.written.done += batch
            elif outcome.lease_lost:
                self.written.lease_lost = True
            elif outcome.problem is None:
                batches.extendleft(packed(self._less(batch, outcome)))
            elif len(batch) > 1:
                batches.extendleft([window] for window in batch)
            elif outcome.passes:
                self.written.stale.add(batch[0].after.name)
                self._telemetry.event("job.in_conflict", job=batch[0].after.name, problem=outcome.problem)
            else:
                self._refuse(batch[0], outcome.problem)

    def _commit(self, batch: Sequence[JobWindow]) -> CommitOutcome:
        """One transaction. A job that goes alone and meets a problem has more than one try."""
        outcome = self._plans.commit(self._grant, batch)
        for _ in range(TRIES - 1):
            if outcome.problem is None or len(batch) > 1:
                break
            self._clock.pause(random.uniform(0, JITTER))
            outcome = self._plans.commit(self._grant, batch)
        return outcome

    def _less(self, batch: Sequence[JobWindow], outcome: CommitOutcome) -> list[JobWindow]:
        """The batch without what cannot be written."""
        fresh = [window for window in batch if window.after.name not in outcome.stale]
        left = [_without(window, outcome) for window in fresh]
        dropped = sum(window.actions for window in fresh) - sum(window.actions for window in left)
        if len(fresh) == len(batch) and not dropped:
            for window in batch:
                self._refuse(window, "the store refused it and did not say why")
            return []
        for window in batch:
            if window.after.name in outcome.stale:
                self.written.stale.add(window.after.name)
                self._telemetry.event("job.moved_meanwhile", job=window.after.name)
        self._count_duplicates(fresh, left)
        return left

    def _count_duplicates(self, before: Sequence[JobWindow], after: Sequence[JobWindow]) -> None:
        for full, less in zip(before, after, strict=True):
            kept = {run.ref for run in less.runs}
            existing = [run.ref.id for run in full.runs if run.ref not in kept]
            existing += [f"gap {gap.reason} from {gap.first}" for gap in full.gaps if gap not in less.gaps]
            if existing:
                self.written.duplicates += len(existing)
                self._telemetry.event("plan.exists_already", job=full.after.name, records=existing)

    def _refuse(self, window: JobWindow, problem: str) -> None:
        name = window.after.name
        self.written.refused[name] = problem
        self._telemetry.warn("job.failed_to_plan", job=name, problem=problem)


def packed(windows: Iterable[JobWindow]) -> list[list[JobWindow]]:
    """The windows in as few transactions as their order allows."""
    batches: list[list[JobWindow]] = []
    room = 0
    for window in windows:
        if window.actions > room:
            batches.append([])
            room = SHARED_ACTIONS
        batches[-1].append(window)
        room -= window.actions
    return batches


def _without(window: JobWindow, outcome: CommitOutcome) -> JobWindow:
    return closed_up(window, window.without(outcome.runs, outcome.gaps))
