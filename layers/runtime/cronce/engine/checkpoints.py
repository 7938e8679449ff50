"""The items of one `each`: which are done, and which of those are not recorded yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cronce.core.steps import RESULT_LIMIT, WITHOUT_VALUES

if TYPE_CHECKING:
    from cronce.engine.step_log import StepLog


class Checkpoints:
    """Records items in chunks.

    Args:
        log: where they are looked up and recorded.
        name: of the step.
        every: items of a chunk. Large values make smaller ones, so that a chunk always fits into an item.
        keeps: whether values are kept, or only that an item is done.
    """

    def __init__(self, log: StepLog, name: str, every: int, *, keeps: bool = True) -> None:
        self._log = log
        self.name = name
        self._every = every
        self.keeps = keeps
        self.recorded = log.finished_items(name)
        """The values of what is recorded, by item key, as JSON carries them."""
        self._keys: list[str] = []
        self._results: list[str] = []
        self._size = 0

    def add(self, key: str, result: str) -> Any:
        """One more item is done; `result` is the JSON of its value. Returns what JSON carries of it."""
        size = len(key.encode()) + len(result.encode()) + 2
        if self._keys and self._size + size > RESULT_LIMIT:
            self._flush()
        self._keys.append(key)
        self._results.append(result)
        self._size += size
        if len(self._keys) >= self._every:
            self._flush()
        return json.loads(result) if self.keeps else None

    @contextmanager
    def flushed(self) -> Iterator[None]:
        """What is done is recorded however the block is left: a failed item costs none before it."""
        try:
            yield
        finally:
            self._flush()

    def _flush(self) -> None:
        if not self._keys:
            return
        keys, results = tuple(self._keys), self._results
        self._keys, self._results, self._size = [], [], 0
        done = len(self.recorded) + len(keys)
        result = f"[{','.join(results)}]" if self.keeps else WITHOUT_VALUES
        self._log.record(self.name, result, done, keys)
