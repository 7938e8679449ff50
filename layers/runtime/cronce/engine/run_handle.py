"""What a job's function is given: its run.

Each step and each item of an `each` leaves an idempotency item. When the run is tried again, what is
finished is looked up instead of executed, so the function is simply called anew. Effects belong into
steps: what stands between them is repeated by every attempt.

Between the effect of a step and its record a worker can die. Then the step is executed again, with the
same idempotency key. A step function that has a parameter `idempotency_key` is given it; pass it on to the
service that it calls.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from cronce.core import steps
from cronce.core.errors import DuplicateStepError, StepError
from cronce.engine.checkpoints import Checkpoints

if TYPE_CHECKING:
    from cronce.core.ports import Telemetry
    from cronce.core.records import RunRecord
    from cronce.core.run import Trigger
    from cronce.engine.held_claim import HeldClaim
    from cronce.engine.step_log import StepLog

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - an item

KEY_PARAMETER = "idempotency_key"
"""A step function that has a parameter of this name is given its key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLog:
    """Writes log lines that carry the run's id.

    Example:
        run.log.info("menu built", dishes=12)
    """

    telemetry: Telemetry
    run: str
    attempt: int

    def info(self, message: str, **fields: object) -> None:
        """One line in the log.

        Args:
            message: what happened.
            fields: what a person may want to search by.
        """
        self.telemetry.event("job.log", run=self.run, attempt=self.attempt, message=message, fields=fields)

    def warning(self, message: str, **fields: object) -> None:
        """One line that somebody should look at."""
        self.telemetry.warn("job.log", run=self.run, attempt=self.attempt, message=message, fields=fields)


