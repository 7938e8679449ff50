"""The registry item: which jobs the deployment that planned last had."""

from __future__ import annotations

from cronce.aws.attributes import TEXT
from cronce.aws.calls import Calls
from cronce.aws.items_job import read_registry, registry_item
from cronce.aws.keys import lease_key, registry_key
from cronce.aws.lease_store import LEASE_MINE, grant_values
from cronce.aws.writes import Changes, put, update
from cronce.core.jobstate import Registry
from cronce.core.lease import Grant


class DynamoRegistryStore:
    """`RegistryStore` on the runs table.

    Args:
        calls: the client's calls.
        table: name of the runs table.
    """

    def __init__(self, calls: Calls, table: str) -> None:
        self._calls = calls
        self._table = table

    def read(self) -> Registry | None:
        """The registry, strong; None before the first reconciliation."""
        item = self._calls.get("read the registry", self._table, registry_key())
        return read_registry(item) if item else None

    def write(self, grant: Grant, registry: Registry) -> bool:
        """Put the registry and copy its fingerprint to the lease.

        Condition: LEASE_MINE, on the lease, in the same transaction. Writes the whole registry item, and the
        lease's fingerprint. Writing it twice is the same as once.
        """
        fingerprint = Changes(put={"fingerprint": TEXT.attribute(registry.fingerprint)})
        writes = [
            update(self._table, lease_key(), fingerprint, LEASE_MINE, grant_values(grant)),
            put(self._table, registry_item(registry)),
        ]
        operation = "write the registry"
        return self._calls.settled(operation, lambda: self._calls.transact(operation, writes)).done
