"""The items of one `each`: which are done, and which of those are not recorded yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cronce.core.steps import RESULT_LIMIT

if TYPE_CHECKING:
    from cronce.engine.step_log import StepLog


class Checkpoints:
    """Records items in chunks.

    Args:
        log: where they are looked up and recorded.
        name: of the step.
        every: items of a chunk. Large values make smaller ones, so that a chunk always fits into an item.
    """

    def __init__(self, log: StepLog, name: str, every: int) -> None:
        self._log = log
        self._name = name
        self._every = every
        self.values: dict[str, Any] = log.finished_items(name)
        """What is done, by item key, as JSON carries it."""
        self._recorded = len(self.values)
        self._keys: list[str] = []
        self._results: list[str] = []
        self._size = 0

    def add(self, key: str, result: str) -> None:
        """One more item is done; `result` is the JSON of its value."""
        size = len(key.encode()) + len(result.encode()) + 2
        if self._keys and self._size + size > RESULT_LIMIT:
            self._flush()
        self._keys.append(key)
        self._results.append(result)
        self._size += size
        self.values[key] = json.loads(result)
        if len(self._keys) >= self._every:
            self._flush()

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
        self._recorded += len(keys)
        self._log.record(self._name, "[" + ",".join(results) + "]", self._recorded, keys)
