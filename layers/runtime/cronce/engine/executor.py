"""Executes one run: claims it, calls its job's function, and writes down what came of it.

What a job does is data: an exception, `sys.exit()`, a result that cannot be stored, a module that does not
import, all end up in the run's record. Only a store that does not answer raises out of `execute`; the run is
then found by the sweep.

A function that is at work when the run's timeout is over is interrupted, in Python code and in calls that a
signal interrupts. One that swallows it is interrupted again, and whatever it returns is no success.

Once a stop signal was given to the job, the signal decides what comes of the run, not how the function
ended: a job that swallowed it has not done its work. A signal that came too late for the job to see
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from cronce.core import moves
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.claim import Invocation
from cronce.core.errors import (
    NewerItemError,
    PermanentError,
    RetryAfter,
    StepError,
    StoreError,
    UnreadableItemError,
)
from cronce.core.job import Job
from cronce.core.moves import Failure
from cronce.core.ports import StepStore
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Reason, RunStatus
from cronce.core.slots import UNKNOWN, RunPolicy
from cronce.engine.claims import Candidate, Claims, Entry
from cronce.engine.error_text import error_text, error_trace
from cronce.engine.function_call import Called, call
from cronce.engine.held_claim import HeldClaim, Limits, Moment, Stop
from cronce.engine.job_loader import JobLoader, LoadProblem
from cronce.engine.ledger import Ledger
from cronce.engine.metrics import ITEMS_UNREADABLE
from cronce.engine.renewal import Renewal
from cronce.engine.run_handle import Run
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
class Worker:
    """A claimed run at work."""

    claim: HeldClaim
    log: StepLog
    job: Job


@dataclass(frozen=True, kw_only=True, slots=True)
class Executor:
    """Executes runs.

    Attributes:
        claims: who may start.
        steps: where steps are kept.
        load: finds a job's code.
        renewal: renews the claim meanwhile.
        key_prefix: begins every idempotency key.
        reserve: so much before the end of an invocation a run is handed on.
        give_up: drops what the process has made, for the invocations after one whose function was
            interrupted: it may have been within any call.
    """

    claims: Claims
    steps: StepStore
    load: JobLoader
    renewal: Renewal
    key_prefix: str
    reserve: timedelta = RESERVE
    give_up: Callable[[], None] = lambda: None

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
        asked = Moment.of(self._ledger.clock)
        admission = self.claims.claim(Candidate(run=run, job=job, invocation=invocation))
        if admission.entry is not Entry.CLAIMED:
            return Execution(outcome=_ENTRIES[admission.entry], run=admission.run)
        limits = Limits(deadline=invocation.deadline, reserve=self.reserve)
        claim = HeldClaim(admission.run, asked, limits, self._ledger.runs, self._ledger.clock)
        return self._work(Worker(claim=claim, log=StepLog(self.steps, claim, self._ledger), job=job))

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

    def _work(self, worker: Worker) -> Execution:
        """Call the job's function under the claim, then write what came of it."""
        run = Run(worker.claim, worker.log, self._ledger.telemetry, self.key_prefix)
        with self.renewal.renewing(worker.claim.renew):
            called = call(worker.job, run, worker.claim.time_left)
        if called.interrupted:
            self._interrupted(worker, called)
        raised = called.raised
        if worker.claim.broken:
            raise worker.claim.broken
        if worker.claim.signalled is Stop.CLAIM_LOST:
            return self._claim_lost(worker)
        with worker.claim.writing() as record:
            text = "" if raised is None else error_text(raised, record.input)
            after = self._after(worker, record, raised)
            kept = moves.long_error(after, text)
            change = RunChange(before=record, after=after, guard=Guard.LIVE, attempt=kept)
            applied = self._ledger.move(change, RunPolicy.of(worker.job))
        if applied is Applied.DONE:
            return Execution(outcome=_STATES[after.status], run=after)
        if applied is Applied.RUN_MOVED:
            return self._claim_lost(worker)
        raise StoreError(
            f"run {record.ref.id}: its end could not be written: others were in the way all the time"
        )

    def _interrupted(self, worker: Worker, called: Called) -> None:
        """The function was ended wherever it was.

        The run's end still goes through the same client: an HTTP connection whose request was interrupted is
        closed by urllib3, never reused. The next invocation makes everything anew.
        """
        worker.claim.interrupted()
        self.give_up()
        run = worker.claim.record
        self._ledger.telemetry.warn(
            "attempt.interrupted",
            run=run.ref.id,
            attempt=run.attempt,
            traceback=error_trace(called.raised, run.input) if called.raised else "",
        )

    def _after(self, worker: Worker, run: RunRecord, raised: BaseException | None) -> RunRecord:
        """The record after the function ended, one way or the other."""
        now, retention = self._ledger.clock.now(), self._ledger.retention
        match worker.claim.signalled:
            case Stop.TIMEOUT:
                return moves.timed_out(run, now, retention)
            case Stop.CANCELLED:
                return moves.cancelled(run, now, retention)
            case Stop.INVOCATION_ENDS if worker.log.recorded:
                return moves.next_slice(run, now)
            case Stop.INVOCATION_ENDS:
                text = "the invocation ended without anything new being recorded"
                failure = Failure(reason=Reason.NO_PROGRESS, text=text, delay=self._delay(worker, run))
                return moves.attempt_failed(run, failure, now, retention)
            case _ if raised is None:
                return moves.succeeded(run, now, retention)
            case _:
                return moves.attempt_failed(run, self._failure(worker, run, raised), now, retention)

    def _failure(self, worker: Worker, run: RunRecord, raised: BaseException) -> Failure:
        """How the function's exception is to be taken. A misused step is the author's to fix."""
        self._ledger.telemetry.warn(
            "attempt.failed",
            run=run.ref.id,
            attempt=run.attempt,
            error=error_text(raised, run.input),
            traceback=error_trace(raised, run.input),
        )
        return Failure(
            reason=Reason.ERROR,
            text=error_text(raised, run.input),
            delay=raised.delay if isinstance(raised, RetryAfter) else self._delay(worker, run),
            permanent=isinstance(raised, PermanentError | StepError),
        )

    def _delay(self, worker: Worker, run: RunRecord) -> timedelta:
        return worker.job.retry.delay(run.attempt, self._ledger.draw())

    def _claim_lost(self, worker: Worker) -> Execution:
        run = worker.claim.record
        self._ledger.telemetry.event(
            "claim.lost", run=run.ref.id, attempt=run.attempt, token=run.fencing_token
        )
        return Execution(outcome=Outcome.CLAIM_LOST, run=run)
