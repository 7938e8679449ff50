"""A store in which every port call succeeds, and what a test may let go wrong in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError

from cronce.testing import ManualClock
from cronce_tools.local.moto_engine import Proceed
from tests.support.dynamodb_backend import DynamoBackend, dynamodb
from tests.support.dynamodb_engine import STEPS, Fault
from tests.support.port_calls import CALLS, fill

Stored = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """What a port call does when nothing goes wrong: its answer, and what is stored then."""

    answer: Any
    stored: Stored


def everything(store: DynamoBackend) -> Stored:
    """All items of both tables, without the mark that tells two equal alerts apart."""
    items = [*store.engine.items(), *store.engine.items(STEPS)]
    return [{name: value for name, value in item.items() if name != "written_by"} for item in items]


def undisturbed(name: str) -> Undisturbed:
    """What a call does when nothing goes wrong. Not to be asked while another store is up."""
    with dynamodb(ManualClock()) as backend:
        fill(backend)
        answer = CALLS[name].make(backend)
        return Undisturbed(answer=answer, stored=everything(backend))


@contextmanager
def filled_store() -> Iterator[DynamoBackend]:
    """A store in which every call succeeds."""
    with dynamodb(ManualClock()) as backend:
        fill(backend)
        yield backend


def conflict(operation: str, *codes: str) -> ClientError:
    """What DynamoDB says of a write that met another one; of a transaction, action by action."""
    if not codes:
        return ClientError({"Error": {"Code": "TransactionConflictException", "Message": ""}}, operation)
    reasons = [{"Code": code} for code in codes]
    error: Any = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}
    return ClientError(error, operation)


def executed_twice(_operation: str, proceed: Proceed) -> Any:
    """The reply is lost, and the SDK sends the request once more."""
    proceed()
    return proceed()


def reply_lost_once() -> Fault:
    """The first reply is lost for good."""
    first = iter([True])

    def fault(_operation: str, proceed: Proceed) -> Any:
        answer = proceed()
        if next(first, False):
            raise ConnectionClosedError(endpoint_url="https://store")
        return answer

    return fault


def conflicts(store: DynamoBackend, times: int) -> Fault:
    """So many calls meet another transaction."""
    seen = count(1)

    def fault(operation: str, proceed: Proceed) -> Any:
        if next(seen) > times:
            return proceed()
        actions = len(store.engine.requests[-1].get("TransactItems", ()))
        raise conflict(operation, *["TransactionConflict", *["None"] * actions][:actions])

    return fault
