"""DynamoDB in this process: moto behind one lock, dated by the test's clock, with faults on demand.

moto is not thread-safe (conditional writes had several winners), dates its answers by the host's clock, and accepts
requests that DynamoDB refuses; the lock, the clock and `dynamodb_rules` make up for that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import moto.core.responses
from botocore.client import BaseClient
from moto import mock_aws

from cronce.aws.dynamodb import make_client
from cronce.testing import ManualClock
from tests.support import dynamodb_rules
from tests.support.tables import create_tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Proceed = Callable[[], Any]
Fault = Callable[[str, Proceed], Any]
"""Given a call's name and a way to make it: makes it, or not, or twice; returns its answer or raises."""

RUNS, STEPS = "runs", "steps"
_ORIGINAL_CALL = BaseClient._make_api_call
_ORIGINAL_DATE = moto.core.responses.utcnow


@dataclass
class Engine:
    """What a test sees of the store's engine.

    Attributes:
        clock: dates the answers.
        client: of DynamoDB, with both tables made.
        fault: what happens to calls; None = nothing.
        calls: names of the calls made so far.
    """

    clock: ManualClock
    client: DynamoDBClient = field(init=False)
    fault: Fault | None = None
    calls: list[str] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def call(self, client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        """The gate that every call passes, one at a time."""
        with self._lock:
            self.calls.append(operation)
            dynamodb_rules.check(operation, parameters)

            def proceed() -> Any:
                return _ORIGINAL_CALL(client, operation, parameters)

            return self.fault(operation, proceed) if self.fault else proceed()

    def items(self, table: str = RUNS) -> list[dict[str, Any]]:
        """Everything in a table."""
        return [dict(item) for item in self.client.scan(TableName=table)["Items"]]


@contextmanager
def moto_engine(clock: ManualClock) -> Iterator[Engine]:
    """An engine with both tables, until the end of the block."""
    engine = Engine(clock)

    def call(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        return engine.call(client, operation, parameters)

    with mock_aws():
        BaseClient._make_api_call = call  # type: ignore[method-assign]
        moto.core.responses.utcnow = lambda: clock.now().replace(tzinfo=None)
        try:
            engine.client = make_client(region_name="eu-west-1")
            create_tables(engine.client, RUNS, STEPS)
            engine.calls.clear()
            yield engine
        finally:
            BaseClient._make_api_call = _ORIGINAL_CALL  # type: ignore[method-assign]
            moto.core.responses.utcnow = _ORIGINAL_DATE
