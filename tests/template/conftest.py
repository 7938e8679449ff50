"""The template is translated once for all tests of this folder."""

import pytest

from tests.template.stack import Stack


@pytest.fixture(scope="session")
def stack() -> Stack:
    return Stack.load()
