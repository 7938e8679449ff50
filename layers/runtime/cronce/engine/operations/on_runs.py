"""Commands about runs."""

from __future__ import annotations

from cronce.core.acts import What
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.errors import OperationRefusedError
from cronce.core.operator_moves import retried, stopped
from cronce.core.records import RunRecord, RunRef, StepRecord
from cronce.core.resolution import Verdict, resolved
from cronce.core.triggering import Terms, triggered
from cronce.engine.operations.desk import Desk, RunAnswer


class RunCommands(Desk):
    """Commands about runs."""

    __slots__ = ()

    def trigger(self, job: str, input_json: str | None = None, *, by: str, why: str) -> RunRecord:
        """Ask for a run now. The stream starts it; it waits in line while the slots are taken.

        A command that had no answer may have been carried out: look at the job's runs before it is given
        again.

        Args:
            job: its name.
            input_json: JSON text for `run.input`, at most `INPUT_LIMIT` bytes.
            by: who asks for it.
            why: may be empty.

        Returns:
            The run; its id ends in a suffix of its own.

        Raises:
            JobNotFoundError: there is no such job.
            OperationRefusedError: it was removed, the input cannot be kept, nothing says how long the run may
                take, or this host's clock is wrong.
            StoreError: the store did not answer, or others were in the way all the time.
        """
        for _ in self.ledger.tries():
            state = self.deployed(job)
            terms = self._terms(job)
            act = self.sign(What.TRIGGER, by, why)
            change = triggered(state, terms, act, self.suffix(), input_json)
            if self.ledger.apply(change) is Applied.DONE:
                self.tell(act, run=change.after.ref.id)
                return change.after
        raise self.in_the_way(f"trigger job {job}")

    def retry(self, ref: RunRef, *, by: str, why: str) -> RunRecord:
        """Bring a run back that ended without success: it goes on at the step that failed.

        Args:
            ref: the run.
            by: who asks for it.
            why: may be empty.

        Returns:
            The run after it: PENDING.

        Raises:
            JobNotFoundError: its job has no item.
            OperationRefusedError: see `core.operator_moves.retried`; or its job is not deployed any more, or
                this host's clock is wrong.
            StoreError: the store did not answer, or others were in the way all the time.
        """
        for _ in self.ledger.tries():
            self.deployed(ref.job)
            run = self.run(ref)
            act = self.sign(What.RETRY, by, why)
            job = self.job_of(ref.job)
            after = retried(run, act, job.timeout if job else run.timeout)
            if self.ledger.apply(RunChange(before=run, after=after, guard=Guard.SEEN)) is Applied.DONE:
                self.tell(act, run=ref.id)
                return after
        raise self.in_the_way(f"retry run {ref.id}")

    def cancel(self, ref: RunRef, *, by: str, why: str) -> RunAnswer:
        """End a run. One that is RUNNING is asked to stop; see `core.operator_moves`.

        Its slot, or its place in the queue, is free at once, and the next one's turn comes with it.

        Args:
            ref: the run.
            by: who ends it.
            why: may be empty.

        Raises:
            OperationRefusedError: it has ended otherwise, or this host's clock is wrong.
            StoreError: the store did not answer, or others were in the way all the time.
        """
        for _ in self.ledger.tries():
            run = self.run(ref)
            act = self.sign(What.CANCEL, by, why)
            after = stopped(run, act, self.ledger.retention)
            if after is None:
                return RunAnswer(run=run, changed=False)
            change = RunChange(before=run, after=after, guard=Guard.SEEN)
            if self.ledger.move(change, self.policy(ref.job)) is Applied.DONE:
                self.tell(act, run=ref.id, status=after.status)
                return RunAnswer(run=after, changed=True)
        raise self.in_the_way(f"cancel run {ref.id}")

    def resolve(self, ref: RunRef, step: str, done: str | None, *, by: str, why: str) -> RunRecord:
        """Say what came of an at-most-once step that was started and not finished; see `core.resolution`.

        A run that has ended goes on at once. Who and why are kept with the step.

        Args:
            ref: the run.
            step: the step's name.
            done: JSON of its value if it was done; None: it was not, and is to be done again.
            by: who says so.
            why: how it is known.

        Returns:
            The run after it.

        Raises:
            OperationRefusedError: there is nothing to resolve, not yet, or this host's clock is wrong.
            StoreError: the store did not answer, or others were in the way all the time.
        """
        for _ in self.ledger.tries():
            run = self.run(ref)
            item = self._step(ref, step)
            act = self.sign(What.RESOLVE, by, why)
            change = resolved(run, item, Verdict(done=done, act=act))
            if self.ledger.apply(change) is Applied.DONE:
                self.tell(act, run=ref.id, step=step, done=done is not None)
                return change.after
        raise self.in_the_way(f"run {ref.id}: resolve step {step!r}")

    def progress(self, ref: RunRef) -> dict[str, int]:
        """How many items of each `each` of a run are recorded, by step: the key of its last chunk says it."""
        done: dict[str, int] = {}
        for item in self.steps.load(ref):
            if item.chunk is not None:
                done[item.name] = max(item.chunk, done.get(item.name, 0))
        return done

    def _terms(self, job: str) -> Terms:
        """Of the job's code; if it is not here, those of its newest run."""
        code = self.job_of(job)
        if code is not None:
            return Terms.of(code)
        now = self.ledger.clock.now()
        for run in self.ledger.runs.runs(job, now - self.ledger.retention, now, 1).records:
            return Terms(timeout=run.timeout, max_attempts=run.max_attempts)
        raise OperationRefusedError(
            f"nothing says how long a run of job {job} may take: it has none yet, and its code is not here; "
            "give the command where the jobs are"
        )

    def _step(self, ref: RunRef, name: str) -> StepRecord | None:
        return next((item for item in self.steps.load(ref) if item.name == name and item.chunk is None), None)
