"""The rules of DynamoDB that moto does not enforce, and that every request of the tests is held to.

Invariants:
- a request that DynamoDB would refuse fails the test that made it, whatever moto says.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dynamodb_rules import check

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
GOOD: dict[str, Any] = {
    "TableName": "runs",
    "Key": KEY,
    "UpdateExpression": "SET #status = :new",
    "ConditionExpression": "attribute_exists(#pk) AND NOT #status BETWEEN :old AND :new",
    "ExpressionAttributeNames": {"#status": "status", "#pk": "pk"},
    "ExpressionAttributeValues": {":new": {"S": "x"}, ":old": {"S": "y"}},
}


def without(name: str, key: str) -> dict[str, Any]:
    """The good request less one placeholder."""
    return {**GOOD, name: {k: v for k, v in GOOD[name].items() if k != key}}


def test_a_good_request_passes() -> None:
    check("UpdateItem", GOOD)
    check(
        "TransactWriteItems", {"TransactItems": [{"Update": GOOD}, {"Put": {**GOOD_PUT, "TableName": "x"}}]}
    )


GOOD_PUT: dict[str, Any] = {"TableName": "runs", "Item": {**KEY, "slots": {"SS": ["a"]}}}


@pytest.mark.parametrize(
    "operation, request_made",
    [
        pytest.param("UpdateItem", without("ExpressionAttributeNames", "#pk"), id="name not given"),
        pytest.param("UpdateItem", without("ExpressionAttributeValues", ":old"), id="value not given"),
        pytest.param(
            "UpdateItem", {**GOOD, "ConditionExpression": "attribute_exists(#pk)"}, id="value not used"
        ),
        pytest.param("UpdateItem", {**GOOD, "UpdateExpression": ""}, id="nothing to write"),
        pytest.param(
            "UpdateItem", {**GOOD, "UpdateExpression": "SET status = :new"}, id="perhaps a reserved word"
        ),
        pytest.param("PutItem", {**GOOD_PUT, "Item": {**KEY, "slots": {"SS": []}}}, id="empty set"),
        pytest.param("TransactWriteItems", {"TransactItems": []}, id="no actions"),
        pytest.param("TransactWriteItems", {"TransactItems": 101 * [{"Put": GOOD_PUT}]}, id="101 actions"),
        pytest.param("TransactWriteItems", {"TransactItems": 2 * [{"Put": GOOD_PUT}]}, id="one item twice"),
        pytest.param("BatchGetItem", {"RequestItems": {"runs": {"Keys": 2 * [KEY]}}}, id="one key twice"),
        pytest.param(
            "BatchGetItem",
            {"RequestItems": {"runs": {"Keys": [{"pk": {"S": str(n)}} for n in range(101)]}}},
            id="101 keys",
        ),
    ],
)
def test_p88_a_request_that_dynamodb_would_refuse_does_not_pass(
    operation: str, request_made: dict[str, Any]
) -> None:
    with pytest.raises(AssertionError):
        check(operation, request_made)
