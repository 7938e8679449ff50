"""The `due` index: what somebody must look at."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from cronce.aws.attributes import INSTANT
from cronce.aws.calls import Calls
from cronce.core.answers import DueEntry
from cronce.core.run import DueKind
from cronce.core.values import dataclass

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""What stands for an instant that cannot be read: somebody is made to look at the item, and reading it says
the rest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenEntry(DueEntry):
    """A line whose `due_at` cannot be read.

    Attributes:
        due_text: what stands there.
    """

    due_text: str


class DynamoDueIndex:
    """`DueIndex` on the index of the runs table.

    Args:
        calls: the client's calls.
        table: name of the runs table.
    """

    def __init__(self, calls: Calls, table: str) -> None:
        self._calls = calls
        self._table = table

    def due(self, kind: DueKind, until: datetime | None, limit: int) -> list[DueEntry]:
        """Entries of a kind up to an instant, oldest first, at most `limit`: eventually consistent, a hint.

        An entry that was broken by hand is among them, so that somebody looks at its item.
        """
        condition, values = "#due_kind = :kind", {":kind": {"S": kind.value}}
        if until is not None:
            condition += " AND #due_at <= :until"
            values[":until"] = INSTANT.attribute(until)
        arguments = {
            "TableName": self._table,
            "IndexName": "due",
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "Limit": limit,
        }
        items = self._calls.query(f"read what is due ({kind.value})", arguments)
        return [_entry(kind, item) for item in islice(items, limit)]


def _entry(kind: DueKind, item: Mapping[str, Any]) -> DueEntry:
    due_text = item["due_at"]["S"]
    due_at, expect_by = _instant(item["due_at"]), _instant(item.get("expect_by"))
    status = item.get("status", {}).get("S")
    pk, sk = item["pk"]["S"], item["sk"]["S"]
    if due_at == LONG_AGO:
        return BrokenEntry(
            kind=kind, due_at=LONG_AGO, pk=pk, sk=sk, status=status, expect_by=expect_by, due_text=due_text
        )
    return DueEntry(kind=kind, due_at=due_at or LONG_AGO, pk=pk, sk=sk, status=status, expect_by=expect_by)


def _instant(attribute: object) -> datetime | None:
    if attribute is None:
        return None
    try:
        instant: datetime = INSTANT.value(attribute)
    except ValueError:
        return LONG_AGO
    return instant
