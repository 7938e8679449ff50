"""Is an engine linearizable? Asked of the engine itself, before it is used for tests of races.

A store that lets two conditional writes win, loses an update, tears a transaction or answers a consistent
read with an older value makes every test of races say something about the store, and nothing about cronce.

Sixteen threads, some hundred calls. It finds an engine that checks and writes in two steps at once; it proves
nothing about one that does so once in a million calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from botocore.exceptions import ClientError

THREADS = 16
ROUNDS = 3
"""Of the races that have one winner."""
EACH = 3
"""Updates of each thread where all must count."""
TRIES = 500
"""Of one compare-and-set; more than all others together can make fail."""
LOST = ("ConditionalCheckFailedException", "TransactionCanceledException", "TransactionConflictException")
T = TypeVar("T")


class Client(Protocol):
    """The calls of a DynamoDB client that the probe makes."""

    def put_item(self, **request: Any) -> Any: ...
    def get_item(self, **request: Any) -> Any: ...
    def update_item(self, **request: Any) -> Any: ...
    def transact_write_items(self, **request: Any) -> Any: ...


def problems_of(client: Any, table: str) -> list[str]:
    """What is wrong with an engine; nothing = it may be used for tests of races.

    Args:
        client: of DynamoDB.
        table: with keys `pk` and `sk`, whose partition `PROBE` is free.
    """
    probe = Probe(client, table)
    checks = (probe.one_winner, probe.no_lost_update, probe.no_lost_addition, probe.whole, probe.no_old_read)
    return [problem for check in checks for problem in check()]


def at_once(work: Callable[[int], T]) -> list[T]:
    """Do the work in sixteen threads that start together."""
    start = threading.Barrier(THREADS)

    def one(number: int) -> T:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


class Probe:
    """The questions.

    Args:
        client: of DynamoDB.
        table: where it may write.
    """

    def __init__(self, client: Client, table: str) -> None:
        self._client = client
        self._table = table

    def one_winner(self) -> list[str]:
        """Of sixteen puts of one item that must not exist, one is done, and its value is stored."""
        for turn in range(ROUNDS):
            won = at_once(lambda number, turn=turn: self._put(f"put-{turn}", number))  # type: ignore[misc]
            winners = [number for number, done in enumerate(won) if done]
            if len(winners) != 1:
                return [f"{len(winners)} conditional puts of one item were done"]
            if self._value(f"put-{turn}") != winners[0]:
                return ["the value of another put than the one that was done is stored"]
        return []

    def no_lost_update(self) -> list[str]:
        """A number that is read and written on the condition that it is as read counts every write."""

        def work(_number: int) -> None:
            for _ in range(EACH):
                if not any(self._increment("compared") for _ in range(TRIES)):
                    raise AssertionError("a compare-and-set never got through")

        at_once(work)
        return self._counted("compared", "compare-and-sets")

    def no_lost_addition(self) -> list[str]:
        """ADD counts every addition, and answers each with another sum."""

        def work(_number: int) -> list[int]:
            return [self._add("added") for _ in range(EACH)]

        sums = [number for numbers in at_once(work) for number in numbers]
        twice = len(sums) - len(set(sums))
        said = [f"{twice} additions were answered with the sum of another one"] if twice else []
        return said + self._counted("added", "additions")

    def whole(self) -> list[str]:
        """Of sixteen transactions that put the same two items, one is done, with both."""
        for turn in range(ROUNDS):
            keys = f"left-{turn}", f"right-{turn}"
            done = at_once(lambda number, keys=keys: self._put_both(keys, number))  # type: ignore[misc]
            left, right = (self._value(key) for key in keys)
            if done.count(True) != 1:
                return [f"{done.count(True)} transactions on the same items were done"]
            if not left == right == done.index(True):
                return [f"of one transaction, the one item is from {left}, the other from {right}"]
        return []

    def no_old_read(self) -> list[str]:
        """A consistent read that begins after a write was acknowledged sees it."""
        acknowledged = [0]
        old: list[str] = []

        def work(number: int) -> None:
            for _ in range(EACH):
                if number == 0:  # it reads what it wrote, too
                    acknowledged[0] = self._add("read")
                known = acknowledged[0]
                seen = self._value("read") or 0
                if seen < known:
                    old.append(f"a consistent read saw {seen} after {known} was acknowledged")

        at_once(work)
        return old[:1]

    def _key(self, name: str) -> dict[str, Any]:
        return {"pk": {"S": "PROBE"}, "sk": {"S": name}}

    def _put(self, name: str, number: int) -> bool:
        return self._won(self._client.put_item, **self._absent(name, number))

    def _put_both(self, names: Sequence[str], number: int) -> bool:
        actions = [{"Put": self._absent(name, number)} for name in names]
        return self._won(self._client.transact_write_items, TransactItems=actions)

    def _absent(self, name: str, number: int) -> dict[str, Any]:
        return {
            "TableName": self._table,
            "Item": {**self._key(name), "number": {"N": str(number)}},
            "ConditionExpression": "attribute_not_exists(#pk)",
            "ExpressionAttributeNames": {"#pk": "pk"},
        }

    def _increment(self, name: str) -> bool:
        seen = self._value(name)
        values = {":next": {"N": str((seen or 0) + 1)}}
        if seen is not None:
            values[":seen"] = {"N": str(seen)}
        return self._won(
            self._client.update_item,
            TableName=self._table,
            Key=self._key(name),
            UpdateExpression="SET #number = :next",
            ConditionExpression="attribute_not_exists(#number)" if seen is None else "#number = :seen",
            ExpressionAttributeNames={"#number": "number"},
            ExpressionAttributeValues=values,
        )

    def _add(self, name: str) -> int:
        answer = self._client.update_item(
            TableName=self._table,
            Key=self._key(name),
            UpdateExpression="ADD #number :one",
            ExpressionAttributeNames={"#number": "number"},
            ExpressionAttributeValues={":one": {"N": "1"}},
            ReturnValues="UPDATED_NEW",
        )
        return int(answer["Attributes"]["number"]["N"])

    def _value(self, name: str) -> int | None:
        answer = self._client.get_item(TableName=self._table, Key=self._key(name), ConsistentRead=True)
        return int(answer["Item"]["number"]["N"]) if "Item" in answer else None

    def _counted(self, name: str, what: str) -> list[str]:
        found = self._value(name)
        return [] if found == THREADS * EACH else [f"of {THREADS * EACH} {what} {found} were counted"]

    @staticmethod
    def _won(write: Callable[..., Any], **request: Any) -> bool:
        try:
            write(**request)
        except ClientError as error:
            if error.response["Error"]["Code"] in LOST:
                return False
            raise
        return True
