"""Memory store of jobs' own leases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from cronce.core.named_lease import NamedLease, Taking, is_free
from cronce.testing.keys import named_lease_key
from cronce.testing.table import MemoryTable

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""End of a lease that was given back: free for everybody, whatever their clocks say."""


class MemoryNamedLeaseStore:
    """`NamedLeaseStore` in memory."""

    def __init__(self, table: MemoryTable) -> None:
        self._table = table

    def take(self, taking: Taking, judged: NamedLease | None = None) -> NamedLease:
        """Take a lease if it is free, or still the judged one; see `NamedLeaseStore.take`."""
        with self._table.call("leases.take"):
            key = named_lease_key(taking.name)
            stored = self._table.find(key, NamedLease)
            if judged is not None and stored is None:
                return replace(judged, owner=None, holder=None, fencing_token=0, until=LONG_AGO)
            if stored is not None and not _may_take(stored, taking, judged):
                return stored
            lease = taking.taken((stored.fencing_token if stored else 0) + 1)
            self._table.put(key, lease)
            return lease

    def renew(self, lease: NamedLease) -> bool:
        """Write its renewed_at and until, if it is still this taking's."""
        with self._table.call("leases.renew"):
            stored = self._mine(lease)
            if stored is None:
                return False
            renewed = replace(stored, renewed_at=lease.renewed_at, until=lease.until)
            self._table.put(named_lease_key(lease.name), renewed)
            return True

    def release(self, lease: NamedLease) -> bool:
        """Give it back, if it is still this taking's."""
        with self._table.call("leases.release"):
            stored = self._mine(lease)
            if stored is None:
                return False
            released = replace(stored, owner=None, holder=None, until=LONG_AGO)
            self._table.put(named_lease_key(lease.name), released)
            return True

    def _mine(self, lease: NamedLease) -> NamedLease | None:
        """The stored lease, if owner and token are this taking's."""
        stored = self._table.matching(named_lease_key(lease.name), NamedLease)
        if stored is None:
            return None
        mine = (stored.owner, stored.fencing_token) == (lease.owner, lease.fencing_token)
        return stored if mine else None


def _may_take(stored: NamedLease, taking: Taking, judged: NamedLease | None) -> bool:
    if judged is None:
        return is_free(stored, taking.now)
    seen = (judged.fencing_token, judged.renewed_at, judged.until)
    return (stored.fencing_token, stored.renewed_at, stored.until) == seen
