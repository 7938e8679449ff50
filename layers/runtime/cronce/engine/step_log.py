"""The idempotency items of one run: looked up once, recorded under its claim."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from cronce.core.errors import NewerItemError, StepError, StoreError, UnreadableItemError
from cronce.core.judgement import was_born_late
from cronce.core.records import StepRecord, StepStatus
from cronce.core.steps import uncertain_text, values_of
from cronce.core.values import dataclass
from cronce.engine.error_text import error_text, error_trace
from cronce.engine.time_limit import shielded

if TYPE_CHECKING:
    from datetime import datetime

    from cronce.core.ports import StepStore
    from cronce.engine.held_claim import HeldClaim
    from cronce.engine.ledger import Ledger

STORE_TRIES = 3
"""An effect that has happened is worth more than one try to record it; each is harmless."""

T = TypeVar("T")


@dataclass(kw_only=True, slots=True)
class _Loaded:
    """What is recorded of the run.

    Attributes:
        plain: the items of steps that are no `each`, by name.
        items: the values of each `each` by name and item key.
    """

    plain: dict[str, StepRecord] = field(default_factory=dict)
    items: dict[str, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))


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
        self._known: _Loaded | None = None
        self.recorded = 0
        """Items written by this worker: its progress."""
        self.slowest: tuple[str, float] = ("", 0.0)
        """The step that took this worker longest, and its seconds; also one that did not come to its end."""

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Take the time of a step, however it ends."""
        begun = self._claim.ticks
        try:
            yield
        finally:
            self.slowest = max((name, self._claim.ticks - begun), self.slowest, key=lambda step: step[1])

    def finished(self, name: str) -> StepRecord | None:
        """The item of a step that is finished.

        Raises:
            StepError: under that name the run has slept.
            StepUncertainError: an at-most-once step, this one or another, was started and not finished.
        """
        step = self._load().plain.get(name)
        if step is not None and step.status is StepStatus.ASLEEP:
            raise self._of_another_kind(name, "a sleep")
        return step if step is not None and step.status is StepStatus.DONE else None

    def finished_items(self, name: str) -> dict[str, Any]:
        """The values of an `each` that are recorded, by item key. It grows with what is recorded."""
        return self._load().items[name]

    def slept_until(self, name: str) -> datetime | None:
        """Until when the run was to sleep, as it was recorded when it was first asked to.

        Raises:
            StepError: under that name the run has something else.
        """
        step = self._load().plain.get(name)
        if step is not None and step.status is StepStatus.DONE:
            raise self._of_another_kind(name, "a step")
        return step.until if step is not None else None

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
        step = replace(self._new(name, StepStatus.DONE), result=result, chunk=chunk, keys=keys)
        with shielded():
            self._write(step)
            self.recorded += 1

    def start(self, name: str) -> None:
        """Note that an at-most-once step begins, and when this invocation ends: nobody acts for it later."""
        with shielded():
            self._write(replace(self._new(name, StepStatus.STARTED), until=self._claim.deadline))

    def not_done(self, name: str) -> None:
        """Note that an at-most-once step that was started has surely done nothing."""
        with shielded():
            self._write(self._new(name, StepStatus.NOT_DONE))

    def sleep(self, name: str, until: datetime) -> None:
        """Keep until when the run sleeps: it is decided once."""
        with shielded():
            self._write(replace(self._new(name, StepStatus.ASLEEP), until=until))
            self.recorded += 1

    def uncertain(self, name: str, cause: BaseException | None = None) -> None:
        """Close the handle: nobody knows what came of an at-most-once step.

        Raises:
            StepUncertainError: always, unless the claim is lost.
            ClaimLost: the claim is lost: it is the next worker's to find out.
        """
        run = self._claim.record
        self._ledger.telemetry.warn(
            "step.uncertain",
            run=run.ref.id,
            attempt=run.attempt,
            step=name,
            traceback=error_trace(cause, self._claim.input) if cause else "",
        )
        self._claim.uncertain(uncertain_text(name, error_text(cause, self._claim.input) if cause else None))
        self._claim.check()

    def _new(self, name: str, status: StepStatus) -> StepRecord:
        run = self._claim.record
        return StepRecord(
            ref=run.ref,
            name=name,
            status=status,
            result="null",
            owner=run.owner or "",
            fencing_token=run.fencing_token,
            at=self._ledger.clock.now(),
        )

    def _write(self, step: StepRecord) -> None:
        """Record it, or close the handle: what comes after must not happen as if this had been recorded."""
        plain = self._load().plain
        before = plain.get(step.name) if step.chunk is None else None

        def write() -> bool:
            with self._claim.writing() as claimed:
                return self._steps.record(claimed, step, before)

        if not self._asked(f"step {step.name!r} could not be recorded", write):
            self._claim.lose(f"step {step.name!r} was not recorded: another worker may have the claim")
            self._claim.check()
        if step.chunk is None:
            plain[step.name] = step
        else:
            self._load().items[step.name].update(values_of(step))

    def _load(self) -> _Loaded:
        """All items of the run by name, read once. The very first slice of a run that is on time has none.

        One that was born late may have been there before: if its record was lost, and its job was set back or
        the time backfilled, what it had finished then is not done again.

        An at-most-once step that an earlier worker began and did not finish stops the run here, under
        whatever name and whether or not the job's present code has it: else a renamed payment would be made
        twice.
        """
        if self._known is None:
            run = self._claim.record
            known = _Loaded()
            if run.attempt > 1 or run.slice > 1 or was_born_late(run):
                known = self._asked("its steps could not be read", self._read)
            self._known = known
            begun = [step.name for step in known.plain.values() if step.status is StepStatus.STARTED]
            for name in begun[:1]:
                self.uncertain(name)
        return self._known

    def _read(self) -> _Loaded:
        """What the store has, taken item by item: a run may have very many."""
        known = _Loaded()
        for step in self._steps.load(self._claim.record.ref):
            if step.chunk is None:
                known.plain[step.name] = step
            else:
                known.items[step.name].update(values_of(step))
        return known

    def _of_another_kind(self, name: str, kind: str) -> StepError:
        return StepError(
            f"run {self._claim.record.ref.id}: under the name {name!r} an earlier attempt has {kind}: "
            "give what is new a name of its own"
        )

    def _asked(self, problem: str, call: Callable[[], T]) -> T:
        """The store's answer. Without one the handle is closed: no job can swallow the error and go on.

        Raises:
            ClaimLost: the store did not answer, several times.
            OutOfTime: a later release wrote an item: the run waits for it.
            StepError: an item that was edited by hand is in the way.
        """
        for number in self._ledger.tries(STORE_TRIES):
            try:
                return call()
            except NewerItemError as error:
                self._claim.newer(f"{problem}: {error}")
                break
            except UnreadableItemError as error:
                raise StepError(f"run {self._claim.record.ref.id}: {problem}: {error}") from error
            except StoreError as error:
                if number == STORE_TRIES:
                    self._claim.lose(f"{problem}: {error}", broken=error)
        self._claim.check()
        raise AssertionError("a closed handle lets nothing pass")