class Run:
    """One run of a job, as its function sees it.

    Attributes:
        log: writes log lines that carry the run's id.

    Every method raises a stop signal (`ClaimLost`, `OutOfTime`, `Cancelled`) once this worker must stop,
    and the same one again at every later call. Let it pass: the run goes on from what is recorded.
    """

    def __init__(self, claim: HeldClaim, step_log: StepLog, telemetry: Telemetry, key_prefix: str) -> None:
        self._claim = claim
        self._steps = step_log
        self._key_prefix = key_prefix
        self._names: set[str] = set()
        self._inside: str | None = None
        self.log = RunLog(telemetry=telemetry, run=self.id, attempt=self.attempt)

    @property
    def _record(self) -> RunRecord:
        return self._claim.record

    @property
    def id(self) -> str:
        """The run id, for example `daily-menu@2026-03-08T10:00:00Z`."""
        return self._record.ref.id

    @property
    def job(self) -> str:
        """The job's name."""
        return self._record.ref.job

    @property
    def scheduled_at(self) -> datetime:
        """The occurrence that the run stands for, aware UTC: the time to compute by, not the present."""
        return self._record.ref.scheduled_at

    @property
    def scheduled_local(self) -> datetime:
        """The occurrence as the clock of the job's zone showed it, with its offset."""
        return datetime.fromisoformat(self._record.scheduled_local)

    @property
    def local_date(self) -> date:
        """The date of `scheduled_local`."""
        return self.scheduled_local.date()

    @property
    def attempt(self) -> int:
        """1 for the first try, 2 for the one after the first failure."""
        return self._record.attempt

    @property
    def trigger(self) -> Trigger:
        """What it came from: the schedule, a backfill, or a person."""
        return self._record.trigger

    @property
    def input(self) -> Any:
        """What a manual trigger was given, read from JSON; None otherwise."""
        return None if self._record.input is None else json.loads(self._record.input)

    @property
    def fencing_token(self) -> int:
        """Strictly increasing per job. A condition on it in your own writes refuses a stale writer."""
        return self._record.fencing_token

    @property
    def remaining(self) -> timedelta:
        """What is left of this invocation. The run itself may go on in the next one."""
        return self._claim.remaining

    def idempotency_key(self, step: str, key: str | None = None) -> str:
        """The key under which a step (or an item of an `each`) does its work, the same in every attempt.

        Args:
            step: the step's name.
            key: the item's key.
        """
        return steps.idempotency_key(self._key_prefix, self.id, step, key)

    def step(self, name: str, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Do a named piece of work once.

        If an earlier attempt finished it, its value is returned and `fn` is not called. Otherwise
        `fn(*args, **kwargs)` is called and its value recorded. If the worker dies in between, `fn` is
        called again with the same idempotency key.

        Args:
            name: unique within the run, without '#' and '/'.
            fn: if it has a parameter `idempotency_key`, it is given the step's key.
            args: for `fn`.
            kwargs: for `fn`.

        Returns:
            The value as JSON carries it: tuples come back as lists, and keys of dicts that were numbers as
            text, in the first attempt too.

        Raises:
            DuplicateStepError: the run has a step of that name already.
            StepError: the name is malformed, this is inside another step, or `fn` is an `async def`.
            StepResultNotSerializableError: JSON cannot carry the value.
            StepResultTooLargeError: it takes more than 256 KB.
        """
        with self._step(name, fn):
            finished = self._steps.finished(name)
            if finished is None:
                self._claim.check()  # the look-up may have taken long
                if _takes_key(fn, args, kwargs):
                    kwargs = {**kwargs, KEY_PARAMETER: self.idempotency_key(name)}
                text = steps.to_json(self.id, name, fn(*args, **kwargs))
                self._steps.record(name, text)
            else:
                text = finished.result
        result: T = json.loads(text)
        return result

    def each(
        self,
        name: str,
        items: Iterable[I],
        fn: Callable[..., T],
        /,
        *args: Any,
        key: Callable[[I], object] | None = None,
        checkpoint_every: int = 1,
    ) -> list[T]:
        """Do one piece of work for each item, one after the other, each once.

        Items that an earlier attempt recorded are not done again, whatever their order is now. If the
        worker dies, what was done after the last checkpoint is done again under the same idempotency keys.

        Args:
            name: unique within the run, without '#' and '/'.
            items: what to work on.
            fn: called as `fn(item, *args)`; if it has a parameter `idempotency_key`, it is given the
                item's key.
            args: for `fn`, after the item.
            key: tells an item from the others, in every attempt; the default is its position, which is
                right only if the items are the same ones in the same order.
            checkpoint_every: record after so many items. More is cheaper, and repeats more after a crash.

        Returns:
            The values in order of the items, as JSON carries them.

        Raises:
            DuplicateStepError: the run has a step of that name already, or two items have one key.
            StepError: a name or key is malformed, items or key are not what they must be, this is inside
                another step, or `fn` is an `async def`.
            StepResultNotSerializableError: JSON cannot carry a value.
            StepResultTooLargeError: one value takes more than 256 KB.
        """
        steps.check_every(self.id, name, checkpoint_every)
        steps.check_items(self.id, name, items, key)
        with self._step(name, fn):
            checkpoints = Checkpoints(self._steps, name, checkpoint_every)
            with_key = _takes_key(fn, (None, *args), {})
            results: list[T] = []
            with checkpoints.flushed():
                for item_key, item in self._keyed(name, items, key):
                    if item_key not in checkpoints.values:
                        self._claim.check()
                        keyword = {KEY_PARAMETER: self.idempotency_key(name, item_key)} if with_key else {}
                        value = fn(item, *args, **keyword)
                        checkpoints.add(item_key, steps.to_json(self.id, f"{name}/{item_key}", value))
                    results.append(checkpoints.values[item_key])
            return results

    def _keyed(
        self, name: str, items: Iterable[I], key: Callable[[I], object] | None
    ) -> Iterator[tuple[str, I]]:
        """The items with their keys, each key once."""
        seen: set[str] = set()
        for position, item in enumerate(items):
            item_key = steps.item_key(self.id, name, key(item) if key else position)
            if item_key in seen:
                raise DuplicateStepError(
                    f"run {self.id}: step {name!r}: two items have the key {item_key!r}; "
                    "a key tells an item from all others"
                )
            seen.add(item_key)
            yield item_key, item

    @contextmanager
    def _step(self, name: str, fn: object) -> Iterator[None]:
        """One step at a time, each name once. A step that raised may be called again: it was not recorded."""
        self._claim.check()
        steps.check_name(self.id, name)
        if not callable(fn):
            raise StepError(f"run {self.id}: step {name!r} takes a function, not {steps.shown(fn)}")
        if self._inside is not None:
            raise StepError(
                f"run {self.id}: step {name!r} inside step {self._inside!r}: steps follow one another; "
                "call it from the job's function"
            )
        if name in self._names:
            raise DuplicateStepError(
                f"run {self.id}: there is a step {name!r} already; each name stands for one piece of work"
            )
        self._inside = name
        try:
            yield
        finally:
            self._inside = None
        self._names.add(name)


def _takes_key(fn: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function has a parameter for the idempotency key that the call does not fill already."""
    try:
        signature = inspect.signature(fn)
        parameter = signature.parameters.get(KEY_PARAMETER)
        named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if parameter is None or parameter.kind not in named:
            return False
        return KEY_PARAMETER not in signature.bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return False  # a builtin without a signature, or arguments that do not fit: the call itself says so
