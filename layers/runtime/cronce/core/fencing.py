"""Fencing for a job's own writes to DynamoDB: a row refuses who has been replaced.

A worker that stands still, is declared lost, and wakes up within a write cannot be stopped by its own checks.
The row can: it keeps the highest fencing token that wrote it, and a write carries the condition that no
higher one has.

    table.update_item(Key={"pk": "sku-1"}, **fenced_update({"count": 5}, run.fencing_token))

A refused write is DynamoDB's `ConditionalCheckFailedException`: let it pass, or stop.

The token of a run orders the runs of *one* job. Rows that several jobs write need the token of a lease that
they share (`cronce.lease`). Tokens of different origins must never meet in one attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FENCE = "fencing_token"
"""The attribute that keeps the token unless another name is given."""
_CONDITION = "attribute_not_exists(#fence) OR #fence <= :fence"


def fenced_update(values: Mapping[str, object], token: int, *, fence: str = FENCE) -> dict[str, Any]:
    """Arguments of `update_item` that set attributes, unless a higher token has written the row.

    Args:
        values: attributes to set, as `boto3.resource("dynamodb").Table` takes them.
        token: `run.fencing_token`, or that of a held lease.
        fence: the attribute that keeps the highest token.

    Returns:
        UpdateExpression, ConditionExpression and what they name; add `Key`.

    Raises:
        ValueError: the token is no whole number of at least 1, or `values` names the fence.

    Example:
        >>> fenced_update({"count": 5}, 7)["UpdateExpression"]
        'SET #fence = :fence, #value0 = :value0'
    """
    _check(values, token, fence)
    places = [(f"value{number}", name, value) for number, (name, value) in enumerate(values.items())]
    return {
        "UpdateExpression": ", ".join(["SET #fence = :fence", *(f"#{it} = :{it}" for it, _, _ in places)]),
        "ConditionExpression": _CONDITION,
        "ExpressionAttributeNames": {"#fence": fence, **{f"#{it}": name for it, name, _ in places}},
        "ExpressionAttributeValues": {":fence": token, **{f":{it}": value for it, _, value in places}},
    }


def fenced_put(item: Mapping[str, object], token: int, *, fence: str = FENCE) -> dict[str, Any]:
    """Arguments of `put_item` that write a whole row, unless a higher token has written it.

    Args:
        item: the row, key included, as `boto3.resource("dynamodb").Table` takes it.
        token: `run.fencing_token`, or that of a held lease.
        fence: the attribute that keeps the highest token.

    Returns:
        Item and ConditionExpression with what it names.

    Raises:
        ValueError: the token is no whole number of at least 1, or `item` names the fence.

    Example:
        >>> fenced_put({"pk": "sku-1", "count": 5}, 7)["Item"]
        {'pk': 'sku-1', 'count': 5, 'fencing_token': 7}
    """
    _check(item, token, fence)
    return {
        "Item": {**item, fence: token},
        "ConditionExpression": _CONDITION,
        "ExpressionAttributeNames": {"#fence": fence},
        "ExpressionAttributeValues": {":fence": token},
    }


def _check(values: Mapping[str, object], token: object, fence: str) -> None:
    if not isinstance(token, int) or isinstance(token, bool) or token < 1:
        raise ValueError(f"a fencing token is a whole number of at least 1, not {token!r}")
    if fence in values:
        raise ValueError(f"{fence!r} is the attribute of the fencing token: it is set here")
