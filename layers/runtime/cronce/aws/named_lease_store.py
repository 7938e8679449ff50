"""Jobs' own leases: an item each, which is never deleted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cronce.aws.attributes import (
    COUNT,
    FREE_TEXT,
    INSTANT,
    TEXT,
    Forms,
    Item,
    decode,
    encode,
    optional,
    read_attribute,
    unreadable,
)
from cronce.aws.calls import Answer, Calls, Verdict
from cronce.aws.keys import NAMED_LEASE, SHAPED, named_lease_key
from cronce.aws.writes import Changes, update
from cronce.core.named_lease import NamedLease, Taking

#   an end that is past or now .... free
#   an end that lies ahead ........ taken
FREE = "attribute_not_exists(#until) OR #until <= :now"
"""`is_free` in the store's words. A missing `until` is a missing item, or one that a hand has broken."""

#   A holds it, its renewal lies an hour ahead; B reads that, does not believe it ... and stands still
#   A (whose clock was put right) renews, or gives it back and C takes it: B's take is refused
AS_JUDGED = "#fencing_token = :judged_token AND #renewed_at = :judged_renewed_at AND #until = :judged_until"
"""The lease is still the one that was not believed."""

#   A takes token 7 ... A stands still ... its lease ends, B takes token 8
#   A wakes and renews, or gives it back: owner and token are B's
MINE = "#owner = :my_owner AND #fencing_token = :my_token"
"""The lease is still this taking's."""

RELEASED = datetime(1970, 1, 1, tzinfo=UTC)
"""End of a lease that was given back: free for everybody, whatever their clocks say."""

NAMED_LEASE_FORMS: Forms = {
    "owner": optional(TEXT),
    "holder": optional(FREE_TEXT),
    "fencing_token": COUNT,
    "renewed_at": INSTANT,
    "until": INSTANT,
}
"""Every field of `NamedLease` but its name, which is the key."""


def named_lease_item(lease: NamedLease) -> Item:
    """A lease as it is stored. It carries no `forget_at`: its token must outlive everybody who saw it."""
    return {**named_lease_key(lease.name), **SHAPED, **encode(NAMED_LEASE_FORMS, lease)}


def read_named_lease(item: Mapping[str, Any]) -> NamedLease:
    """A lease.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    values = decode(NAMED_LEASE_FORMS, item)
    pk = read_attribute(item, "pk", TEXT)
    if not pk.startswith(NAMED_LEASE):
        raise unreadable(item, "pk", f"is malformed: it does not begin with {NAMED_LEASE}")
    return NamedLease(name=pk.removeprefix(NAMED_LEASE), **values)


class DynamoNamedLeaseStore:
    """`NamedLeaseStore` on the runs table.

    Args:
        calls: the client's calls.
        table: name of the runs table.
    """

    def __init__(self, calls: Calls, table: str) -> None:
        self._calls = calls
        self._table = table

    def take(self, taking: Taking, judged: NamedLease | None = None) -> NamedLease:
        """Take a lease if it is free.

        Condition: FREE, or AS_JUDGED. Writes owner, holder, renewed_at, until, shape; adds one to
        fencing_token. One strong write. A reply that was lost: the SDK's own retry fails on the lease that it
        took, which is known by its owner.

        Raises:
            UnreadableItemError: the item is there, and an attribute of it is missing or malformed.
        """
        wanted = encode(NAMED_LEASE_FORMS, taking.taken(0))
        del wanted["fencing_token"]
        condition, values = FREE, {":now": INSTANT.attribute(taking.now)}
        if judged is not None:
            condition, values = AS_JUDGED, _judged_values(judged)
        changes = Changes(put={**wanted, **SHAPED}, add={"fencing_token": 1})
        answer = self._written(f"take lease {taking.name!r}", taking.name, changes, condition, values)
        # Without an item the condition failed on one that is not there: AS_JUDGED, and somebody deleted it.
        return read_named_lease(answer.item) if answer.item else _absent(taking)

    def renew(self, lease: NamedLease) -> bool:
        """Write its renewed_at and until.

        Condition: MINE. A reply that was lost: a second renewal is as good as the first.
        """
        item = encode(NAMED_LEASE_FORMS, lease)
        changes = Changes(put={name: item[name] for name in ("renewed_at", "until")})
        answer = self._written(f"renew lease {lease.name!r}", lease.name, changes, MINE, _my_values(lease))
        return answer.verdict is Verdict.DONE

    def release(self, lease: NamedLease) -> bool:
        """Give it back.

        Condition: MINE. Writes until (long past); removes owner and holder. A reply that was lost: a lease
        without owner under this token was given back by this taking.
        """
        changes = Changes(put={"until": INSTANT.attribute(RELEASED)}, remove=("owner", "holder"))
        operation = f"release lease {lease.name!r}"
        answer = self._written(operation, lease.name, changes, MINE, _my_values(lease))
        return answer.verdict is Verdict.DONE or _was_released(answer.item, lease)

    def _written(self, operation: str, name: str, changes: Changes, condition: str, values: Item) -> Answer:
        write = update(self._table, named_lease_key(name), changes, condition, values)
        return self._calls.settled(
            operation, lambda: self._calls.write(operation, write, returning="ALL_NEW")
        )


def _my_values(lease: NamedLease) -> Item:
    return {
        ":my_owner": TEXT.attribute(lease.owner),
        ":my_token": COUNT.attribute(lease.fencing_token),
    }


def _judged_values(judged: NamedLease) -> Item:
    return {
        ":judged_token": COUNT.attribute(judged.fencing_token),
        ":judged_renewed_at": INSTANT.attribute(judged.renewed_at),
        ":judged_until": INSTANT.attribute(judged.until),
    }


def _absent(taking: Taking) -> NamedLease:
    """What stands for a lease that somebody deleted: free, and not the taking's."""
    return NamedLease(
        name=taking.name, owner=None, holder=None, fencing_token=0, renewed_at=RELEASED, until=RELEASED
    )


def _was_released(item: Mapping[str, Any] | None, lease: NamedLease) -> bool:
    token = COUNT.attribute(lease.fencing_token)
    return item is not None and "owner" not in item and item.get("fencing_token") == token
