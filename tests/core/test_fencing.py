"""Fencing for a job's own writes.

Invariants:
- a row is written by the highest token that it has seen, or by that one again, and by no lower one;
- both forms of write keep the token in the row, under the name that was asked for;
- names of attributes that DynamoDB reserves do no harm;
- what is no token is refused before anything is sent;
- the SQL of docs/leases.md holds to the same.
"""

from __future__ import annotations

import doctest
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from cronce.core import fencing
from cronce.core.fencing import fenced_put, fenced_update

PAGE = (Path(__file__).resolve().parents[2] / "docs/leases.md").read_text()
Write = Callable[[dict[str, Any], int], bool]


@pytest.fixture
def table() -> Iterator[Any]:
    with mock_aws():
        yield boto3.resource(
            "dynamodb", region_name="eu-west-1", aws_access_key_id="test", aws_secret_access_key="test"
        ).create_table(
            TableName="rows",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )


def written(write: Callable[..., object], **arguments: Any) -> bool:
    try:
        write(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return False
    return True


@pytest.fixture(params=["update", "put"])
def write(request: pytest.FixtureRequest, table: Any) -> Write:
    def update(values: dict[str, Any], token: int) -> bool:
        return written(table.update_item, Key={"pk": "row"}, **fenced_update(values, token))

    def put(values: dict[str, Any], token: int) -> bool:
        return written(table.put_item, **fenced_put({"pk": "row", **values}, token))

    return update if request.param == "update" else put


def row(table: Any) -> dict[str, Any]:
    item: dict[str, Any] = table.get_item(Key={"pk": "row"})["Item"]
    return item


def test_a_lower_token_is_refused_and_changes_nothing(table: Any, write: Write) -> None:
    assert write({"count": 12}, 6)
    assert not write({"count": 99}, 5)
    assert row(table) == {"pk": "row", "count": 12, "fencing_token": 6}


def test_the_same_and_a_higher_token_write(table: Any, write: Write) -> None:
    assert [write({"count": token}, token) for token in (6, 6, 7)] == [True, True, True]
    assert row(table) == {"pk": "row", "count": 7, "fencing_token": 7}


def test_a_row_that_was_never_fenced_takes_any_token(table: Any, write: Write) -> None:
    table.put_item(Item={"pk": "row", "count": 1})
    assert write({"count": 2}, 1)
    assert row(table) == {"pk": "row", "count": 2, "fencing_token": 1}


def test_an_update_leaves_the_other_attributes(table: Any) -> None:
    table.put_item(Item={"pk": "row", "name": "soup"})
    table.update_item(Key={"pk": "row"}, **fenced_update({"count": 2}, 1))
    assert row(table) == {"pk": "row", "name": "soup", "count": 2, "fencing_token": 1}


def test_an_update_without_values_claims_the_row(table: Any) -> None:
    table.update_item(Key={"pk": "row"}, **fenced_update({}, 4))
    assert row(table) == {"pk": "row", "fencing_token": 4}


def test_reserved_words_and_odd_names_are_only_names(table: Any, write: Write) -> None:
    values = {"size": 1, "name": "x", "a.b": 2, "#fence": 3, "value0": 4}
    assert write(values, 1)
    assert row(table) == {"pk": "row", "fencing_token": 1, **values}


def test_the_fence_may_have_another_name(table: Any) -> None:
    table.put_item(**fenced_put({"pk": "row"}, 3, fence="writer"))
    assert row(table) == {"pk": "row", "writer": 3}
    assert not written(table.update_item, Key={"pk": "row"}, **fenced_update({}, 2, fence="writer"))


@pytest.mark.parametrize("token", [0, -1, True, 1.0, "1", None])
def test_what_is_no_token_is_refused(token: Any) -> None:
    for make in (fenced_update, fenced_put):
        with pytest.raises(ValueError, match="a fencing token is a whole number of at least 1"):
            make({"pk": "row"}, token)


def test_the_fence_is_not_to_be_set_by_hand() -> None:
    for make in (fenced_update, fenced_put):
        with pytest.raises(ValueError, match="'fencing_token' is the attribute of the fencing token"):
            make({"fencing_token": 9}, 3)


def test_the_examples_run() -> None:
    assert doctest.testmod(fencing) == doctest.TestResults(failed=0, attempted=2)


def statements() -> list[str]:
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    return [part.strip() for part in block.split(";") if part.strip()]


def test_the_sql_of_the_page_refuses_a_lower_token_too() -> None:
    create, update, upsert = statements()
    database = sqlite3.connect(":memory:")
    database.execute(create)

    def changed(sql: str, level: int, token: int) -> int:
        return database.execute(sql, {"article": "sku-1", "level": level, "token": token}).rowcount

    assert [changed(upsert, 10, 5), changed(update, 11, 6), changed(update, 12, 6)] == [1, 1, 1]
    assert [changed(update, 99, 5), changed(upsert, 99, 5)] == [0, 0]
    assert changed(upsert, 13, 7) == 1
    assert database.execute("SELECT level, fencing_token FROM stock").fetchall() == [(13, 7)]
    database.close()
