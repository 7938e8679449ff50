"""What operators do to runs: each operation reads, decides, and writes on the condition of what it read."""

from __future__ import annotations

from dataclasses import dataclass

from cronce.core.answers import Applied
from cronce.core.errors import OperationRefusedError, StoreError
from cronce.core.lease import agreed_now
from cronce.core.ports import StepStore, StoreClock
from cronce.core.records import RunRecord, RunRef, StepRecord
from cronce.core.resolution import Verdict, resolved
from cronce.engine.ledger import Ledger


@dataclass(frozen=True, kw_only=True, slots=True)
class Operations:
    """Commands of operators.

    Attributes:
        ledger: where runs are written.
        steps: where their steps are.
        store_clock: a host whose clock differs from the store's decides nothing.
    """

    ledger: Ledger
    steps: StepStore
    store_clock: StoreClock

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
            run = self.ledger.runs.get(ref)
            if run is None:
                raise OperationRefusedError(f"there is no run {ref.id}")
            item = self._step(ref, step)
            now = agreed_now(self.ledger.clock.now(), self.store_clock.skew())
            if now is None:
                raise OperationRefusedError(
                    f"this host's clock differs from the store's by {self.store_clock.skew()}: set it right"
                )
            change = resolved(run, item, Verdict(done=done, by=by, why=why, at=now))
            if self.ledger.apply(change) is Applied.DONE:
                self.ledger.telemetry.event(
                    "step.resolved", run=ref.id, step=step, done=done is not None, by=by, why=why
                )
                return change.after
        raise StoreError(
            f"run {ref.id}: step {step!r} could not be resolved: others were in the way all the time"
        )

    def progress(self, ref: RunRef) -> dict[str, int]:
        """How many items of each `each` of a run are recorded, by step: the key of its last chunk says it."""
        done: dict[str, int] = {}
        for item in self.steps.load(ref):
            if item.chunk is not None:
                done[item.name] = max(item.chunk, done.get(item.name, 0))
        return done

    def _step(self, ref: RunRef, name: str) -> StepRecord | None:
        return next((item for item in self.steps.load(ref) if item.name == name and item.chunk is None), None)
