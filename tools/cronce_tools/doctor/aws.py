"""AWS as an examination asks it: every page, and a refusal says which permission it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

Answer = dict[str, Any]

GONE = frozenset(
    {
        "ResourceNotFoundException",
        "NotFound",
        "NotFoundException",
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
    }
)
"""How services say that there is no such thing."""
REFUSED = ("AccessDenied", "AuthorizationError", "UnauthorizedOperation")
"""How the codes begin by which they say that the caller may not."""
MANY_PAGES = 20
"""Pages of one answer that are read: an account may have a million schedules, and nobody waits for them."""


class RefusedError(Exception):
    """The caller may not ask this.

    Attributes:
        action: the permission that is missing.
    """

    def __init__(self, action: str) -> None:
        super().__init__(action)
        self.action = action


class TooManyError(Exception):
    """There is more of something than is looked at. The message says of what."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aws:
    """Calls of one account and Region.

    Attributes:
        client: makes the client of a service.
    """

    client: Callable[[str], Any]
    _made: dict[str, Any] = field(default_factory=dict)

    def ask(self, service: str, operation: str, **parameters: object) -> Answer:
        """One call.

        Args:
            service: such as `lambda`.
            operation: as the client's methods are called, such as `get_alias`.
            parameters: of the call.

        Raises:
            RefusedError: the caller may not.
            ClientError: AWS refused for another reason.
        """
        if service not in self._made:
            self._made[service] = self.client(service)
        try:
            answer: Answer = getattr(self._made[service], operation)(**parameters)
        except ClientError as error:
            if is_refusal(error):
                raise RefusedError(action_of(service, error)) from error
            raise
        return answer

    def find(self, service: str, operation: str, **parameters: object) -> Answer | None:
        """One call; None if what it asks for does not exist."""
        try:
            return self.ask(service, operation, **parameters)
        except ClientError as error:
            if code_of(error) in GONE:
                return None
            raise

    def pages(self, service: str, operation: str, **parameters: object) -> Iterator[Answer]:
        """Every page of an answer.

        Raises:
            TooManyError: there are more than `MANY_PAGES`; those are handed out before.
        """
        token: dict[str, object] = {}
        for _ in range(MANY_PAGES):
            page = self.ask(service, operation, **parameters, **token)
            yield page
            more = page.get("NextToken")
            if not more:
                return
            token = {"NextToken": more}
        raise TooManyError(f"{operation.replace('_', ' ')} has more than {MANY_PAGES} pages")


def code_of(error: ClientError) -> str:
    """What kind of refusal it is."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_refusal(error: ClientError) -> bool:
    """Whether the caller lacks a permission."""
    return code_of(error).startswith(REFUSED)


def action_of(service: str, error: ClientError) -> str:
    """The permission that a call needs, as IAM calls it."""
    return f"{service}:{error.operation_name}"
