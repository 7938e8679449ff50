"""The whole store in memory, for tests of the engine and for trying jobs out."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from cronce.core.alerts import Alert
from cronce.core.answers import DueEntry
from cronce.core.jobstate import Gap
from cronce.core.ports import Clock
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import DueKind
from cronce.testing.clock import ManualClock
from cronce.testing.keys import (
    Item,
    Key,
    Marker,
    Unreadable,
    alert_key,
    key_of,
)
from cronce.testing.named_leases import MemoryNamedLeaseStore
from cronce.testing.planning_stores import (
    MemoryJobStore,
    MemoryLeaseStore,
    MemoryPlanStore,
    MemoryRegistryStore,
)
from cronce.testing.run_stores import MemoryRunStore, MemoryStepStore
from cronce.testing.table import Hook, MemoryTable, Row

INDEX_LAG = timedelta(seconds=1)
"""How late the index is unless a test says otherwise: a write is never in it at the same instant."""


class MemoryStoreClock:
    """`StoreClock` in memory: the skew is what the test says.

    Attributes:
        offset: the store's clock less the engine's.
    """

    def __init__(self) -> None:
        self.offset = timedelta(0)

    def skew(self) -> timedelta:
        """Store's clock less own clock."""
        return self.offset


class MemoryDueIndex:
    """`DueIndex` in memory, late on purpose."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def due(self, kind: DueKind, until: datetime | None, limit: int) -> list[DueEntry]:
        """Entries of a kind up to an instant, oldest first, as they were `index_lag` ago."""
        with self._table.call("index.due"):
            found = self._table.entries(kind)
            entries = [entry for entry in found if until is None or entry.due_at <= until] if found else []
        return sorted(entries, key=lambda entry: (entry.due_at, entry.pk, entry.sk))[:limit]


class MemoryAlertStore:
    """`AlertStore` in memory."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def get(self, scope: str) -> Alert | None:
        """The alert, strong; a closed one also after it has expired, so that `put` can follow it."""
        with self._table.call("alerts.get"):
            return self._table.find(alert_key(scope), Alert)

    def put(self, before: Alert | None, after: Alert) -> bool:
        """Write it if it is still `before`."""
        with self._table.call("alerts.put"):
            key = alert_key(after.scope)
            stored = self._table.matching(key, Alert)
            if before is None:
                holds = not self._table.exists(key)
            else:
                holds = stored is not None and stored.rev == before.rev
            if holds:
                self._table.put(key, replace(after, rev=(before.rev if before else 0) + 1))
            return holds


class MemoryStore:
    """Every store port over one table in memory; safe to use from several threads.

    The ports are attributes. The other methods are for tests: they look, place and spoil without conditions.

    Args:
        clock: the engine's clock.
        index_lag: how late the `due` index is; zero makes it exact.

    Example:
        >>> store = MemoryStore(ManualClock())
        >>> store.lease.take("scheduler-1", store.time.now()).fencing_token
        1
    """

    def __init__(self, clock: Clock | None = None, *, index_lag: timedelta = INDEX_LAG) -> None:
        self.time: Clock = clock if clock is not None else ManualClock()
        self.table = MemoryTable(self.time, index_lag)
        self.lease = MemoryLeaseStore(self.table)
        self.leases = MemoryNamedLeaseStore(self.table)
        self.registry = MemoryRegistryStore(self.table)
        self.jobs = MemoryJobStore(self.table)
        self.plans = MemoryPlanStore(self.table)
        self.index = MemoryDueIndex(self.table)
        self.runs = MemoryRunStore(self.table)
        self.steps = MemoryStepStore(self.table)
        self.alerts = MemoryAlertStore(self.table)
        self.clock = MemoryStoreClock()

    def drain_stream(self) -> list[RunRef]:
        """Runs that became PENDING with dispatch = stream since the last call, in order."""
        with self.table.call("stream.drain"):
            return self.table.drain_stream()

    def on_call(self, hook: Hook | None) -> None:
        """Call `hook(port method, "before" | "after")` around every call.

        What it raises before is a call that never reached the store; after, a write whose reply was lost.
        """
        self.table.hook = hook

    def conflict(self, times: int) -> None:
        """Let so many of the next transactions (and lease takes) meet another one under way."""
        self.table.conflicts = times

    def place(self, *items: Item) -> None:
        """Store items as they are, unconditionally; records keep their `rev`."""
        with self.table.call("test.place"):
            for item in items:
                self.table.put(key_of(item), item)

    def spoil(self, key: Key, problem: str = "attribute `status` is missing") -> None:
        """Make an item unreadable where it stands, as a hand edit would."""
        with self.table.call("test.spoil"):
            row = self.table.row(key)
            self.table.store(key, Row(item=Unreadable(problem=problem), entry=row.entry if row else None))

    def remove(self, key: Key) -> None:
        """Delete an item, as a hand edit or the store's own expiry would."""
        with self.table.call("test.remove"):
            self.table.delete(key)

    def items(self) -> dict[Key, Item]:
        """Everything stored, in order of the keys; expired items too."""
        with self.table.call("test.items"):
            return self.table.items()

    def all_runs(self) -> list[RunRecord]:
        """Every run record, in order of job and time."""
        return [item for item in self.items().values() if isinstance(item, RunRecord)]

    def all_gaps(self) -> list[Gap]:
        """Every gap, in order of job and time."""
        return [item for item in self.items().values() if isinstance(item, Gap)]

    def markers(self, job: str) -> list[RunRef]:
        """The runs of a job that have a queue marker, in order."""
        found = self.items().values()
        return [item.ref for item in found if isinstance(item, Marker) and item.ref.job == job]
