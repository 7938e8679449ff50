"""The memory store's tables: items by key under one lock, an index that is late on purpose, and a stream.

Strong reads and conditions see every write at once. The `due` index shows each item as it was `index_lag`
ago: a write of the present instant is not in it yet, and the place that an item has left still is. Code that
acts on the index without looking at the item is found out at once.

An item past its `forget_at` is still there for conditions, and absent for readers: the real store deletes it
days later.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Any, TypeGuard

from cronce.core.alerts import Alert
from cronce.core.answers import DueEntry
from cronce.core.errors import UnreadableItemError
from cronce.core.found import Unread
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

_INSTANT = {"datetime", "datetime | None"}
_instants: dict[type[Item], tuple[str, ...]] = {}
# Names of the fields that hold an instant or nothing, by kind of item.

Hook = Callable[[str, str], None]
"""Called with the port method (`runs.apply`) and `before` or `after`; raises to lose call or reply."""
Watcher = Callable[[Key, Item | None, Item | None], None]
"""Called with each write, within its transaction: key, item before, item after (None: there is none)."""


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
        self.watcher: Watcher | None = None
        self.conflicts = 0
        self._lock = threading.RLock()
        self._rows: dict[Key, Row] = {}
        self._partitions: dict[str, list[str]] = {}
        # Sort keys, ascending.
        self._places: dict[Key, DueEntry] = {}
        self._shown: dict[Key, DueEntry] = {}
        self._kinds: dict[DueKind, dict[Key, DueEntry]] = {kind: {} for kind in DueKind}
        self._on_its_way: deque[tuple[datetime, Key, DueEntry | None]] = deque()
        self._stream: list[RunRef] = []

    def call(self, name: str) -> AbstractContextManager[object]:
        """One port call: alone in the store, with the hook before and after it."""
        return self._lock if self.hook is None else self._hooked(name, self.hook)

    @contextmanager
    def _hooked(self, name: str, hook: Hook) -> Iterator[None]:
        hook(name, "before")
        with self._lock:
            yield
        hook(name, "after")

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

    def query(self, pk: str, prefix: str, kind: type[T], since: str = "") -> list[T]:
        """Readable, unexpired items of a partition in order of their sort keys.

        Args:
            pk: the partition.
            prefix: of the sort keys.
            kind: of the items.
            since: the sort keys of those wanted begin with nothing that is less.
        """
        found = (self._rows[pk, sk].item for sk in self._keys(pk, prefix, since))
        return [item for item in found if isinstance(item, kind) and not self.has_expired(item)]

    def unread(self, job: str, prefix: str, kind: type[T], since: str = "") -> list[Unread]:
        """What `query` of a job's partition passes over because it cannot be understood; see there."""
        pk, found = f"JOB#{job}", []
        for sk in self._keys(pk, prefix, since):
            try:
                self.find((pk, sk), kind)
            except UnreadableItemError as error:
                found.append(Unread(job=job, sk=sk, problem=str(error)))
        return found

    def _keys(self, pk: str, prefix: str, since: str) -> Iterator[str]:
        keys = self._partitions.get(pk, [])
        return takewhile(_begins_with(prefix), islice(keys, bisect_left(keys, max(prefix, since)), None))

    def items(self) -> dict[Key, Item]:
        """Everything, in order of the keys."""
        return {key: self._rows[key].item for key in sorted(self._rows)}

    def partition(self, pk: str) -> list[Item]:
        """Everything in a partition, in order of the sort keys."""
        return [self._rows[pk, sk].item for sk in self._partitions.get(pk, [])]

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
        if before is None:
            insort(self._partitions.setdefault(key[0], []), key[1])
        self._move(key, row.entry)
        if (before is None or before.item != row.item) and _is_to_dispatch(row.item):
            self._stream.append(row.item.ref)
        if self.watcher:
            self.watcher(key, before.item if before else None, row.item)

    def delete(self, key: Key) -> None:
        """Remove an item, if it is there."""
        gone = self._rows.pop(key, None)
        if gone is not None:
            keys = self._partitions[key[0]]
            del keys[bisect_left(keys, key[1])]
            self._move(key, None)
            if self.watcher:
                self.watcher(key, gone.item, None)

    def entries(self, kind: DueKind) -> Iterable[DueEntry]:
        """A partition of the index as it was `index_lag` ago."""
        seen_until = self.clock.now() - self.index_lag
        while self._on_its_way and self._on_its_way[0][0] <= seen_until:
            _, key, entry = self._on_its_way.popleft()
            former = self._shown.pop(key, None)
            if former is not None:
                del self._kinds[former.kind][key]
            if entry is not None:
                self._shown[key] = self._kinds[entry.kind][key] = entry
        return self._kinds[kind].values()

    def places(self) -> Iterable[DueEntry]:
        """The index as it will be when it has caught up."""
        return self._places.values()

    def drain_stream(self) -> list[RunRef]:
        """What the stream has to tell the dispatcher since the last call."""
        drained, self._stream = self._stream, []
        return drained

    def _move(self, key: Key, entry: DueEntry | None) -> None:
        """Give an item its new place; whoever reads the index sees it when its time has come."""
        if self._places.get(key) == entry:
            return
        if entry is None:
            del self._places[key]
        else:
            self._places[key] = entry
        self._on_its_way.append((self.clock.now(), key, entry))


def _begins_with(prefix: str) -> Callable[[str], bool]:
    return lambda text: text.startswith(prefix)


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
    kind = type(item)
    if kind not in _instants:
        _instants[kind] = tuple(field.name for field in fields(item) if field.type in _INSTANT)
    for name in _instants[kind]:
        value = getattr(item, name)
        if value is not None and value.microsecond % 1000:
            cut[name] = value.replace(microsecond=value.microsecond // 1000 * 1000)
    return replace(item, **cut) if cut else item


def set_aside(row: Row, due_at: datetime) -> Row:
    """The row at another place of the index."""
    entry = replace(row.entry, due_at=due_at) if row.entry else None
    item = (
        replace(row.item, due_at=due_at) if isinstance(row.item, RunRecord | JobState | Alert) else row.item
    )
    return Row(item=item, entry=entry)
