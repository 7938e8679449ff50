"""The stores that the contract is held to: every test here runs once per backend.

`CRONCE_TEST_DYNAMODB=http://127.0.0.1:8000` names a DynamoDB Local to be held to it as well.

To add one, write a context manager that takes a clock and yields a `Backend`; give it a line in `BACKENDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from cronce.testing import ManualClock
from tests.contract.backends import Backend, memory
from tests.support.dynamodb_backend import ENDPOINT, endpoint, moto

BACKENDS: dict[str, Callable[[ManualClock], AbstractContextManager[Backend]]] = {
    "memory": memory,
    "moto": moto,
    **({"endpoint": endpoint} if ENDPOINT else {}),
}


@pytest.fixture
def clock() -> ManualClock:
    """The engine's clock."""
    return ManualClock()


@pytest.fixture(params=list(BACKENDS))
def backend(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Backend]:
    """An empty store of each kind in turn."""
    with BACKENDS[request.param](clock) as store:
        yield store
