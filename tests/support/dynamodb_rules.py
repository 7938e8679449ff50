"""Rules of DynamoDB that moto does not enforce: a request that breaks one fails the test that made it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

EXPRESSIONS = (
    "ConditionExpression",
    "UpdateExpression",
    "KeyConditionExpression",
    "FilterExpression",
    "ProjectionExpression",
)
VERBS = ("SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN")
FUNCTIONS = ("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size")
PLACEHOLDER = re.compile(r"[#:]\w+")
BARE_WORD = re.compile(r"(?<![#:\w])[A-Za-z_]\w*")


def check(operation: str, parameters: Mapping[str, Any]) -> None:
    """Judge a request.

    Raises:
        AssertionError: DynamoDB would refuse it, or it relies on a word not being reserved.
    """
    for request in _requests(operation, parameters):
        _check_expressions(request)
        for value in (
            *request.get("Item", {}).values(),
            *request.get("ExpressionAttributeValues", {}).values(),
        ):
            assert value not in ({"SS": []}, {"NS": []}), f"an empty set in {request}"
    if operation == "TransactWriteItems":
        actions = parameters["TransactItems"]
        assert 1 <= len(actions) <= 100, f"{len(actions)} actions"
        keys = [_key(request) for request in _requests(operation, parameters)]
        assert len(set(keys)) == len(keys), f"one item twice in {keys}"
    if operation == "BatchGetItem":
        for asked in parameters["RequestItems"].values():
            wanted = [str(sorted(key.items())) for key in asked["Keys"]]
            assert 1 <= len(wanted) <= 100, f"{len(wanted)} keys"
            assert len(set(wanted)) == len(wanted), f"one key twice in {wanted}"


def _requests(operation: str, parameters: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if operation == "TransactWriteItems":
        for action in parameters["TransactItems"]:
            yield from action.values()
    elif operation in {"PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query"}:
        yield parameters


def _key(request: Mapping[str, Any]) -> tuple[str, str]:
    key = request.get("Key") or {part: request["Item"][part] for part in ("pk", "sk")}
    return request["TableName"], str(sorted(key.items()))


def _check_expressions(request: Mapping[str, Any]) -> None:
    texts = [request[name] for name in EXPRESSIONS if name in request]
    assert all(texts), f"an empty expression in {request}"
    used = {placeholder for text in texts for placeholder in PLACEHOLDER.findall(text)}
    given = {*request.get("ExpressionAttributeNames", {}), *request.get("ExpressionAttributeValues", {})}
    assert used == given, f"placeholders used {sorted(used)}, given {sorted(given)}"
    words = {word for text in texts for word in BARE_WORD.findall(text)} - {*VERBS, *FUNCTIONS}
    assert not words, f"attributes without a placeholder, which may be reserved words: {sorted(words)}"
