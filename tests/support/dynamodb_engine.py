"""DynamoDB for tests: moto in this process, the emulator's engine, or one at an address that somebody names.

moto accepts requests that DynamoDB refuses; `dynamodb_rules` makes up for that. The rest of what it lacks is
in `cronce_tools.local.moto_engine`. It is not thread-safe, so it sees one call at a time; the others see
calls at the same time, as the real store does.

`CRONCE_TEST_DYNAMODB=http://127.0.0.1:8000` names a DynamoDB Local, Amazon's own engine: the tests of the
DynamoDB stores then run on it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from botocore.client import BaseClient

from cronce.aws.dynamodb import make_client
from cronce.testing import ManualClock
from cronce_tools.emulator.process import Endpoint
from cronce_tools.local.moto_engine import Proceed, behind, moto_behind
from tests.support import dynamodb_rules
from tests.support.tables import create_tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Fault = Callable[[str, Proceed], Any]
"""Given a call's name and a way to make it: makes it, or not, or twice; returns its answer or raises."""

RUNS, STEPS = "runs", "steps"
_KEYS = count()


@dataclass
class Engine:
    """What a test sees of the store's engine.

    Attributes:
        clock: dates the answers.
        client: of DynamoDB.
        fault: what happens to calls; None = nothing.
        calls: names of the calls made so far.
        requests: their parameters.
        one_at_a_time: calls wait for each other.
    """

    clock: ManualClock
    client: DynamoDBClient
    fault: Fault | None = None
    calls: list[str] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    one_at_a_time: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def gate(self, client: BaseClient, operation: str, parameters: dict[str, Any], proceed: Proceed) -> Any:
        """What every call passes."""
        with self._lock if self.one_at_a_time else nullcontext():
            self.calls.append(operation)
            self.requests.append(parameters)
            dynamodb_rules.check(operation, parameters)
            return self.fault(operation, proceed) if self.fault else proceed()

    def made(self) -> Engine:
        """The engine with both tables, empty."""
        create_tables(self.client, RUNS, STEPS)
        self.calls.clear()
        self.requests.clear()
        return self

    def items(self, table: str = RUNS) -> list[dict[str, Any]]:
        """Everything in a table."""
        pages = self.client.get_paginator("scan").paginate(TableName=table)
        return [dict(item) for page in pages for item in page["Items"]]


@cache
def _client() -> DynamoDBClient:
    """One client for all tests: making one takes longer than most tests."""
    return make_client(region_name="eu-west-1", aws_access_key_id="test", aws_secret_access_key="test")


@contextmanager
def moto_engine(clock: ManualClock) -> Iterator[Engine]:
    """An engine with both tables, empty, until the end of the block."""
    engine = Engine(clock, _client(), one_at_a_time=True)
    with moto_behind(engine.gate, clock.now):
        yield engine.made()


def client_of(emulator: Endpoint) -> DynamoDBClient:
    """A client of the emulator's engine."""
    return make_client(
        endpoint_url=emulator.url,
        region_name=emulator.region,
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


@contextmanager
def emulator_engine(clock: ManualClock, client: DynamoDBClient) -> Iterator[Engine]:
    """The emulator's engine, with tables of this block's own."""
    engine = Engine(clock, client)
    with behind(engine.gate):
        try:
            yield engine.made()
        finally:
            for table in client.list_tables()["TableNames"]:
                client.delete_table(TableName=table)


@contextmanager
def endpoint_engine(clock: ManualClock, url: str) -> Iterator[Engine]:
    """The engine at an address. Its databases are apart by access key, so each test has a new one."""
    key = f"test{next(_KEYS)}x{secrets.token_hex(4)}"
    client = make_client(
        endpoint_url=url, region_name="eu-west-1", aws_access_key_id=key, aws_secret_access_key="test"
    )
    engine = Engine(clock, client)
    with behind(engine.gate):
        yield engine.made()
    client.close()
