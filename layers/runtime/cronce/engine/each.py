"""The items of an `each`: which are done, who does the others, and what of it is recorded.

Guaranteed: an item that is recorded is not done again. No item begins after a stop signal; those under way
    are waited for, and what is finished is recorded, before anything is raised. Only a worker that is killed
    loses what lies behind the last checkpoint: at most `checkpoint_every` items, and those under way.

No item begins that is not likely to be finished in this invocation, measured by the longest one before it in
    this invocation: cut off, it would cost the run an attempt in every invocation. The first one begins in
    any case, so each invocation makes progress, or shows that an item is too long for any.

Items are pulled one by one, no more of them than can be done at once and one, so that they may be an iterator
over very many. With `results=False` nothing grows with them but their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cronce.core import steps
from cronce.core.errors import DuplicateStepError, StepError
from cronce.engine.hands import Hands, Task

if TYPE_CHECKING:
    from cronce.engine.checkpoints import Checkpoints
    from cronce.engine.hands import Done
    from cronce.engine.held_claim import HeldClaim

I = TypeVar("I")  # noqa: E741 - an item


def keyed(
    run_id: str, name: str, items: Iterable[I], key: Callable[[I], object] | None
) -> Iterator[tuple[str, I]]:
    """The items with their keys, each key once.

    Raises:
        DuplicateStepError: two items have one key.
        StepError: a key is malformed.
    """
    if key is None:
        yield from ((str(position), item) for position, item in enumerate(items))
        return
    seen: set[str] = set()
    for item in items:
        item_key = steps.item_key(run_id, name, key(item))
        if item_key in seen:
            raise DuplicateStepError(
                f"run {run_id}: step {name!r}: two items have the key {item_key!r}; "
                "a key tells an item from all others"
            )
        seen.add(item_key)
        yield item_key, item


class Each:
    """One `each` at work.

    Args:
        claim: asked before each item.
        checkpoints: what is done, and where it is recorded.
        hands: who does items.
    """

    def __init__(self, claim: HeldClaim, checkpoints: Checkpoints, hands: Hands) -> None:
        self._claim = claim
        self._checkpoints = checkpoints
        self._hands = hands
        self._results: list[Any] = []
        self._longest = 0.0

    def work_off(self, items: Iterator[tuple[str, I]], work: Callable[[str, I], object]) -> list[Any] | None:
        """Do what is not done yet.

        Args:
            items: with their keys.
            work: does one.

        Returns:
            All values in order of the items; None if they are not kept.
        """
        with self._checkpoints.flushed(), self._hands:
            try:
                for position, (key, item) in enumerate(items):
                    self._reserve(key)
                    if key not in self._checkpoints.recorded:
                        self._begin(
                            Task(position=position, key=key, work=partial(self._text, work, key, item))
                        )
                while self._hands.working:
                    self._take()
            except BaseException as error:
                self._finish(error)
                raise
        return self._results if self._checkpoints.keeps else None

    def _begin(self, task: Task) -> None:
        self._claim.check(needs=timedelta(seconds=self._longest))
        self._hands.begin(task)
        while self._hands.full:
            self._take()

    def _text(self, work: Callable[[str, I], object], key: str, item: I) -> str:
        name = f"{self._checkpoints.name}/{key}"
        begun = self._claim.ticks
        value = work(key, item)
        self._longest = max(self._longest, self._claim.ticks - begun)
        if self._checkpoints.keeps:
            return steps.to_json(self._claim.record.ref.id, name, value)
        steps.refuse_coroutine(self._claim.record.ref.id, name, value)
        return ""

    def _take(self) -> None:
        """Take one that is done."""
        done = self._hands.take()
        if done.raised is not None:
            raise done.raised
        self._keep(done)

    def _finish(self, error: BaseException) -> None:
        """Wait for what is under way, and record it; a second failure is noted with the first.

        A run whose time is over is interrupted again while it waits here, so threads that hang hold nothing
        up.
        """
        while self._hands.working:
            done = self._hands.take()
            if done.raised is None:
                self._keep(done)
            elif done.raised is not error:
                error.add_note(f"item {done.task.key!r} failed as well: {type(done.raised).__name__}")

    def _reserve(self, key: str) -> None:
        """A place among the results, filled if the item is done."""
        if not self._checkpoints.keeps:
            return
        value = self._checkpoints.recorded.get(key)
        if value is steps.NO_VALUE:
            raise StepError(
                f"run {self._claim.record.ref.id}: step {self._checkpoints.name!r}: an earlier attempt did "
                "items with results=False and kept no values: give it results=False, or another name"
            )
        self._results.append(value)

    def _keep(self, done: Done) -> None:
        value = self._checkpoints.add(done.task.key, done.text)
        if self._checkpoints.keeps:
            self._results[done.task.position] = value
