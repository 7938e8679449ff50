"""What a contract test needs of a store, and the memory store as such a backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from cronce.core.jobstate import Gap, JobState
from cronce.core.lease_ports import LeaseStore, NamedLeaseStore
from cronce.core.ports import (
    AlertStore,
    DueIndex,
    JobStore,
    PlanStore,
    RegistryStore,
    RunStore,
    StepStore,
    StoreClock,
)
from cronce.core.records import RunRecord, RunRef
from cronce.testing import ManualClock, Marker, MemoryStore, key_of

Placeable = JobState | RunRecord | Gap | Marker
"""What a test may store by hand."""


class Backend(Protocol):
    """A store under test: its ports, and a way round their conditions."""

    @property
    def lease(self) -> LeaseStore: ...
    @property
    def leases(self) -> NamedLeaseStore: ...
    @property
    def registry(self) -> RegistryStore: ...
    @property
    def jobs(self) -> JobStore: ...
    @property
    def plans(self) -> PlanStore: ...
    @property
    def index(self) -> DueIndex: ...
    @property
    def runs(self) -> RunStore: ...
    @property
    def steps(self) -> StepStore: ...
    @property
    def alerts(self) -> AlertStore: ...
    @property
    def clock(self) -> StoreClock: ...

    def place(self, *items: Placeable) -> None:
        """Store items as they are, unconditionally; a record keeps its `rev`."""
        ...

    def spoil_item(self, item: JobState | RunRecord | Gap) -> None:
        """Make a stored item unreadable where it stands: take an attribute away that every reader needs."""
        ...

    def remove_item(self, item: Placeable) -> None:
        """Delete an item."""
        ...

    def markers(self, job: str) -> list[RunRef]:
        """The runs of a job that have a queue marker, in order."""
        ...


class MemoryBackend(MemoryStore):
    """The memory store, told which item to spoil or remove."""

    def spoil_item(self, item: JobState | RunRecord | Gap) -> None:
        self.spoil(key_of(item))

    def remove_item(self, item: Placeable) -> None:
        self.remove(key_of(item))


@contextmanager
def memory(clock: ManualClock) -> Iterator[Backend]:
    """The store that ships in `cronce.testing`."""
    yield MemoryBackend(clock)
