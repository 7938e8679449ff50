"""The stores that the contract is held to: every test here runs once per backend.

- `memory`: the store that job authors get;
- `moto`: DynamoDB's stores, in this process;
- `emulator`: DynamoDB's stores on local AWS, which sees calls at the same time. `make contract` installs it;
- `endpoint`: a DynamoDB Local, if `CRONCE_TEST_DYNAMODB=http://127.0.0.1:8000` names one.

To add one, write a context manager that takes a clock and yields a `Backend`; give it a line in `BACKENDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest

from cronce.testing import ManualClock
from cronce_tools.emulator.process import PYTHON, Emulator
from tests.contract.backends import Backend, memory
from tests.contract.probe import problems_of
from tests.support.dynamodb_backend import ENDPOINT, DynamoBackend, emulated, endpoint, moto
from tests.support.dynamodb_engine import RUNS, client_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MakeBackend = Callable[[ManualClock], AbstractContextManager[Backend]]
EMULATOR = "emulator"
BACKENDS: dict[str, MakeBackend] = {
    "memory": memory,
    "moto": moto,
    **({"endpoint": endpoint} if ENDPOINT else {}),
}
"""Those that a test can make by itself."""
KINDS = [*BACKENDS, *([EMULATOR] if PYTHON.exists() else [])]
"""Those that are here."""


def pytest_report_header() -> str:
    """Which stores are held to the contract, and what is missing."""
    missing = "" if EMULATOR in KINDS else "; `make contract` installs local AWS and adds it"
    return f"stores held to the contract: {', '.join(KINDS)}{missing}"


@pytest.fixture(scope="session")
def emulator() -> Iterator[DynamoDBClient]:
    """The emulator's engine: one process for all tests."""
    with Emulator(enforce_iam=False) as running:
        client = client_of(running.endpoint)
        yield client
        client.close()


@pytest.fixture
def clock() -> ManualClock:
    """The engine's clock."""
    return ManualClock()


@pytest.fixture(params=KINDS)
def make_backend(request: pytest.FixtureRequest) -> MakeBackend:
    """How to make an empty store of each kind in turn."""
    if request.param in BACKENDS:
        return BACKENDS[request.param]
    client = request.getfixturevalue("emulator")
    return lambda clock: emulated(clock, client)


@pytest.fixture
def backend(make_backend: MakeBackend, clock: ManualClock) -> Iterator[Backend]:
    """An empty store of each kind in turn."""
    with make_backend(clock) as store:
        yield store


@pytest.fixture(scope="session")
def probed() -> dict[str, list[str]]:
    """What the probe said of each backend so far."""
    return {}


def refuse(name: str, problems: Sequence[str]) -> None:
    """Fail a test whose backend has problems of its own."""
    if problems:
        pytest.fail(f"backend {name} is not linearizable: {'; '.join(problems)}", pytrace=False)


@pytest.fixture
def linearizable(
    request: pytest.FixtureRequest, make_backend: MakeBackend, probed: dict[str, list[str]]
) -> None:
    """Refuses a backend that is no place for tests of races: they would say nothing about cronce."""
    name = request.node.callspec.params["make_backend"]
    if name not in probed:
        with make_backend(ManualClock()) as store:
            probed[name] = problems_of(store.engine.client, RUNS) if isinstance(store, DynamoBackend) else []
    refuse(name, probed[name])
