"""Compares the counter of units with an engine that reports them, call by call.

The emulator of `make e2e` reports plain writes and transactions rightly, and reads of less than 4 KB. It
takes larger reads and queries for small ones and is silent about batches, so those are not compared. moto
answers the same number for any item.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3

from cronce_tools.emulator.process import Emulator
from cronce_tools.local.moto_engine import behind
from tests.benchmarks.meter import Meter

TABLE = "runs"
KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
OTHER = {"pk": {"S": "p"}, "sk": {"S": "other"}}


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One call.

    Attributes:
        name: what it was.
        engine: units that the engine reported.
        meter: units that were counted.
    """

    name: str
    engine: float
    meter: float


def compared() -> Iterator[Compared]:
    """Make calls against the engine that the environment names, which has no such table yet."""
    meter = Meter()
    with behind(meter.gate):
        client: Any = boto3.client("dynamodb")
        client.create_table(
            TableName=TABLE,
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in KEY],
            BillingMode="PAY_PER_REQUEST",
        )
        for name, operation, arguments in _calls():
            meter.phase = name
            answer = getattr(client, operation)(ReturnConsumedCapacity="TOTAL", **arguments)
            reported = answer["ConsumedCapacity"]
            parts = reported if isinstance(reported, list) else [reported]
            use = meter.used[name]
            yield Compared(
                name=name, engine=sum(part["CapacityUnits"] for part in parts), meter=use.writes + use.reads
            )


def _calls() -> Iterator[tuple[str, str, dict[str, Any]]]:
    def put(size: int, key: dict[str, Any]) -> dict[str, Any]:
        return {"TableName": TABLE, "Item": {**key, "x": {"S": "x" * size}}}

    update = {
        "TableName": TABLE,
        "Key": KEY,
        "UpdateExpression": "SET y = :y",
        "ExpressionAttributeValues": {":y": {"S": "y" * 2000}},
    }
    check = {"TableName": TABLE, "Key": KEY, "ConditionExpression": "attribute_exists(pk)"}
    yield "put of a small item", "put_item", put(10, KEY)
    yield "put of 3 KB", "put_item", put(3000, KEY)
    yield "put of a small item over 3 KB", "put_item", put(10, KEY)
    yield "update to 2 KB", "update_item", update
    actions = [{"Put": put(10, OTHER)}, {"ConditionCheck": check}]
    yield "transaction of a put and a check", "transact_write_items", {"TransactItems": actions}
    yield "strong read", "get_item", {"TableName": TABLE, "Key": KEY, "ConsistentRead": True}
    yield "eventual read", "get_item", {"TableName": TABLE, "Key": KEY}
    yield "put of 9 KB", "put_item", put(9000, KEY)
    yield "deletion of 9 KB", "delete_item", {"TableName": TABLE, "Key": KEY}


def main() -> None:
    """Print both figures of each call.

    Raises:
        SystemExit: they differ somewhere.
    """
    with Emulator() as emulator:
        os.environ.update(emulator.endpoint.environment())
        rows = list(compared())
    print("units of a call: the emulator's, and counted")
    for row in rows:
        print(f"  {row.name:<34} {row.engine:5.1f} {row.meter:5.1f}")
    if any(row.engine != row.meter for row in rows):
        raise SystemExit("the counter and the emulator differ")


if __name__ == "__main__":
    main()
