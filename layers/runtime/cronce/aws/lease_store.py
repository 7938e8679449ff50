"""The lease item: who may schedule."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cronce.aws.attributes import INSTANT, TEXT, Item, encode
from cronce.aws.calls import Calls, Verdict
from cronce.aws.items_job import LEASE_FORMS, read_lease
from cronce.aws.keys import SHAPED, lease_key
from cronce.aws.writes import Changes, update
from cronce.core.lease import BELIEF_MARGIN, LEASE_TTL, Grant, Lease

#   lease_until:   past  |  now .......... now + TTL ..... + margin  |  further ahead
#                  free  |  taken                                    |  free: a wrong clock wrote it
LEASE_FREE = "attribute_not_exists(#lease_until) OR #lease_until < :now OR #lease_until > :believed"
"""`may_take` in the store's words. A missing `lease_until` is a missing item, or one that a hand has
broken."""

#   A takes token 7 ... A stands still ... its lease expires, B takes token 8
#   A wakes and writes: owner and token are B's
LEASE_MINE = "#owner = :lease_owner AND #fencing_token = :lease_token"
"""The lease is still this grant's: the condition of every planning write."""

RELEASED = datetime(1970, 1, 1, tzinfo=UTC)
"""End of a lease that was given back: free for everybody, whatever their clocks say."""


def grant_values(grant: Grant) -> Item:
    """The values of `LEASE_MINE`."""
    return {":lease_owner": TEXT.attribute(grant.owner), ":lease_token": {"N": str(grant.fencing_token)}}


class DynamoLeaseStore:
    """`LeaseStore` on the runs table.

    Args:
        calls: the client's calls.
        table: name of the runs table.
    """

    def __init__(self, calls: Calls, table: str) -> None:
        self._calls = calls
        self._table = table

    def take(self, owner: str, now: datetime) -> Grant | None:
        """Take the lease if it is free.

        Condition: LEASE_FREE. Writes owner, lease_until, shape; adds one to fencing_token. One strong write.
        A reply that was lost: the SDK's own retry fails on the lease that it took, which is known by its
        owner.

        Raises:
            UnreadableItemError: the item is there, and an attribute of it is missing or malformed.
        """
        values = {
            ":now": INSTANT.attribute(now),
            ":believed": INSTANT.attribute(now + LEASE_TTL + BELIEF_MARGIN),
        }
        changes = Changes(
            put={
                "owner": TEXT.attribute(owner),
                "lease_until": INSTANT.attribute(now + LEASE_TTL),
                **SHAPED,
            },
            add={"fencing_token": 1},
        )
        write = update(self._table, lease_key(), changes, LEASE_FREE, values)
        answer = self._calls.write("take the lease", write, returning="ALL_NEW")
        if answer.verdict is Verdict.AGAIN or answer.item is None:
            return None
        grant = _grant(answer.item, owner)
        mine = answer.item.get("owner") == TEXT.attribute(owner)
        return grant if mine else None

    def read(self) -> Lease | None:
        """The lease item, strong; None before the first tick."""
        item = self._calls.get("read the lease", self._table, lease_key())
        if item is None:
            return None
        stored = read_lease(item)
        return Lease(
            owner=stored.owner,
            fencing_token=stored.fencing_token,
            lease_until=stored.lease_until,
            completed_at=stored.completed_at,
        )

    def release(self, grant: Grant, completed_at: datetime | None) -> bool:
        """Give the lease back.

        Condition: LEASE_MINE. Writes lease_until (long past) and completed_at if there is one; removes owner.
        A reply that was lost: a lease without owner under this token was given back by this grant.
        """
        put = {"lease_until": INSTANT.attribute(RELEASED)}
        if completed_at is not None:
            put["completed_at"] = INSTANT.attribute(completed_at)
        changes = Changes(put=put, remove=("owner",))
        write = update(self._table, lease_key(), changes, LEASE_MINE, grant_values(grant))
        operation = "release the lease"
        answer = self._calls.settled(operation, lambda: self._calls.write(operation, write))
        return answer.verdict is Verdict.DONE or _was_released(answer.item, grant)


def _grant(item: Mapping[str, Any], owner: str) -> Grant:
    stored = read_lease(item)
    return Grant(
        owner=owner,
        fencing_token=stored.fencing_token,
        fingerprint=stored.fingerprint,
        completed_at=stored.completed_at,
    )


def _was_released(item: Mapping[str, Any] | None, grant: Grant) -> bool:
    token = encode({"fencing_token": LEASE_FORMS["fencing_token"]}, grant)["fencing_token"]
    return item is not None and "owner" not in item and item.get("fencing_token") == token
