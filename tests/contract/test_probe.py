"""The probe that stands before tests of races finds engines that are no place for them.

Invariants:
- each way in which an engine may fail to be linearizable is found and named;
- every backend passes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cronce.testing import ManualClock
from tests.contract.conftest import refuse
from tests.contract.probe import THREADS, Client, Probe, problems_of
from tests.support.dynamodb_engine import RUNS, moto_engine

WAIT = 5.0
"""Seconds after which a thread that waits for the others goes on alone: more than any machine needs."""


@pytest.fixture
def client() -> Iterator[Any]:
    """A client of an engine that is linearizable."""
    with moto_engine(ManualClock()) as engine:
        yield engine.client


class Unconditional:
    """An engine that does every write."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.get_item = client.get_item

    def put_item(self, **request: Any) -> Any:
        return self._client.put_item(**_without_condition(request))

    def update_item(self, **request: Any) -> Any:
        return self._client.update_item(**_without_condition(request))

    def transact_write_items(self, **request: Any) -> Any:
        puts = [{"Put": _without_condition(action["Put"])} for action in request["TransactItems"]]
        return self._client.transact_write_items(TransactItems=puts)


def _without_condition(request: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in request.items() if name != "ConditionExpression"}
    if "UpdateExpression" in kept:
        text = kept["UpdateExpression"]
        kept["ExpressionAttributeValues"] = {
            name: value for name, value in kept["ExpressionAttributeValues"].items() if name in text
        }
    else:
        kept.pop("ExpressionAttributeNames", None)
    return kept


class Passing:
    """An engine that does all as it should; its children do one thing otherwise."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.put_item = client.put_item

    def get_item(self, **request: Any) -> Any:
        return self._client.get_item(**request)

    def update_item(self, **request: Any) -> Any:
        return self._client.update_item(**request)

    def transact_write_items(self, **request: Any) -> Any:
        return self._client.transact_write_items(**request)


class ReadsThenAdds(Passing):
    """An engine that adds in two steps: all threads read before the first of them writes."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._all_have_read = threading.Barrier(THREADS)

    def update_item(self, **request: Any) -> Any:
        if not request["UpdateExpression"].startswith("ADD") or request["Key"]["sk"]["S"] != "added":
            return super().update_item(**request)
        item = self._client.get_item(TableName=RUNS, Key=request["Key"], ConsistentRead=True).get("Item", {})
        self._all_have_read.wait(WAIT)
        number = {"N": str(int(item.get("number", {"N": "0"})["N"]) + 1)}
        self._client.put_item(TableName=RUNS, Item={**request["Key"], "number": number})
        return {"Attributes": {"number": number}}


class Tearing(Passing):
    """An engine whose transactions write each item on its own, and one of them is another's."""

    def transact_write_items(self, **request: Any) -> Any:
        answer = self._client.transact_write_items(**request)
        item = request["TransactItems"][1]["Put"]["Item"]
        self._client.put_item(TableName=RUNS, Item={**item, "number": {"N": "99"}})
        return answer


class Stale(Passing):
    """An engine whose reads are those of a replica that has stood still."""

    def get_item(self, **request: Any) -> Any:
        if request["Key"]["sk"]["S"] == "read":
            return {"Item": {**request["Key"], "number": {"N": "0"}}}
        return super().get_item(**request)


BROKEN: list[tuple[Any, Callable[[Probe], list[str]], str]] = [
    (Unconditional, Probe.one_winner, "16 conditional puts of one item were done"),
    (Unconditional, Probe.whole, "16 transactions on the same items were done"),
    (Unconditional, Probe.no_lost_update, "compare-and-sets"),
    (ReadsThenAdds, Probe.no_lost_addition, "45 additions were answered with the sum of another one"),
    (ReadsThenAdds, Probe.no_lost_addition, "of 48 additions 3 were counted"),
    (Tearing, Probe.whole, "the other from 99"),
    (Stale, Probe.no_old_read, "a consistent read saw 0 after"),
]


@pytest.mark.parametrize("broken, asked, said", BROKEN)
def test_an_engine_that_is_not_linearizable_is_found(
    client: Any, broken: Any, asked: Callable[[Probe], list[str]], said: str
) -> None:
    assert said in "; ".join(asked(Probe(broken(client), RUNS)))


def test_the_probe_asks_all_its_questions_and_passes_an_engine_that_answers_them(client: Any) -> None:
    questions = {name for name in vars(Probe) if not name.startswith("_")}

    assert {asked.__name__ for _, asked, _ in BROKEN} == questions
    assert problems_of(Passing(client), RUNS) == []


@pytest.mark.usefixtures("linearizable")
def test_every_backend_is_a_place_for_tests_of_races(
    request: pytest.FixtureRequest, probed: dict[str, list[str]]
) -> None:
    assert probed[request.node.callspec.params["make_backend"]] == []


def test_a_backend_that_is_none_is_refused_by_name_and_reason() -> None:
    refuse("sound", [])
    with pytest.raises(pytest.fail.Exception, match="backend broken is not linearizable: 2 puts were done"):
        refuse("broken", ["2 puts were done"])
