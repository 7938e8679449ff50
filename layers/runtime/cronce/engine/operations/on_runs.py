"""Commands about runs."""

from __future__ import annotations

from cronce.core.acts import What
from cronce.core.answers import Applied
from cronce.core.records import RunRecord, RunRef, StepRecord
from cronce.core.resolution import Verdict, resolved
from cronce.engine.operations.desk import Desk


class RunCommands(Desk):
    """Commands about runs."""

    __slots__ = ()

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

    def _step(self, ref: RunRef, name: str) -> StepRecord | None:
        return next((item for item in self.steps.load(ref) if item.name == name and item.chunk is None), None)
