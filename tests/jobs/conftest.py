"""Fixtures for tests of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from cronce_tools.local import stack


@pytest.fixture
def local_stack() -> Iterator[stack.StartStack]:
    """The deployed system in this process from an instant on, until the end of the test.

    AWS is in memory, the tables of the template are there, and the clock moves when the test says so.
    """
    with ExitStack() as running:
        yield lambda start: running.enter_context(stack.local_stack(start))
