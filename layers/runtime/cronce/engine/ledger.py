"""Writes moves of runs: with their job's slots, with the run that is woken, and again after a conflict.

What a caller gets back is about the *run* alone: DONE, RUN_MOVED (somebody else was first, or the claim is
lost), STOP_REQUESTED (the worker must not let it go on), or CONFLICT (the store was too busy; nothing was
written). Slots that moved meanwhile are read again here.

An end never fails for the sake of its side effects. It is tried `WAKE_TRIES` times with the wake-up of the
first queued run, then with its own slot alone, then on its own: a queued run has its own time in the
index, and a slot whose run is final is dropped by whoever finds the slots full.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from cronce.core import attempts, moves, slots
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange, SlotsChange
from cronce.core.errors import RefusedError, StoreError, UnreadableItemError
from cronce.core.job_change import JobChange
from cronce.core.jobstate import JobState
from cronce.core.ports import Clock, JobStore, RunStore, Telemetry
from cronce.core.records import RunRecord
from cronce.core.run import RunStatus
from cronce.core.slots import RunPolicy
from cronce.core.values import dataclass
from cronce.engine.metrics import ITEMS_UNREADABLE, RUNS_FAILED, RUNS_SUCCEEDED

TRIES = 5
"""Tries of one write that meets others; with doubling pauses they span more than a second."""
WAKE_TRIES = 3
"""Tries of an end together with its wake-up."""
FIRST_PAUSE = 0.1
"""Seconds: upper end of the jitter before the second try, doubled for each further one."""

ENDS_COUNTED = {RunStatus.SUCCEEDED: RUNS_SUCCEEDED, RunStatus.FAILED: RUNS_FAILED}


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """The runs and their jobs' slots, as one ledger.

    Attributes:
        runs: where runs are kept.
        jobs: where their jobs are.
        clock: for the pauses between tries.
        telemetry: every move that was written is one line.
        retention: how long a run is kept after its end.
        draw: the draw of all jitter, 0 to 1.
    """

    runs: RunStore
    jobs: JobStore
    clock: Clock
    telemetry: Telemetry
    retention: timedelta
    draw: Callable[[], float] = random.random

    def move(self, change: RunChange, policy: RunPolicy) -> Applied:
        """Write a move; an end also frees the run's slot and hands it to the first queued run.

        Args:
            change: the run before and after, with guard and attempt; slots and wake-up are found here.
            policy: of the run's job.
        """
        if change.attempt is None and change.before is not None:
            change = replace(change, attempt=attempts.displaced_attempt(change.before, change.after))
        write = self._end if change.after.status.is_final else self._move_alone
        applied = write(change, policy)
        if applied is Applied.DONE:
            self._tell(change.after)
        return applied

    def lose(self, run: RunRecord, policy: RunPolicy, now: datetime) -> Applied:
        """Declare the attempt of a run with an expired claim lost."""
        delay = policy.retry.delay(run.attempt, self.draw())
        after = moves.lost(run, now, delay, self.retention)
        return self.move(RunChange(before=run, after=after, guard=Guard.SEEN), policy)

    def look_again(self, run: RunRecord, due_at: datetime) -> bool:
        """Give a run another place in the index, in the same state. False: it has moved."""
        after = moves.look_again(run, due_at)
        return self.runs.apply(RunChange(before=run, after=after, guard=Guard.SEEN)) is Applied.DONE

    def job_state(self, name: str) -> JobState | None:
        """The job item, strong. None: there is none that can be read; the latter is reported."""
        try:
            return self.jobs.get(name)
        except UnreadableItemError as error:
            self.telemetry.warn("job.unreadable", job=name, problem=str(error))
            self.telemetry.count(ITEMS_UNREADABLE)
            return None

    def tries(self, count: int = TRIES) -> Iterator[int]:
        """1, 2, ..., with a random pause before each but the first."""
        for number in range(1, count + 1):
            if number > 1:
                self.clock.pause(self.draw() * FIRST_PAUSE * 2 ** (number - 2))
            yield number

    def apply(self, change: RunChange) -> Applied:
        """One write; sent once more, unchanged, when the store did not answer.

        The change has to be the same one: a write that was made although its reply was lost is recognised
        by it.
        """
        return self._sent(lambda: self.runs.apply(change), run=change.after.ref.id)

    def change_job(self, change: JobChange) -> Applied:
        """An operator's write of a job; sent once more, unchanged, when the store did not answer."""
        return self._sent(lambda: self.jobs.change(change), job=change.after.name)

    def _sent(self, send: Callable[[], Applied], **ids: str) -> Applied:
        try:
            return send()
        except (RefusedError, UnreadableItemError):
            raise
        except StoreError as error:
            self.telemetry.warn("store.no_answer", **ids, problem=str(error))
            self.clock.pause(self.draw() * FIRST_PAUSE)
            return send()

    def _move_alone(self, change: RunChange, policy: RunPolicy | None = None) -> Applied:
        """A move that concerns the run only, whatever the policy."""
        del policy
        applied = Applied.CONFLICT
        for _ in self.tries():
            applied = self.apply(change)
            if applied is not Applied.CONFLICT:
                break
        return applied

    def _end(self, change: RunChange, policy: RunPolicy) -> Applied:
        for number in self.tries():
            complete = self._with_slots(change, policy, wake=number <= WAKE_TRIES)
            applied = self.apply(complete)
            if applied is Applied.DONE and complete.woken:
                self._tell(complete.woken[1])
            if applied in {Applied.DONE, Applied.RUN_MOVED}:
                return applied
        self.telemetry.warn("slot.left_behind", run=change.after.ref.id)
        return self._move_alone(change)

    def _with_slots(self, change: RunChange, policy: RunPolicy, *, wake: bool) -> RunChange:
        """The change with what it does to the job, read anew."""
        run, before = change.after, change.before
        state = self.job_state(run.ref.job) if policy.concurrency is not None else None
        if state is None:
            return change
        after = slots.left(state.slots, run.ref.id, was_queued=before is not None and before.is_queued)
        handed: tuple[RunRecord, RunRecord] | None = None
        if wake and after.queued and slots.has_free(after.held, policy):
            first = self.first_queued(run.ref.job)
            if first is None:
                after = replace(after, queued=0)  # it counted markers that are not there
            elif first.ref != run.ref:
                handed = first, moves.woken(first, self.clock.now(), state.grace)
                after = slots.handed_over(after, {*after.held, first.ref.id})
        if after == state.slots:
            return change
        return replace(change, slots=SlotsChange(before=state.slots, after=after), woken=handed)

    def first_queued(self, job: str) -> RunRecord | None:
        """The queued run whose turn it is; None also if its record cannot be read."""
        try:
            return self.runs.first_queued(job)
        except UnreadableItemError as error:
            self.telemetry.warn("queue.unreadable", job=job, problem=str(error))
            return None

    def _tell(self, run: RunRecord) -> None:
        tell = self.telemetry.warn if run.status is RunStatus.FAILED else self.telemetry.event
        tell(
            f"run.{run.status.lower()}",
            run=run.ref.id,
            reason=run.reason,
            attempt=run.attempt,
            slice=run.slice,
            error=run.error,
        )
        if run.status in ENDS_COUNTED:
            self.telemetry.count(ENDS_COUNTED[run.status])
