"""What DynamoDB takes in one call, looked at before anything is sent.

The store would refuse too, but with an error that names neither item nor size, and the engines used in tests
do not refuse all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cronce.aws.attributes import place
from cronce.aws.writes import Write
from cronce.core.errors import RefusedError

TRANSACTION_ACTIONS = 100
TRANSACTION_BYTES = 4 * 1024 * 1024
ITEM_BYTES = 400 * 1024
BATCH_READ = 100
"""Items of one BatchGetItem."""
SORT_KEY_BYTES = 1024
_NUMBER_BYTES = 21
"""A number takes at most this; its digits are not counted one by one."""


def item_bytes(item: Mapping[str, Any]) -> int:
    """Size of an item as DynamoDB counts it: names and values; never less than the real one."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(attribute: Mapping[str, Any]) -> int:
    tag, value = next(iter(attribute.items()))
    match tag:
        case "S":
            return len(value.encode())
        case "SS":
            return sum(len(text.encode()) for text in value)
        case "N":
            return min(_NUMBER_BYTES, len(value) + 1)
        case "M":
            return 3 + sum(len(name.encode()) + 1 + _value_bytes(part) for name, part in value.items())
        case "L":
            return 3 + sum(1 + _value_bytes(part) for part in value)
    return 1


def check_write(operation: str, write: Write) -> None:
    """Refuse an item or key that is too large.

    Raises:
        RefusedError: with the item's key and size.
    """
    size = item_bytes(write.body.get("Item", {}))
    if size > ITEM_BYTES:
        raise RefusedError(
            f"{operation}: item {place(write.key)} takes {size} bytes; an item takes {ITEM_BYTES}"
        )
    size = len(write.key["sk"]["S"].encode())
    if size > SORT_KEY_BYTES:
        raise RefusedError(
            f"{operation}: sort key {place(write.key)[:100]}... takes {size} bytes; it takes {SORT_KEY_BYTES}"
        )


def check_transaction(operation: str, writes: Sequence[Write]) -> None:
    """Refuse a transaction that is too large, or that touches an item twice.

    Raises:
        RefusedError: with what is too much.
    """
    if len(writes) > TRANSACTION_ACTIONS:
        raise RefusedError(
            f"{operation}: {len(writes)} actions in one transaction; it takes {TRANSACTION_ACTIONS}"
        )
    places = [(write.table, place(write.key)) for write in writes]
    twice = next((at for at in places if places.count(at) > 1), None)
    if twice:
        raise RefusedError(f"{operation}: two actions of one transaction are on item {twice[1]}")
    for write in writes:
        check_write(operation, write)
    size = sum(item_bytes(write.body.get("Item", write.key)) + item_bytes(write.values) for write in writes)
    if size > TRANSACTION_BYTES:
        raise RefusedError(f"{operation}: {size} bytes in one transaction; it takes {TRANSACTION_BYTES}")
