"""Counts calls, write units and read units of DynamoDB, by its published rules, at every call of a process.

Local engines report consumed capacity wrongly (one charges a transaction of one put 4 units, another
nothing), so it is computed from the items before and after each call:

* a write: 1 unit per KB of the larger of the item before and after, rounded up; also if its condition fails;
* in a transaction: 2 units per KB, for a condition check too (of the item that is checked);
* the index: 1 unit for each entry (under 1 KB) that is put, changed or deleted; a moved key is a deletion and
  a put;
* a read: 1 unit per 4 KB, rounded up, if strong, else half of it; of a query the sum of what a page holds
  counts, of a batch each item.

(Amazon DynamoDB developer guide: "DynamoDB read and write operations", "Managing complex workflows with
DynamoDB transactions", "Using Global Secondary Indexes in DynamoDB", "DynamoDB item sizes and formats".)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import boto3
from boto3.dynamodb.types import TypeDeserializer
from botocore.client import BaseClient

from cronce_tools.local.moto_engine import Proceed

Item = dict[str, Any]
KB = 1024
KEYS: Mapping[str, tuple[str, ...]] = {"runs": ("pk", "sk"), "steps": ("pk", "sk"), "idempotency": ("id",)}
"""The tables that are counted, with their keys; what jobs write elsewhere is their own affair."""
PROJECTED = ("pk", "sk", "due_kind", "due_at", "status", "expect_by", "notice", "shape")
WRITES = {"Put", "PutItem", "Update", "UpdateItem", "Delete", "DeleteItem", "ConditionCheck"}


@dataclass(kw_only=True)
class Use:
    """What was asked of DynamoDB.

    Attributes:
        calls: requests.
        writes: write units.
        reads: read units.
    """

    calls: int = 0
    writes: float = 0
    reads: float = 0

    def __sub__(self, other: Use) -> Use:
        """What is more here than there."""
        return Use(
            calls=self.calls - other.calls, writes=self.writes - other.writes, reads=self.reads - other.reads
        )


def size_of(value: object) -> int:
    """Bytes of an attribute's value, by the documented rules, near enough for whole KB."""
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, dict):
        return 3 + sum(len(name) + size_of(part) + 1 for name, part in value.items())
    if isinstance(value, list | set | tuple):
        return 3 + sum(size_of(part) + 1 for part in value)
    return 1 if isinstance(value, bool) or value is None else ceil(len(str(value)) / 2) + 1


def item_size(item: Item | None) -> int:
    """Bytes of an item; 0 for one that is not there."""
    return sum(len(name.encode()) + size_of(value) for name, value in (item or {}).items())


def write_units(before: Item | None, after: Item | None) -> int:
    """Units of one plain write of a table without index."""
    return max(1, ceil(max(item_size(before), item_size(after)) / KB))


def read_units(size: int, *, strong: bool) -> float:
    """Units of one read of so many bytes."""
    return max(1, ceil(size / (4 * KB))) * (1 if strong else 0.5)


def entry_of(item: Item | None) -> Item | None:
    """The item's entry in the index `due`, if it has one."""
    if item is None or "due_kind" not in item or "due_at" not in item:
        return None
    return {name: item[name] for name in PROJECTED if name in item}


def index_units(before: Item | None, after: Item | None) -> int:
    """Units of the index for one write."""
    old, new = entry_of(before), entry_of(after)
    if old == new:
        return 0
    moved = old and new and (old["due_kind"], old["due_at"]) != (new["due_kind"], new["due_at"])
    return 2 if moved else 1


class Meter:
    """Counts by phase. Use its `gate` with `cronce_tools.local.moto_engine.behind`.

    Attributes:
        phase: under which the next calls are counted.
        used: what was used in each phase.
        counting: whether it looks; looking takes time of its own.
    """

    def __init__(self, *, counting: bool = True) -> None:
        self.counting = counting
        self.phase = "set-up"
        self.used: dict[str, Use] = defaultdict(Use)
        self._looking = False
        self._read = TypeDeserializer().deserialize

    def gate(self, client: BaseClient, operation: str, parameters: Item, proceed: Proceed) -> Any:
        """What every call passes."""
        if self._looking or not self.counting or client.meta.service_model.service_name != "dynamodb":
            return proceed()
        writes = list(_writes(operation, parameters))
        before = [self._item(table, key) for table, key, _ in writes]
        use = self.used[self.phase]
        counts = bool(writes) or _table_of(operation, parameters) in KEYS
        use.calls += counts
        try:
            answer = proceed()
        finally:  # a condition that fails costs as much as one that holds
            factor = 2 if operation == "TransactWriteItems" else 1
            for (table, key, checks), old in zip(writes, before, strict=True):
                new = self._item(table, key)
                use.writes += factor * write_units(old, new) + (0 if checks else index_units(old, new))
        if counts and not writes:
            use.reads += self._reads(operation, parameters, answer)
        return answer

    def _reads(self, operation: str, parameters: Item, answer: Item) -> float:
        match operation:
            case "GetItem":
                size = item_size(self._plain(answer.get("Item")))
                return read_units(size, strong=parameters.get("ConsistentRead", False))
            case "Query":
                size = sum(item_size(self._plain(item)) for item in answer["Items"])
                return read_units(size, strong=parameters.get("ConsistentRead", False))
            case "BatchGetItem":
                ((table, asked),) = parameters["RequestItems"].items()
                strong = asked.get("ConsistentRead", False)
                found = [item_size(self._plain(item)) for item in answer["Responses"].get(table, [])]
                sizes = found + [0] * (len(asked["Keys"]) - len(found))
                return sum(read_units(size, strong=strong) for size in sizes)
        return 0

    def _item(self, table: str, key: Item) -> Item | None:
        self._looking = True
        try:
            return self._plain(boto3.client("dynamodb").get_item(TableName=table, Key=key).get("Item"))
        finally:
            self._looking = False

    def _plain(self, item: Mapping[str, Any] | None) -> Item | None:
        return {name: self._read(value) for name, value in item.items()} if item else None


def _table_of(operation: str, parameters: Item) -> str:
    if operation == "BatchGetItem":
        return str(next(iter(parameters["RequestItems"])))
    return str(parameters.get("TableName", ""))


def _writes(operation: str, parameters: Item) -> Iterator[tuple[str, Item, bool]]:
    """Table, key and whether it is a mere check, of each write to a counted table in a call."""
    parts = [(operation, parameters)]
    if operation == "TransactWriteItems":
        parts = [next(iter(part.items())) for part in parameters["TransactItems"]]
    for kind, part in parts:
        if kind in WRITES and part["TableName"] in KEYS:
            source = part.get("Key") or part["Item"]
            yield (
                part["TableName"],
                {name: source[name] for name in KEYS[part["TableName"]]},
                (kind == "ConditionCheck"),
            )
