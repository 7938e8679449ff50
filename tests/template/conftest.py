"""The template is translated once for all tests of this folder."""

import pytest

from tests.template.stack import Stack


@pytest.fixture(scope="session")
def stack() -> Stack:
    """All that the template says, conditions included."""
    return Stack.load()


@pytest.fixture(scope="session")
def plain(stack: Stack) -> Stack:
    """A stack that is deployed with the defaults."""
    return stack.under()


@pytest.fixture(scope="session")
def with_key(stack: Stack) -> Stack:
    """The same with a KMS key of one's own."""
    return stack.under("HasKmsKey")
