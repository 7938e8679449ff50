"""AWS clients whose calls end in bounded time, answered or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from botocore.session import get_session

if TYPE_CHECKING:
    from botocore.session import Session

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
        service: "lambda" or "sns".
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


def told(error: Exception) -> str:
    """What a failed call said, in one line: the code and message of an answer, or the kind of silence."""
    if isinstance(error, ClientError):
        answer = error.response.get("Error", {})
        return f"{answer.get('Code', 'no code')}: {answer.get('Message', 'no message')}"
    return f"{type(error).__name__}: {error}"
