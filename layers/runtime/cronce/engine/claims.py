"""Who may start: the claim of a run, and the slots of its job.

One transaction makes a claim: the run PENDING -> RUNNING on the condition that it is as judged, and its
job's slots from what was read to what they become, with the next fencing token. Two executors of one run:
one condition fails, and that is a lost race, not an error. If the run is PENDING all the same, only its
bookkeeping has moved (the sweep notes whom it has asked to start it), and the claim is tried again. Two runs
of one job in the same millisecond: the job's slots have moved for one of them, so it reads again and tries
again.

    limit 2     A reads {x}          B reads {x}
                A writes {x, a}
                                     B's write fails: not {x} any more; reads {x, a}: full; is queued or
                                     skipped

Who finds the slots full does not take them at their word: a holder whose claim has expired is declared
lost, as the sweep would, and holders that are final or gone are dropped in the same write. So a crash
leaks no slot for longer than somebody waits for it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core import attempts, judgement, moves, slots
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange, SlotsChange
from cronce.core.claim import Invocation
from cronce.core.errors import UnreadableItemError
from cronce.core.job import Job
from cronce.core.jobstate import JobState
from cronce.core.judgement import FullSlots
from cronce.core.lease import agreed_now
from cronce.core.ports import StoreClock
from cronce.core.records import RunRecord
from cronce.core.run import Reason, RunStatus
from cronce.core.slots import RunPolicy
from cronce.core.values import dataclass
from cronce.engine.ledger import Ledger
from cronce.engine.slot_holders import holders

NEWER_RUNS = (25, 1000)
"""Newest runs among which one is looked for that takes a late run's place: the first few nearly always hold
one. Where a thousand do not (days that the job's calendar excludes), the run may start."""


class Entry(StrEnum):
    """What became of a try to claim."""

    CLAIMED = "claimed"
    """The run is this worker's."""
    QUEUED = "queued"
    """It waits for a slot."""
    ENDED = "ended"
    """It was not to start any more: skipped, cancelled, or out of time."""
    MOVED = "moved"
    """Somebody else was first: a quiet end."""
    LEFT = "left"
    """It stays PENDING and is dispatched again: no job item, clocks that differ, too many others at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """Outcome of a try to claim, and the record after it (before it, for MOVED and LEFT)."""

    entry: Entry
    run: RunRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A run that asks to be started by an invocation."""

    run: RunRecord
    job: Job
    invocation: Invocation

    @property
    def policy(self) -> RunPolicy:
        """The policy of its job."""
        return RunPolicy.of(self.job)


@dataclass(frozen=True, kw_only=True, slots=True)
class Claims:
    """Claims of runs and wake-ups of queued ones.

    Attributes:
        ledger: where they are written.
        store_clock: a host whose clock differs from the store's claims nothing.
    """

    ledger: Ledger
    store_clock: StoreClock

    def now(self) -> datetime | None:
        """The instant to judge by; None if own and store's clock differ too much."""
        return agreed_now(self.ledger.clock.now(), self.store_clock.skew())

    def claim(self, candidate: Candidate) -> Admission:
        """Claim a PENDING run, or do with it what its job's policies say."""
        for _ in self.ledger.tries():
            now = self.now()
            state = self.ledger.job_state(candidate.run.ref.job)
            if now is None or state is None:
                break
            change = self._decide(candidate, state, now)
            if change is None:
                continue
            final = change.after.status.is_final
            applied = self.ledger.move(change, candidate.policy) if final else self.ledger.apply(change)
            if applied is Applied.DONE:
                return self._admitted(change)
            if applied is Applied.RUN_MOVED:
                again = self.still_pending(candidate.run)
                if again is None:
                    return Admission(entry=Entry.MOVED, run=candidate.run)
                candidate = replace(candidate, run=again)
        self.ledger.telemetry.warn("claim.left", run=candidate.run.ref.id)
        return Admission(entry=Entry.LEFT, run=candidate.run)

    def still_pending(self, run: RunRecord) -> RunRecord | None:
        """The run as it is now, if only its bookkeeping has moved: the sweep writes down whom it asked."""
        try:
            again = self.ledger.runs.get(run.ref)
        except UnreadableItemError:
            return None  # a newer release has it, or the sweep reports it
        return again if again is not None and again.status is RunStatus.PENDING else None

    def wake(self, run: RunRecord, policy: RunPolicy, now: datetime) -> RunRecord | None:
        """Give a free slot to the first queued run of a job.

        Args:
            run: a queued run of that job; it is the one if the queue has lost its markers.
            policy: of the job.
            now: of the sweep.

        Returns:
            The run that was woken, as it was before; None if no slot is free.
        """
        for _ in self.ledger.tries():
            state = self.ledger.job_state(run.ref.job)
            if state is None or self.now() is None:
                return None
            full = not slots.has_free(state.slots.held, policy)
            held = self._holders(state, policy, now) if full else state.slots.held
            if held is None:
                continue
            if not slots.has_free(held, policy):
                return None
            first = self.ledger.first_queued(run.ref.job) or run
            keeps = held if policy.concurrency is None else {*held, first.ref.id}
            after = slots.handed_over(state.slots, keeps)
            change = RunChange(
                before=first,
                after=moves.woken(first, now, state.grace),
                guard=Guard.SEEN,
                slots=SlotsChange(before=state.slots, after=after) if after != state.slots else None,
            )
            if self.ledger.apply(change) is Applied.DONE:
                return first
        return None

    def _admitted(self, change: RunChange) -> Admission:
        after = change.after
        if after.status.is_final:
            return Admission(entry=Entry.ENDED, run=after)
        entry = Entry.CLAIMED if after.status is RunStatus.RUNNING else Entry.QUEUED
        self.ledger.telemetry.event(
            f"run.{entry}",
            run=after.ref.id,
            attempt=after.attempt,
            slice=after.slice,
            token=after.fencing_token,
        )
        return Admission(entry=entry, run=after)

    def _decide(self, candidate: Candidate, state: JobState, now: datetime) -> RunChange | None:
        """What to do with the run; None: look again, something has moved."""
        run, job = candidate.run, candidate.job
        end = self._end_instead(candidate, state.planned_to, now)
        if end is not None:
            return RunChange(before=run, after=end, guard=Guard.SEEN)
        if job.concurrency is None:
            token = self.ledger.jobs.next_token(job.name)
            return None if token is None else self._start(candidate, token, now)
        full = not slots.has_place(state.slots.held, run.ref.id, candidate.policy)
        held = self._holders(state, candidate.policy, now) if full else state.slots.held
        if held is None:
            return None
        if slots.has_place(held, run.ref.id, candidate.policy):
            after = slots.taken(state.slots, held, run.ref.id)
            change = self._start(candidate, after.fencing_token, now)
        elif judgement.with_full_slots(run, job, state.slots.queued, now) is FullSlots.SKIP:
            skipped = moves.skipped(run, Reason.OVERLAP, now, self.ledger.retention)
            return RunChange(before=run, after=skipped, guard=Guard.SEEN)
        else:
            after = slots.enqueued(state.slots, held)
            change = RunChange(before=run, after=moves.queued(run, now), guard=Guard.SEEN)
        return replace(change, slots=SlotsChange(before=state.slots, after=after))

    def _holders(self, state: JobState, policy: RunPolicy, now: datetime) -> frozenset[str] | None:
        return holders(self.ledger, state.slots.held, policy, now, self.now)

    def _end_instead(self, candidate: Candidate, planned_to: datetime, now: datetime) -> RunRecord | None:
        run, job, retention = candidate.run, candidate.job, self.ledger.retention
        if run.cancel_requested:
            return moves.cancelled(run, now, retention)
        if run.executed >= run.timeout:
            return moves.timed_out(run, now, retention)
        if judgement.too_late(run, job, now):
            return moves.skipped(run, Reason.LATE, now, retention)
        if judgement.yields_to_newer(run, job, now) and self._has_successor(run, planned_to):
            return moves.skipped(run, Reason.SUPERSEDED, now, retention)
        return None

    def _has_successor(self, run: RunRecord, planned_to: datetime) -> bool:
        """Whether a newer run takes the place of a late one. Nothing is planned past `planned_to`.

        One that cannot be read does not: no executor starts it.
        """
        after = run.ref.scheduled_at + timedelta(seconds=1)
        for limit in NEWER_RUNS if after <= planned_to else ():
            newer = self.ledger.runs.runs(run.ref.job, after, planned_to, limit).records
            if any(judgement.takes_the_place_of(one, run) for one in newer):
                return True
            if len(newer) < limit:
                return False
        return False

    def _start(self, candidate: Candidate, token: int, now: datetime) -> RunChange:
        run = candidate.run
        after = moves.claimed(run, candidate.invocation, token, now)
        return RunChange(before=run, after=after, guard=Guard.SEEN, attempt=attempts.past_attempt(run))
