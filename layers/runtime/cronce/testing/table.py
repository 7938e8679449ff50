"""The memory store's tables: items by key under one lock, an index that is late on purpose, and a stream.

Strong reads and conditions see every write at once. The `due` index shows each item as it was `index_lag`
ago: a write of the present instant is not in it yet, and the place that an item has left still is. Code that
acts on the index without looking at the item is found out at once.

An item past its `forget_at` is still there for conditions, and absent for readers: the real store deletes it
days later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, TypeGuard

from cronce.core.alerts import Alert
from cronce.core.answers import DueEntry
from cronce.core.errors import UnreadableItemError
from cronce.core.jobstate import Gap, JobState
from cronce.core.ports import Clock
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Dispatch, DueKind, RunStatus
from cronce.testing.keys import Item, Key, T, Unreadable

ITEM_LIMIT = 400 * 1024
"""Bytes that the real store takes in one item."""
TRANSACTION_BYTES = 4 * 1024 * 1024
"""Bytes that the real store takes in one transaction."""
TRANSACTION_LIMIT = 100
"""Actions that the real store takes in one transaction."""

Hook = Callable[[str, str], None]
"""Called with the port method (`runs.apply`) and `before` or `after`; raises to lose call or reply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """An item with its place in the `due` index."""

    item: Item
    entry: DueEntry | None = None


class MemoryTable:
    """Items by key. Every method is to be called inside `call`, which holds the lock.

    Args:
        clock: tells how late the index is and what has expired.
        index_lag: how late the index is.
    """

    def __init__(self, clock: Clock, index_lag: timedelta) -> None:
        self.clock = clock
        self.index_lag = index_lag
        self.hook: Hook | None = None
        self.conflicts = 0
        self._lock = threading.RLock()
        self._rows: dict[Key, Row] = {}
        self._places: dict[Key, list[tuple[datetime, DueEntry | None]]] = {}
        self._stream: list[RunRef] = []

    @contextmanager
    def call(self, name: str) -> Iterator[None]:
        """One port call: alone in the store, with the hook before and after it."""
        if self.hook:
            self.hook(name, "before")
        with self._lock:
            yield
        if self.hook:
            self.hook(name, "after")

    def in_conflict(self) -> bool:
        """Whether this transaction is one of those that shall meet a conflict."""
        if not self.conflicts:
            return False
        self.conflicts -= 1
        return True

    def row(self, key: Key) -> Row | None:
        """What is stored, expired or not, readable or not."""
        return self._rows.get(key)

    def find(self, key: Key, kind: type[T]) -> T | None:
        """An item as conditions see it: expired ones count.

        Raises:
            UnreadableItemError: it is there and cannot be understood.
        """
        row = self._rows.get(key)
        if row is None:
            return None
        if not isinstance(row.item, kind):
            problem = (
                row.item.problem if isinstance(row.item, Unreadable) else f"it is a {type(row.item).__name__}"
            )
            raise UnreadableItemError(f"item {key[0]} / {key[1]} cannot be read: {problem}")
        return row.item

    def matching(self, key: Key, kind: type[T]) -> T | None:
        """An item as conditions see it; one that cannot be understood meets no condition."""
        row = self._rows.get(key)
        return row.item if row is not None and isinstance(row.item, kind) else None

    def read(self, key: Key, kind: type[T]) -> T | None:
        """An item as readers see it: expired ones are gone."""
        item = self.find(key, kind)
        return None if item is None or self.has_expired(item) else item

    def has_expired(self, item: Item) -> bool:
        """Whether the real store may delete the item at any moment."""
        forget_at: datetime | None = getattr(item, "forget_at", None)
        return forget_at is not None and forget_at <= self.clock.now()

    def query(self, pk: str, prefix: str, kind: type[T]) -> list[T]:
        """Readable, unexpired items of a partition in order of their sort keys."""
        found = sorted(
            (key, row.item) for key, row in self._rows.items() if key[0] == pk and key[1].startswith(prefix)
        )
        return [item for _, item in found if isinstance(item, kind) and not self.has_expired(item)]

    def items(self) -> dict[Key, Item]:
        """Everything, in order of the keys."""
        return {key: self._rows[key].item for key in sorted(self._rows)}

    def exists(self, key: Key) -> bool:
        """Whether a condition `attribute_not_exists` would fail."""
        return key in self._rows

    def put(self, key: Key, item: Item) -> None:
        """Store an item; its place in the index follows from it. Instants are cut to whole milliseconds."""
        kept = in_milliseconds(item)
        self.store(key, Row(item=kept, entry=entry_of(key, kept)))

    def store(self, key: Key, row: Row) -> None:
        """Store an item with a place of its own."""
        before = self._rows.get(key)
        self._rows[key] = row
        self._move(key, row.entry)
        if (before is None or before.item != row.item) and _is_to_dispatch(row.item):
            self._stream.append(row.item.ref)

    def delete(self, key: Key) -> None:
        """Remove an item, if it is there."""
        if self._rows.pop(key, None) is not None:
            self._move(key, None)

    def entries(self) -> list[DueEntry]:
        """The index as it was `index_lag` ago."""
        seen_until = self.clock.now() - self.index_lag
        shown = []
        for places in self._places.values():
            old = [entry for at, entry in places if at <= seen_until]
            if old and old[-1] is not None:
                shown.append(old[-1])
        return shown

    def drain_stream(self) -> list[RunRef]:
        """What the stream has to tell the dispatcher since the last call."""
        drained, self._stream = self._stream, []
        return drained

    def _move(self, key: Key, entry: DueEntry | None) -> None:
        """Remember a new place; places that nobody can see any more are dropped."""
        if entry is None and key not in self._places:
            return
        now = self.clock.now()
        places = self._places.get(key, [])
        visible = [number for number, (at, _) in enumerate(places) if at <= now - self.index_lag]
        kept = places[visible[-1] :] if visible else places
        self._places[key] = [*kept, (now, entry)]
        if all(place is None for _, place in self._places[key]):
            del self._places[key]


