"""The counter of units keeps to DynamoDB's published rules.

Invariants:
- sizes are rounded up to a KB for writes and to 4 KB for reads; a transaction costs twice as much;
- the larger of the item before and after counts, and a condition that fails costs as much as one that holds;
- the index costs what is put into it, changed in it or taken out of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from cronce_tools.local.moto_engine import behind
from tests.benchmarks.meter import Meter, Use, index_units, item_size, read_units, size_of, write_units

KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Meter]:
    """An empty table `runs`, and what counts."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    counting = Meter()
    with mock_aws(), behind(counting.gate):
        boto3.client("dynamodb").create_table(
            TableName="runs",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            BillingMode="PAY_PER_REQUEST",
        )
        counting.used.clear()
        yield counting


def used(meter: Meter, operation: str, **arguments: Any) -> Use:
    """What one call uses."""
    meter.phase = f"{len(meter.used)}"
    client: Any = boto3.client("dynamodb")
    getattr(client, operation)(**arguments)
    return meter.used[meter.phase]


def item(size: int, **more: Any) -> dict[str, Any]:
    """An item of so many bytes, without what is added."""
    return {**KEY, "x": {"S": "x" * (size - 7)}, **more}


@pytest.mark.parametrize("size, units", [(10, 1), (1024, 1), (1025, 2), (3000, 3)])
def test_a_write_costs_a_unit_for_each_kilobyte_begun(meter: Meter, size: int, units: int) -> None:
    assert used(meter, "put_item", TableName="runs", Item=item(size)) == Use(calls=1, writes=units)


def test_the_larger_of_before_and_after_counts(meter: Meter) -> None:
    used(meter, "put_item", TableName="runs", Item=item(3000))
    assert used(meter, "put_item", TableName="runs", Item=item(10)).writes == 3
    assert used(meter, "delete_item", TableName="runs", Key=KEY).writes == 1


def test_a_transaction_costs_twice_for_checks_too(meter: Meter) -> None:
    used(meter, "put_item", TableName="runs", Item=item(1500))
    other = {**KEY, "sk": {"S": "t"}}
    check = {"TableName": "runs", "Key": KEY, "ConditionExpression": "attribute_exists(pk)"}
    actions = [{"Put": {"TableName": "runs", "Item": other}}, {"ConditionCheck": check}]

    assert used(meter, "transact_write_items", TransactItems=actions) == Use(calls=1, writes=2 + 4)


def test_a_condition_that_fails_is_paid_for(meter: Meter) -> None:
    used(meter, "put_item", TableName="runs", Item=item(1500))
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        used(
            meter, "put_item", TableName="runs", Item=item(10), ConditionExpression="attribute_not_exists(pk)"
        )
    assert meter.used[meter.phase] == Use(calls=1, writes=2)


def test_an_entry_of_the_index_is_paid_for_as_it_moves(meter: Meter) -> None:
    due = {"due_kind": {"S": "job"}, "due_at": {"S": "1"}}
    units = [
        used(meter, "put_item", TableName="runs", Item=item(10, **values)).writes
        for values in (due, due, {**due, "status": {"S": "x"}}, {**due, "due_at": {"S": "2"}}, {})
    ]

    assert units == [1 + 1, 1, 1 + 1, 1 + 2, 1 + 1]


@pytest.mark.parametrize("strong, size, units", [(True, 10, 1), (False, 10, 0.5), (True, 4097, 2)])
def test_a_read_costs_a_unit_for_each_four_kilobytes_begun(
    meter: Meter, strong: bool, size: int, units: float
) -> None:
    used(meter, "put_item", TableName="runs", Item=item(size))
    query = {
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "ConsistentRead": strong,
    }

    assert used(meter, "get_item", TableName="runs", Key=KEY, ConsistentRead=strong).reads == units
    assert used(meter, "query", TableName="runs", **query).reads == units


def test_an_item_of_a_batch_is_paid_for_by_itself_also_one_that_is_not_there(meter: Meter) -> None:
    used(meter, "put_item", TableName="runs", Item=item(10))
    keys = [KEY, {**KEY, "sk": {"S": "t"}}]
    asked = {"runs": {"Keys": keys, "ConsistentRead": True}}

    assert used(meter, "batch_get_item", RequestItems=asked) == Use(calls=1, reads=2)


def test_nothing_is_counted_of_tables_that_are_not_cronces(meter: Meter) -> None:
    assert read_units(0, strong=False) == 0.5
    with pytest.raises(ClientError):
        used(meter, "get_item", TableName="others", Key=KEY)
    assert meter.used[meter.phase] == Use()


def test_sizes_are_those_of_names_and_values() -> None:
    assert item_size(None) == 0
    assert item_size({"pk": "ab", "n": 1}) == 2 + 2 + 1 + 2
    assert [size_of(value) for value in ("ü", True, None, 1234, ["a"], {"k": "v"})] == [2, 1, 1, 3, 5, 6]
    assert write_units(None, None) == 1
    assert index_units(None, None) == 0
