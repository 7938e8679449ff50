"""One invocation of the executor, from the run's id to what came of it.

    1. read the run            not PENDING: nothing to do
    2. compare the clocks      too far apart: claim nothing
    3. find the job's code     not there: the run waits for it (`moves.job_unknown`)
    4. claim it                `claims`: it may be late, superseded, without a slot, or somebody else's
    5. do its work             `run_slice`: the function under the claim, and what came of it on record

Services outside AWS that wait for a run of the job are told of 4 and 5 (`pinging`), once that is on record.

What goes wrong with a job is data and ends up in the run's record, a module that does not import included.
Only a store that does not answer raises out of `execute`; the run is then found by the sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum

from cronce.core import moves
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.claim import Invocation
from cronce.core.errors import NewerItemError, UnreadableItemError
from cronce.core.job import Job
from cronce.core.lease_ports import NamedLeaseStore
from cronce.core.ports import StepStore
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Reason, RunStatus
from cronce.core.slots import UNKNOWN
from cronce.core.values import dataclass
from cronce.engine.claims import Candidate, Claims, Entry
from cronce.engine.held_claim import HeldClaim, Limits, Moment, SteadyClock
from cronce.engine.job_loader import JobLoader, LoadProblem
from cronce.engine.ledger import Ledger
from cronce.engine.metrics import ITEMS_UNREADABLE
from cronce.engine.named_lease import RunLeases
from cronce.engine.pinging import Pings
from cronce.engine.renewal import Renewal
from cronce.engine.run_slice import RunSlice
from cronce.engine.step_log import StepLog

RESERVE = timedelta(seconds=15)
"""So much before the end of its invocation a run is handed to the next one: time for the last writes."""


class Outcome(StrEnum):
    """What came of one invocation."""

    SUCCEEDED = "succeeded"
    """The run is SUCCEEDED."""
    FAILED = "failed"
    """The run is FAILED."""
    RETRYING = "retrying"
    """The attempt failed; the run waits for the next one."""
    CONTINUES = "continues"
    """The run goes on in the next invocation."""
    ASLEEP = "asleep"
    """The run sleeps, and goes on in another invocation."""
    CANCELLED = "cancelled"
    """The run is CANCELLED."""
    CLAIM_LOST = "claim_lost"
    """The run belongs to somebody else by now; nothing was written."""
    QUEUED = "queued"
    """It waits for a slot."""
    NOT_STARTED = "not_started"
    """It was not to start any more: skipped, cancelled, or out of time."""
    UNKNOWN_JOB = "unknown_job"
    """Its job is not in this deployment."""
    NOT_PENDING = "not_pending"
    """There was nothing to do: already claimed, ended, or gone."""
    LEFT = "left"
    """It stays as it is and is dispatched again later."""


_ENTRIES = {
    Entry.QUEUED: Outcome.QUEUED,
    Entry.ENDED: Outcome.NOT_STARTED,
    Entry.MOVED: Outcome.NOT_PENDING,
    Entry.LEFT: Outcome.LEFT,
}
_STATES = {
    RunStatus.SUCCEEDED: Outcome.SUCCEEDED,
    RunStatus.FAILED: Outcome.FAILED,
    RunStatus.WAITING: Outcome.RETRYING,
    RunStatus.PENDING: Outcome.CONTINUES,
    RunStatus.CANCELLED: Outcome.CANCELLED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """What one invocation did, and the run after it as far as it is known."""

    outcome: Outcome
    run: RunRecord | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Executor:
    """Executes runs.

    Attributes:
        claims: who may start.
        steps: where steps are kept.
        leases: where jobs' own leases are kept.
        load: finds a job's code.
        renewal: renews the claim meanwhile.
        key_prefix: begins every idempotency key.
        reserve: so much before the end of an invocation a run is handed on.
        give_up: drops what the process has made, for the invocations after one whose function was
            interrupted: it may have been within any call.
        pings: tells services outside AWS of runs; None: nobody is told.
    """

    claims: Claims
    steps: StepStore
    leases: NamedLeaseStore
    load: JobLoader
    renewal: Renewal
    key_prefix: str
    reserve: timedelta = RESERVE
    give_up: Callable[[], None] = lambda: None
    pings: Pings | None = None

    @property
    def _ledger(self) -> Ledger:
        return self.claims.ledger

    def execute(self, ref: RunRef, invocation: Invocation) -> Execution:
        """Execute a run, if it is PENDING. Harmless when repeated: claims decide.

        Args:
            ref: which run.
            invocation: whose owner is used for this call only.

        Raises:
            StoreError: the store did not answer.
        """
        run = self._pending(ref)
        if run is None:
            return Execution(outcome=Outcome.NOT_PENDING)
        if self.claims.now() is None:
            self._ledger.telemetry.warn(
                "claim.clock_skew", run=ref.id, skew=str(self.claims.store_clock.skew())
            )
            return Execution(outcome=Outcome.LEFT, run=run)
        state = self._ledger.job_state(ref.job)
        if state is None:
            self._ledger.telemetry.warn("job.item_missing", run=ref.id)
            return Execution(outcome=Outcome.LEFT, run=run)
        job = self.load(state.module, ref.job)
        if not isinstance(job, Job):
            return self._unknown(run, job)
        try:
            given = self._input(run)
        except NewerItemError as error:
            self._ledger.telemetry.event("input.of_newer_release", run=ref.id, problem=str(error))
            return Execution(outcome=Outcome.LEFT, run=run)
        asked = Moment.of(self._ledger.clock)
        admission = self.claims.claim(Candidate(run=run, job=job, invocation=invocation))
        if admission.entry is not Entry.CLAIMED:
            if admission.entry is Entry.ENDED and self.pings:
                self.pings.ended(job, admission.run, invocation.deadline)
            return Execution(outcome=_ENTRIES[admission.entry], run=admission.run)
        limits = Limits(deadline=invocation.deadline, reserve=self.reserve)
        clock = SteadyClock(since=asked, clock=self._ledger.clock)
        claim = HeldClaim(admission.run, asked, limits, self._ledger.runs, clock)
        claim.input = given
        return self._worked(claim, job, replace(self._ledger, clock=clock))

    def _input(self, run: RunRecord) -> str | None:
        """The run's input. It is read before the claim: a store that does not answer costs no attempt.

        None also if it cannot be read: a job that asks for it fails, and says so.

        Raises:
            NewerItemError: a later release wrote it: the run is left to that release.
        """
        if not run.input_kept:
            return run.input
        try:
            return self.steps.input(run.ref)
        except NewerItemError:
            raise
        except UnreadableItemError as error:
            self._ledger.telemetry.warn("input.unreadable", run=run.ref.id, problem=str(error))
            self._ledger.telemetry.count(ITEMS_UNREADABLE)
            return None

    def _pending(self, ref: RunRef) -> RunRecord | None:
        """The run, if there is anything to do."""
        telemetry = self._ledger.telemetry
        try:
            run = self._ledger.runs.get(ref)
        except NewerItemError as error:
            telemetry.event("run.of_newer_release", run=ref.id, problem=str(error))
            return None
        except UnreadableItemError as error:
            telemetry.warn("run.unreadable", run=ref.id, problem=str(error))
            telemetry.count(ITEMS_UNREADABLE)
            return None
        if run is None or run.status is not RunStatus.PENDING:
            telemetry.event("run.not_pending", run=ref.id, status=run.status if run else "absent")
            return None
        return run

    def _unknown(self, run: RunRecord, found: LoadProblem | None) -> Execution:
        """The job's code is not there: wait, in case a deployment is under way or is being repaired.

        Who waits for a code that is not there is the run, whatever bookkeeping has moved since it was read.
        """
        problem = found.text if found else f"job {run.ref.job!r} is not in this deployment"
        ledger = self._ledger
        ledger.telemetry.warn("job.unknown", run=run.ref.id, problem=problem)
        for _ in ledger.tries():
            after = moves.job_unknown(run, problem, ledger.clock.now(), ledger.retention)
            applied = ledger.move(RunChange(before=run, after=after, guard=Guard.SEEN), UNKNOWN)
            if applied is Applied.DONE:
                return Execution(outcome=Outcome.UNKNOWN_JOB, run=after)
            again = self.claims.still_pending(run)
            if again is None:
                return Execution(outcome=Outcome.NOT_PENDING, run=run)
            run = again
        return Execution(outcome=Outcome.LEFT, run=run)

    def _worked(self, claim: HeldClaim, job: Job, ledger: Ledger) -> Execution:
        """Do the work of a claimed run, for as long as this invocation lasts."""
        store_clock, telemetry = self.claims.store_clock, self._ledger.telemetry
        work = RunSlice(
            claim=claim,
            leases=RunLeases(self.leases, claim, self._ledger.clock, store_clock, telemetry),
            job=job,
            log=StepLog(self.steps, claim, ledger),
            ledger=ledger,
            renewal=self.renewal,
            key_prefix=self.key_prefix,
            give_up=self.give_up,
        )
        begun = self.pings.begun(job, claim.record, claim.deadline) if self.pings else nullcontext()
        with begun:
            after = work.execute()
        if after is None:
            run = claim.record
            self._ledger.telemetry.event(
                "claim.lost", run=run.ref.id, attempt=run.attempt, token=run.fencing_token
            )
            return Execution(outcome=Outcome.CLAIM_LOST, run=run)
        self._tell(claim.record, after, work.log)
        if self.pings:
            self.pings.ended(job, after, claim.deadline)
        outcome = Outcome.ASLEEP if after.reason is Reason.SLEEP else _STATES[after.status]
        return Execution(outcome=outcome, run=after)

    def _tell(self, run: RunRecord, after: RunRecord, log: StepLog) -> None:
        """One line for each slice that is on record: what a person asks of the log who seeks what is slow.

        A worker that lost its claim has `claim.lost` instead; one that was killed, nothing.
        """
        step, seconds = log.slowest
        self._ledger.telemetry.event(
            "slice.ended",
            run=run.ref.id,
            attempt=run.attempt,
            slice=run.slice,
            status=after.status.value,
            seconds=(after.executed - run.executed).total_seconds(),
            recorded=log.recorded,
            slowest_step=step,
            slowest_seconds=round(seconds, 3),
        )