def _is_to_dispatch(item: Item) -> TypeGuard[RunRecord]:
    return (
        isinstance(item, RunRecord) and item.status is RunStatus.PENDING and item.dispatch is Dispatch.STREAM
    )


def entry_of(key: Key, item: Item) -> DueEntry | None:
    """The line of the `due` index that an item stands for."""
    kind: DueKind | None = None
    due_at: datetime | None = None
    if isinstance(item, RunRecord | Gap):
        kind = item.due_kind
        due_at = item.due_at if isinstance(item, RunRecord) else item.created_at
    elif isinstance(item, JobState):
        kind, due_at = DueKind.JOB, item.due_at
    elif isinstance(item, Alert):
        kind, due_at = DueKind.ALERT, item.due_at
    if kind is None or due_at is None:
        return None
    return DueEntry(
        kind=kind,
        due_at=due_at,
        pk=key[0],
        sk=key[1],
        status=item.status.value if isinstance(item, RunRecord) else None,
        expect_by=item.expect_by if isinstance(item, RunRecord | JobState) else None,
    )


def in_milliseconds(item: Item) -> Item:
    """The item with its instants as the real store keeps them."""
    cut: dict[str, Any] = {}
    for field in fields(item):
        value = getattr(item, field.name)
        if isinstance(value, datetime) and value.microsecond % 1000:
            cut[field.name] = value.replace(microsecond=value.microsecond // 1000 * 1000)
    return replace(item, **cut) if cut else item


def set_aside(row: Row, due_at: datetime) -> Row:
    """The row at another place of the index."""
    entry = replace(row.entry, due_at=due_at) if row.entry else None
    item = (
        replace(row.item, due_at=due_at) if isinstance(row.item, RunRecord | JobState | Alert) else row.item
    )
    return Row(item=item, entry=entry)
