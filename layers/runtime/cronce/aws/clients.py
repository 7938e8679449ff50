"""AWS clients whose calls end in bounded time, answered or not."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import Loader
from botocore.parsers import ResponseParserError
from botocore.session import get_session

if TYPE_CHECKING:
    from botocore.session import Session

T = TypeVar("T")

CONNECT_TIMEOUT = 1.0
READ_TIMEOUT = 4.0
"""Seconds. Together five: a call that takes longer has lost its connection, and the function has more to
do."""
ATTEMPTS = 2
"""Tries of one call in all. A third is not worth its time: the sweep dispatches again, the patrol publishes
again."""
CONNECTIONS = 32
"""Calls at once on one client; the dispatcher starts a batch of runs in parallel."""

FAILURES = (ClientError, BotoCoreError, ResponseParserError)
"""What a call raises when it was not accepted, or when nobody knows whether it was."""


SERVICES = ("dynamodb", "lambda", "sns", "ssm")
"""The services that cronce itself calls."""


class _OurServices(Loader):
    """Reads AWS's descriptions, and knows without looking which services have one.

    Before it makes a client, botocore looks through the folders of all four hundred services: a fifth of the
    time that the first client takes.
    """

    def list_available_services(self, type_name: str) -> list[str]:  # noqa: ARG002 - all have all types
        """Those that are called here."""
        return list(SERVICES)


def new_session() -> Session:
    """A session for clients of `SERVICES`, and for no others."""
    session = get_session()
    session.register_component("data_loader", _OurServices())
    return session


def bounded_client(
    service: str,
    *,
    session: Session | None = None,
    connect_timeout: float = CONNECT_TIMEOUT,
    read_timeout: float = READ_TIMEOUT,
    attempts: int = ATTEMPTS,
    **arguments: Any,
) -> Any:
    """A low-level client of a service.

    Args:
        service: one of `SERVICES`.
        session: of botocore, by default a new one; clients of one session share what it has read of AWS's
            descriptions.
        connect_timeout: seconds until a connection stands.
        read_timeout: seconds without an answer.
        attempts: tries of one call in all, made by the SDK.
        arguments: region_name, endpoint_url and the like; the environment's by default.
    """
    config = Config(
        connect_timeout=connect_timeout,
        read_timeout=read_timeout,
        retries={"mode": "standard", "total_max_attempts": attempts},
        max_pool_connections=CONNECTIONS,
        tcp_keepalive=True,
    )
    # botocore without boto3 starts about 30 ms sooner.
    return (session or get_session()).create_client(service, config=config, **arguments)


def made_when_needed(make: Callable[[], T]) -> Callable[[], T]:
    """Gives what `make` makes: made at the first call, once, however many threads call."""
    lock = Lock()
    made: list[T] = []

    def give() -> T:
        with lock:
            if not made:
                made.append(make())
            return made[0]

    return give


def told(error: Exception) -> str:
    """What a failed call said, in one line: the code and message of an answer, or the kind of silence."""
    if isinstance(error, ClientError):
        answer = error.response.get("Error", {})
        return f"{answer.get('Code', 'no code')}: {answer.get('Message', 'no message')}"
    return f"{type(error).__name__}: {error}"
