"""The low-level client of DynamoDB, and the store's clock, read off its answers."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from botocore.config import Config
from botocore.session import get_session

from cronce.aws.errors import BrokenAnswerError
from cronce.core.ports import Clock

if TYPE_CHECKING:
    from botocore.session import Session
    from mypy_boto3_dynamodb import DynamoDBClient

CONNECT_TIMEOUT = 1.0
READ_TIMEOUT = 3.0
"""Seconds. DynamoDB answers in milliseconds; who waits longer waits for a connection that is dead."""
ATTEMPTS = 3
"""Tries of one call in all. With both timeouts and the SDK's pauses (at most 1 and 2 s) a store that never
answers ends a call within 15 s, so a tick that gets no answer fails long before the function's 45 s."""
DATE_STEP = timedelta(seconds=1)
"""The Date header is cut to whole seconds: the store's clock is anywhere in that second."""


def make_client(
    *,
    session: Session | None = None,
    connect_timeout: float = CONNECT_TIMEOUT,
    read_timeout: float = READ_TIMEOUT,
    attempts: int = ATTEMPTS,
    **client_arguments: Any,
) -> DynamoDBClient:
    """A low-level client whose calls end in bounded time.

    Args:
        session: of botocore, by default a new one; clients of one session share what it has read of AWS's
            descriptions.
        connect_timeout: seconds.
        read_timeout: seconds without an answer.
        attempts: tries of one call in all, made by the SDK.
        client_arguments: region_name, endpoint_url and the like; by default the environment's.
    """
    config = Config(
        connect_timeout=connect_timeout,
        read_timeout=read_timeout,
        retries={"mode": "standard", "total_max_attempts": attempts},
        tcp_keepalive=True,
    )
    # botocore without boto3 starts about 30 ms sooner.
    used = session or get_session()
    client = cast("DynamoDBClient", used.create_client("dynamodb", config=config, **client_arguments))
    client.meta.events.register("after-call.dynamodb", _refuse_broken_answer)
    return client


class AnswerClock:
    """`StoreClock`: compares the Date header of every answer of a client with the own clock.

    Args:
        client: whose answers are looked at.
        clock: the own clock.
    """

    def __init__(self, client: DynamoDBClient, clock: Clock) -> None:
        self._clock = clock
        self._skew = timedelta(0)
        client.meta.events.register("after-call.dynamodb", self._look)

    def skew(self) -> timedelta:
        """Store's clock less own clock at the last answer; zero before the first.

        It is the least difference that the header allows: zero while the own clock is within the second it
        names.
        """
        return self._skew

    def _look(self, http_response: Any, **_: object) -> None:
        date = http_response.headers.get("date")
        try:
            store = parsedate_to_datetime(date)
        except (TypeError, ValueError):
            return  # no Date, or none that can be read: the last one stands
        if store.tzinfo is not None:
            self._skew = _skew(store, self._clock.now())


def _skew(store: datetime, own: datetime) -> timedelta:
    if own < store:
        return store - own
    return min(store + DATE_STEP - own, timedelta(0))


def _refuse_broken_answer(http_response: Any, **_: object) -> None:
    """Refuse a success whose body was cut short or is no JSON.

    The SDK takes such a body for an empty answer: a record that is there would read as absent, and a finished
    step would be executed again. It tries again while the checksum is wrong, and then lets the last answer
    pass.

    Raises:
        BrokenAnswerError: the body is not what the store sent.
    """
    body, headers = http_response.content, http_response.headers
    length, checksum = headers.get("content-length"), headers.get("x-amz-crc32")
    if http_response.status_code >= 300:
        return  # an error, whatever it says
    if length is not None and int(length) != len(body):
        raise BrokenAnswerError(f"the answer has {len(body)} bytes of {length}")
    if checksum is not None and int(checksum) != crc32(body):
        raise BrokenAnswerError("the answer does not have the checksum that it names")
    if not (body.startswith(b"{") and body.endswith(b"}")):
        raise BrokenAnswerError(f"the answer is no JSON: {body[:40]!r}")
