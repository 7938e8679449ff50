"""What a job's function is given: its run.

Each step and each item of an `each` leaves an idempotency item. When the run is tried again, what is
finished is looked up instead of executed, so the function is simply called anew. Effects belong into
steps: what stands between them is repeated by every attempt.

Between the effect of a step and its record a worker can die. Then the step is executed again, with the
same idempotency key. A step function that has a parameter `idempotency_key` is given it; pass it on to the
service that it calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from cronce.core import sleep, steps
from cronce.core.errors import DuplicateStepError, StepError
from cronce.engine.at_most_once import at_most_once
from cronce.engine.checkpoints import Checkpoints
from cronce.engine.each import Each, keyed
from cronce.engine.hands import ManyHands, OwnHands
from cronce.engine.run_facts import RunFacts
from cronce.engine.run_log import RunLog
from cronce.engine.step_function import KEY_PARAMETER, takes_key

if TYPE_CHECKING:
    from datetime import datetime

    from cronce.core.durations import Duration
    from cronce.core.ports import Telemetry
    from cronce.engine.held_claim import HeldClaim
    from cronce.engine.step_log import StepLog

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - an item


class Run(RunFacts):
    """One run of a job, as its function sees it.

    Attributes:
        log: writes log lines that carry the run's id.

    Every method raises a stop signal (`ClaimLost`, `OutOfTime`, `Cancelled`, `Asleep`) once this worker must
    stop, and the same one again at every later call. Let it pass: the run goes on from what is recorded.
    """

    def __init__(self, claim: HeldClaim, step_log: StepLog, telemetry: Telemetry, key_prefix: str) -> None:
        super().__init__(claim)
        self._steps = step_log
        self._key_prefix = key_prefix
        self._names: set[str] = set()
        self._inside: str | None = None
        self.log = RunLog(telemetry=telemetry, run=self.id, attempt=self.attempt)

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
                text = steps.to_json(self.id, name, self._called(name, fn, args, kwargs))
                self._steps.record(name, text)
            else:
                text = finished.result
        result: T = json.loads(text)
        return result

    def once(self, name: str, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Do a named piece of work at most once: for what must never be repeated, whatever happens.

        If an earlier attempt finished it, its value is returned and `fn` is not called. If one started it and
        nobody knows what came of it (the worker died, or `fn` raised anything but `NotDone`), it is not
        called
        again: the run ends FAILED(step_uncertain), and a person has to say whether it was done.

        It costs two writes instead of one. Where the receiving service honours idempotency keys, `step` is
        the better choice: it needs nobody.

        Args:
            name: unique within the run, without '#' and '/'.
            fn: raises `NotDone` if it is certain that nothing has happened. If it has a parameter
                `idempotency_key`, it is given the step's key.
            args: for `fn`.
            kwargs: for `fn`.

        Returns:
            The value as JSON carries it.

        Raises:
            NotDone: `fn` raised it; the step may be called again.
            StepUncertainError: nobody knows whether it was done; every later call on the run raises it too.
            DuplicateStepError: the run has a step of that name already.
            StepError: the name is malformed, or this is inside another step.
        """
        with self._step(name, fn):
            call = partial(self._called, name, fn, args, kwargs)
            text = at_most_once(self._steps, self._claim, name, call)
        result: T = json.loads(text)
        return result

    def sleep(self, name: str, delay: Duration) -> None:
        """Let the run wait: no invocation runs, and none is paid for, meanwhile.

        The first call records when the run goes on; no later attempt extends it. The run then goes on in
        another invocation, from the first line of the job's function: what is finished is looked up. It is
        woken within a minute after the time, spends no attempt, and keeps its slot. Sleep counts neither
        towards `timeout` nor against the grace.

        Args:
            name: unique among the run's steps, without '#' and '/'.
            delay: how long, from the first call on: a `timedelta` or text such as "90m".

        Raises:
            Asleep: the time has not come. Let it pass.
            DuplicateStepError: the run has a step of that name already.
            StepError: the name or delay is malformed, it ends more than 25 days after the run's creation, or
                this is inside a step.
        """
        self._sleep(name, lambda: sleep.wake_up_after(self._record, name, delay, self._claim.now))

    def sleep_until(self, name: str, instant: datetime) -> None:
        """Let the run wait until an instant; see `sleep`. If it has passed, the run goes on at once.

        Args:
            name: unique among the run's steps, without '#' and '/'.
            instant: aware. That of the first call is the one that counts.

        Raises:
            Asleep: the time has not come. Let it pass.
            DuplicateStepError: the run has a step of that name already.
            StepError: the name or instant is malformed, it lies more than 25 days after the run's creation,
                or this is inside a step.
        """
        self._sleep(name, lambda: sleep.wake_up_at(self._record, name, instant))

    def _sleep(self, name: str, wake_up: Callable[[], datetime]) -> None:
        with self._step(name, wake_up):
            until = self._steps.slept_until(name)
            if until is None:
                until = wake_up()
                self._claim.check()  # the look-up may have taken long
                self._steps.sleep(name, until)
            if until > self._claim.now:
                self._claim.sleep(until)
                self._claim.check()

    @overload
    def each(
        self,
        name: str,
        items: Iterable[I],
        fn: Callable[..., T],
        /,
        *args: Any,
        key: Callable[[I], object] | None = None,
        checkpoint_every: int = 1,
        concurrency: int = 1,
        results: Literal[True] = True,
    ) -> list[T]: ...

    @overload
    def each(
        self,
        name: str,
        items: Iterable[I],
        fn: Callable[..., object],
        /,
        *args: Any,
        key: Callable[[I], object] | None = None,
        checkpoint_every: int = 1,
        concurrency: int = 1,
        results: Literal[False],
    ) -> None: ...

    def each(  # noqa: PLR0913 - the author's API
        self,
        name: str,
        items: Iterable[I],
        fn: Callable[..., object],
        /,
        *args: Any,
        key: Callable[[I], object] | None = None,
        checkpoint_every: int = 1,
        concurrency: int = 1,
        results: bool = True,
    ) -> list[Any] | None:
        """Do one piece of work for each item, each once.

        Items that an earlier attempt recorded are not done again, whatever their order is now. If the worker
        dies, what was done after the last checkpoint is done again under the same idempotency keys.

        Args:
            name: unique within the run, without '#' and '/'.
            items: what to work on; an iterator is taken item by item.
            fn: called as `fn(item, *args)`; if it has a parameter `idempotency_key`, it is given the
                item's key.
            args: for `fn`, after the item.
            key: tells an item from the others, in every attempt; the default is its position, which is
                right only if the items are the same ones in the same order.
            checkpoint_every: record after so many items. More is cheaper, and repeats more after a crash.
            concurrency: so many items at once, in threads; `fn` must be able to bear it. The run's timeout
                does not interrupt what is under way in them.
            results: False: values are not kept, nor must JSON carry them; for very many items.

        Returns:
            The values in order of the items, as JSON carries them; None with `results=False`.

        Raises:
            DuplicateStepError: the run has a step of that name already, or two items have one key.
            StepError: an argument is not what it must be, this is inside another step, or `fn` is an
                `async def`.
            StepResultNotSerializableError: JSON cannot carry a value.
            StepResultTooLargeError: one value takes more than 256 KB.
        """
        steps.check_every(self.id, name, checkpoint_every)
        steps.check_concurrency(self.id, name, concurrency)
        steps.check_items(self.id, name, items, key)
        with self._step(name, fn):
            with_key = takes_key(fn, (None, *args), {})

            def work(item_key: str, item: I) -> object:
                keyword = {KEY_PARAMETER: self.idempotency_key(name, item_key)} if with_key else {}
                return fn(item, *args, **keyword)

            checkpoints = Checkpoints(self._steps, name, checkpoint_every, keeps=results)
            hands = ManyHands(concurrency, name) if concurrency > 1 else OwnHands()
            return Each(self._claim, checkpoints, hands).work_off(keyed(self.id, name, items, key), work)

    def _called(self, name: str, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        if takes_key(fn, args, kwargs):
            kwargs = {**kwargs, KEY_PARAMETER: self.idempotency_key(name)}
        return fn(*args, **kwargs)

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
            with self._steps.timed(name):
                yield
        finally:
            self._inside = None
        self._names.add(name)
