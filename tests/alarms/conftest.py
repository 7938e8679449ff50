"""The template as it is deployed with its defaults."""

import pytest

from tests.template.stack import Stack


@pytest.fixture(scope="session")
def deployed() -> Stack:
    """A stack that is deployed with the defaults."""
    return Stack.load().under()
