"""One invocation's share of a run: its job's function under the claim, and what came of it on record.

What a job does is data: an exception, `sys.exit()`, a result that cannot be stored, all end up in the run's
record.

A function that is at work when the run's timeout is over is interrupted, in Python code and in calls that a
signal interrupts. One that swallows it is interrupted again, and whatever it returns is no success.

Once a stop signal was given to the job, the signal decides what comes of the run, not how the function
ended: a job that swallowed it has not done its work. A signal that came too late for the job to see
changes nothing, except that a run that an operator has asked to stop does not go on: it neither sleeps nor
waits for another attempt or slice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from cronce.core import attempts, moves, sleep
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.errors import PermanentError, StepError, StoreError
from cronce.core.job import Job
from cronce.core.moves import Failure
from cronce.core.records import RunRecord
from cronce.core.retry import RetryAfter
from cronce.core.run import Reason
from cronce.core.slots import RunPolicy
from cronce.core.values import dataclass
from cronce.engine.error_text import error_text, error_trace
from cronce.engine.function_call import Called, call
from cronce.engine.held_claim import HeldClaim, Stop
from cronce.engine.ledger import Ledger
from cronce.engine.named_lease import RunLeases, leasing
from cronce.engine.renewal import Renewal
from cronce.engine.run_handle import Run
from cronce.engine.step_log import StepLog
from cronce.engine.termination import ended_gently

SMALLER = "Make its steps smaller, or set ExecutorTimeout"
"""What helps a run whose steps do not fit into an invocation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSlice:
    """A claimed run at work.

    Attributes:
        claim: of this worker.
        leases: that its job may take.
        job: its code.
        log: its steps.
        ledger: where its end is written.
        renewal: renews claim and leases meanwhile.
        key_prefix: begins every idempotency key.
        give_up: drops what the process has made, for the invocations after one whose function was
            interrupted: it may have been within any call.
    """

    claim: HeldClaim
    leases: RunLeases
    job: Job
    log: StepLog
    ledger: Ledger
    renewal: Renewal
    key_prefix: str
    give_up: Callable[[], None]

    def execute(self) -> RunRecord | None:
        """Call the job's function under the claim, then write what came of it.

        Returns:
            The record after it; None: the claim is lost, the run belongs to somebody else by now.

        Raises:
            StoreError: the store did not answer.
        """
        with ended_gently(self.claim.hand_back, self.ledger.telemetry.flush):
            return self._executed()

    def _executed(self) -> RunRecord | None:
        run = Run(self.claim, self.log, self.ledger.telemetry, self.key_prefix)
        with self.renewal.renewing(self.leases.renew), leasing(self.leases):
            called = call(self.job, run, self.claim.time_left)
        if called.interrupted:
            self._interrupted(called)
        raised = called.raised
        if self.claim.broken:
            raise self.claim.broken
        if self.claim.signalled is Stop.CLAIM_LOST:
            return None
        with self.claim.writing() as record:
            change = self._change(record, raised)
            applied = self.ledger.move(change, RunPolicy.of(self.job))
            if applied is Applied.STOP_REQUESTED:
                asked = replace(record, cancel_requested=True)
                after = moves.cancelled(asked, self.ledger.clock.now(), self.ledger.retention)
                change = RunChange(before=asked, after=after, guard=Guard.LIVE)
                applied = self.ledger.move(change, RunPolicy.of(self.job))
        if applied is Applied.DONE:
            return change.after
        if applied is Applied.RUN_MOVED:
            return None
        raise StoreError(
            f"run {record.ref.id}: its end could not be written: others were in the way all the time"
        )

    def _change(self, record: RunRecord, raised: BaseException | None) -> RunChange:
        """The write of what came of the run, with an error that is too long for its record."""
        text = "" if raised is None else error_text(raised, self.claim.input)
        after = self._after(record, raised)
        if after.reason is Reason.STEP_UNCERTAIN:
            text = self.claim.why
        kept = attempts.long_error(after, text)
        return RunChange(before=record, after=after, guard=Guard.LIVE, attempt=kept)

    def _interrupted(self, called: Called) -> None:
        """The function was ended wherever it was.

        The run's end still goes through the same client: an HTTP connection whose request was interrupted is
        closed by urllib3, never reused. The next invocation makes everything anew.
        """
        self.claim.interrupted()
        self.give_up()
        run = self.claim.record
        self.ledger.telemetry.warn(
            "attempt.interrupted",
            run=run.ref.id,
            attempt=run.attempt,
            traceback=error_trace(called.raised, self.claim.input) if called.raised else "",
        )

    def _after(self, run: RunRecord, raised: BaseException | None) -> RunRecord:  # noqa: PLR0911 - one each
        """The record after the function ended, one way or the other."""
        now, retention = self.ledger.clock.now(), self.ledger.retention
        match self.claim.signalled:
            case Stop.TIMEOUT:
                return moves.timed_out(run, now, retention)
            case Stop.CANCELLED:
                return moves.cancelled(run, now, retention)
            case Stop.UNCERTAIN:
                return moves.failed(run, Reason.STEP_UNCERTAIN, self.claim.why, now, retention)
            case Stop.ASLEEP:
                return sleep.fallen_asleep(run, self.claim.sleeps_until, now)
            case Stop.NEWER_RELEASE:
                return moves.left_to_newer(run, self.claim.why, now, retention)
            case Stop.INVOCATION_ENDS if self.log.recorded:
                return moves.next_slice(run, now)
            case Stop.INVOCATION_ENDS:
                text = f"nothing new was recorded before its end: {self.claim.why}. {SMALLER}"
                failure = Failure(reason=Reason.NO_PROGRESS, text=text, delay=self._delay(run))
                return moves.attempt_failed(run, failure, now, retention)
            case _ if raised is None:
                return moves.succeeded(run, now, retention)
            case _:
                return moves.attempt_failed(run, self._failure(run, raised), now, retention)

    def _failure(self, run: RunRecord, raised: BaseException) -> Failure:
        """How the function's exception is to be taken. A misused step is the author's to fix."""
        self.ledger.telemetry.warn(
            "attempt.failed",
            run=run.ref.id,
            attempt=run.attempt,
            error=error_text(raised, self.claim.input),
            traceback=error_trace(raised, self.claim.input),
        )
        return Failure(
            reason=Reason.ERROR,
            text=error_text(raised, self.claim.input),
            delay=raised.delay if isinstance(raised, RetryAfter) else self._delay(run),
            permanent=isinstance(raised, PermanentError | StepError),
        )

    def _delay(self, run: RunRecord) -> timedelta:
        return self.job.retry.delay(run.attempt, self.ledger.draw())
