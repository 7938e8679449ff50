"""The idempotency items of one run: looked up once, recorded under its claim."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from cronce.core.errors import StepError, StoreError, UnreadableItemError
from cronce.core.records import StepRecord
from cronce.core.steps import values_by_key
from cronce.engine.time_limit import shielded

if TYPE_CHECKING:
    from cronce.core.ports import StepStore
    from cronce.engine.held_claim import HeldClaim
    from cronce.engine.ledger import Ledger

STORE_TRIES = 3
"""An effect that has happened is worth more than one try to record it; each is harmless."""

T = TypeVar("T")


class StepLog:
    """What a run has done, and what it does now.

    Args:
        steps: where it is kept.
        claim: under which it is written.
        ledger: for clock, telemetry and the pauses between tries.
    """

    def __init__(self, steps: StepStore, claim: HeldClaim, ledger: Ledger) -> None:
        self._steps = steps
        self._claim = claim
        self._ledger = ledger
        self._loaded: dict[str, list[StepRecord]] | None = None
        self.recorded = 0
        """Items written by this worker: its progress."""

    def finished(self, name: str) -> StepRecord | None:
        """The item of a step that is finished."""
        return next((step for step in self._load().get(name, []) if step.chunk is None), None)

    def finished_items(self, name: str) -> dict[str, Any]:
        """The values of an `each` that are recorded, by item key."""
        return values_by_key(step for step in self._load().get(name, []) if step.chunk is not None)

    def record(self, name: str, result: str, chunk: int | None = None, keys: tuple[str, ...] = ()) -> None:
        """Keep a result under the claim. What has happened is written down before the run's time ends it.

        Args:
            name: of the step.
            result: JSON of its value, or of a chunk's values in order.
            chunk: of an `each`: items recorded after this, earlier chunks included: it tells chunks apart.
            keys: of the chunk's items.

        Raises:
            ClaimLost: another worker has the claim, or the store did not answer.
            TimeLimitExceeded: the run's time was over meanwhile; the result is kept.
        """
        run = self._claim.record
        step = StepRecord(
            ref=run.ref,
            name=name,
            chunk=chunk,
            result=result,
            keys=keys,
            owner=run.owner or "",
            fencing_token=run.fencing_token,
            at=self._ledger.clock.now(),
        )
        with shielded():
            self._write(step)
            self._load()[name].append(step)
            self.recorded += 1

    def _write(self, step: StepRecord) -> None:
        """Record it, or close the handle: what comes after must not happen as if this had been recorded."""

        def write() -> bool:
            with self._claim.writing() as claimed:
                return self._steps.record(claimed, step)

        if not self._asked(f"step {step.name!r} could not be recorded", write):
            self._claim.lose(f"step {step.name!r} was not recorded: another worker may have the claim")
            self._claim.check()

    def _load(self) -> dict[str, list[StepRecord]]:
        """All items of the run by name, read once; a run's very first slice has none."""
        if self._loaded is None:
            run = self._claim.record
            found: list[StepRecord] = []
            if run.attempt > 1 or run.slice > 1:
                found = self._asked("its steps could not be read", lambda: self._steps.load(run.ref))
            self._loaded = defaultdict(list)
            for step in found:
                self._loaded[step.name].append(step)
        return self._loaded

    def _asked(self, problem: str, call: Callable[[], T]) -> T:
        """The store's answer. Without one the handle is closed: no job can swallow the error and go on.

        Raises:
            ClaimLost: the store did not answer, several times.
            StepError: an item that was edited by hand is in the way.
        """
        for number in self._ledger.tries(STORE_TRIES):
            try:
                return call()
            except UnreadableItemError as error:
                raise StepError(f"run {self._claim.record.ref.id}: {problem}: {error}") from error
            except StoreError as error:
                if number == STORE_TRIES:
                    self._claim.lose(f"{problem}: {error}", broken=error)
        self._claim.check()
        raise AssertionError("a closed handle lets nothing pass")
