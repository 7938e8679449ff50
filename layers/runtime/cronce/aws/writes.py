"""One conditional write of one item, sent alone or as an action of a transaction.

In expressions every attribute is written `#name`, whatever its name, so that no reserved word matters; the
names that an expression needs are read off it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from cronce.aws.attributes import Attribute, Item
from cronce.core.values import dataclass

_PLACEHOLDER = re.compile(r"#(\w+)")

ABSENT = "attribute_not_exists(#pk)"
"""The item does not exist. An item past its `forget_at` that is not yet deleted still does."""


class Kind(StrEnum):
    """The actions of a transaction, by DynamoDB's names."""

    PUT = "Put"
    """Write a whole item."""
    UPDATE = "Update"
    """Write some attributes of an item."""
    DELETE = "Delete"
    """Remove an item."""
    CHECK = "ConditionCheck"
    """Write nothing; the transaction is done only if the condition holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Write:
    """One conditional write.

    Attributes:
        kind: what it does.
        table: in which table.
        key: to which item.
        body: what it writes: `Item`, or `Key` and `UpdateExpression`.
        condition: what it is conditional on; None = nothing of its own.
        values: of the placeholders in condition and body.
    """

    kind: Kind
    table: str
    key: Item
    body: Mapping[str, Any]
    condition: str | None = None
    values: Item = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """The arguments of the call, or of the action within a transaction."""
        arguments: dict[str, Any] = {"TableName": self.table, **self.body}
        if self.condition:
            arguments["ConditionExpression"] = self.condition
            arguments["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        names = names_in(self.condition or "", self.body.get("UpdateExpression", ""))
        if names:
            arguments["ExpressionAttributeNames"] = names
        if self.values:
            arguments["ExpressionAttributeValues"] = dict(self.values)
        return arguments


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What an update writes.

    Attributes:
        put: attributes to set.
        remove: names of attributes to remove.
        add: numbers to add to.
    """

    put: Mapping[str, Attribute] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    add: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def between(cls, before: Item, after: Item) -> Changes:
        """What differs, and nothing else: an attribute that somebody else set meanwhile stays as it is."""
        return cls(
            put={name: value for name, value in after.items() if before.get(name) != value},
            remove=tuple(name for name in before if name not in after),
        )

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.put or self.remove or self.add)

    def expression(self) -> str:
        """The update expression."""
        clauses = {
            "SET": [f"#{name} = :set_{name}" for name in self.put],
            "REMOVE": [f"#{name}" for name in self.remove],
            "ADD": [f"#{name} :add_{name}" for name in self.add],
        }
        return " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts)

    def values(self) -> Item:
        """The values of the expression's placeholders."""
        added = {f":add_{name}": {"N": str(number)} for name, number in self.add.items()}
        return {**{f":set_{name}": value for name, value in self.put.items()}, **added}


def put(table: str, item: Item, condition: str | None = None, values: Item | None = None) -> Write:
    """Write a whole item."""
    return Write(
        kind=Kind.PUT,
        table=table,
        key={part: item[part] for part in ("pk", "sk")},
        body={"Item": item},
        condition=condition,
        values=values or {},
    )


def update(
    table: str, key: Item, changes: Changes, condition: str | None = None, values: Item | None = None
) -> Write:
    """Write some attributes of an item."""
    return Write(
        kind=Kind.UPDATE,
        table=table,
        key=key,
        body={"Key": key, "UpdateExpression": changes.expression()},
        condition=condition,
        values={**changes.values(), **(values or {})},
    )


def delete(table: str, key: Item, condition: str | None = None, values: Item | None = None) -> Write:
    """Remove an item, if it is there; without a condition for transactions whose other actions carry one."""
    return Write(
        kind=Kind.DELETE, table=table, key=key, body={"Key": key}, condition=condition, values=values or {}
    )


def check(table: str, key: Item, condition: str, values: Item | None = None) -> Write:
    """Write nothing, and let the transaction be done only if the condition holds."""
    return Write(
        kind=Kind.CHECK, table=table, key=key, body={"Key": key}, condition=condition, values=values or {}
    )


def as_read(read: Item, names: Iterable[str]) -> tuple[str, Item]:
    """The condition that attributes are what was read, present or absent, and its values."""
    asked = list(names)
    parts = [f"#{name} = :was_{name}" if name in read else f"attribute_not_exists(#{name})" for name in asked]
    return " AND ".join(parts), {f":was_{name}": read[name] for name in asked if name in read}


def names_in(*expressions: str) -> dict[str, str]:
    """The attribute names that expressions use, by placeholder."""
    return {f"#{name}": name for text in expressions for name in _PLACEHOLDER.findall(text)}
