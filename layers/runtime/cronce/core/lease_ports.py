"""The ports of leases: the scheduler's, and jobs' own. See `cronce.core.ports` for what ports promise."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cronce.core.lease import Grant, Lease
    from cronce.core.named_lease import NamedLease, Taking


class LeaseStore(Protocol):
    """The lease item."""

    def take(self, owner: str, now: datetime) -> Grant | None:
        """Take the lease if `may_take` holds: one conditional write that adds one to the token.

        Writes owner, fencing_token, lease_until. An own write whose reply was lost is recognised by its
        owner.
        None: somebody else holds it, or is writing it at this moment.
        """
        ...

    def read(self) -> Lease | None:
        """The lease item, strong; None before the first tick."""
        ...

    def release(self, grant: Grant, completed_at: datetime | None) -> bool:
        """Give the lease back on the condition that owner and token are still the grant's.

        Writes lease_until (past), removes owner; writes completed_at unless it is None. False: it was taken
        over.
        """
        ...


class NamedLeaseStore(Protocol):
    """Jobs' own leases. Their items are never deleted: tokens grow for ever."""

    def take(self, taking: Taking, judged: NamedLease | None = None) -> NamedLease:
        """Take a lease if `is_free` holds: one conditional write that adds one to its token.

        Writes owner, holder, fencing_token, renewed_at, until. An own write whose reply was lost is
        recognised by its owner.

        Args:
            taking: who wants it.
            judged: a lease that is not believed: it is taken if it is still the very same one.

        Returns:
            The lease as it stands after the call: it was taken if its owner is the taking's.
        """
        ...

    def renew(self, lease: NamedLease) -> bool:
        """Write its renewed_at and until, on the condition that owner and token are still the lease's.

        False: it was taken over, or given back.
        """
        ...

    def release(self, lease: NamedLease) -> bool:
        """Give it back on the condition that owner and token are still the lease's.

        Writes until (long past), removes owner and holder. False: it was taken over.
        """
        ...
