"""Where the URLs of services outside AWS are kept: SSM's Parameter Store, as SecureString or String.

Who knows such a URL can send its signals and so keep an alarm quiet. Therefore it stands in no code, template
parameter or environment variable, and no message here shows one: only the parameter's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from cronce.aws.clients import FAILURES, told
from cronce.core.errors import PingError
from cronce.core.pings import url_problem

if TYPE_CHECKING:
    from cronce.core.ports import Clock

KEPT_FOR = 300.0
"""Seconds that a URL is used without being asked for again: a changed one is in use five minutes later, and a
heartbeat each minute costs a fifth of the look-ups."""
READ_TIMEOUT = 1.0
"""Seconds that SSM may be silent; an answer takes hundredths. Two tries of the SDK with a second between them
leave half of a signal's time for the signal."""
_FINAL = frozenset({"ParameterNotFound", "AccessDeniedException", "InvalidKeyId", "ValidationException"})
"""Answers of SSM that stay the same until somebody changes something. All others pass: above all the one to
more than 40 look-ups a second. (Systems Manager, "Parameter Store throughput".)"""


class ParameterUrls:
    """URLs by what they are of.

    Args:
        client: gives a client of SSM; asked when it is needed.
        parameter_of: the name of the parameter with the URL of a job, or of the heartbeat.
        clock: to tell how old a URL is.
    """

    def __init__(self, client: Callable[[], Any], parameter_of: Callable[[str], str], clock: Clock) -> None:
        self._client = client
        self._parameter_of = parameter_of
        self._clock = clock
        self._known: dict[str, tuple[float, str]] = {}

    def url(self, of: str) -> str:
        """The URL, one that can be used; the one read before while SSM is busy or silent.

        Raises:
            PingError: it cannot be read, or is none. The message names the parameter, not what it holds.
        """
        now = self._clock.monotonic()
        read_at, url = self._known.get(of, (now - KEPT_FOR, ""))
        if now - read_at < KEPT_FOR:
            return url
        try:
            url = self._read(self._parameter_of(of))
        except PingError as error:
            if url and error.again:
                return url
            raise
        self._known[of] = now, url
        return url

    def _read(self, name: str) -> str:
        try:
            answer = self._client().get_parameter(Name=name, WithDecryption=True)
        except FAILURES as error:
            final = isinstance(error, ClientError) and error.response["Error"].get("Code") in _FINAL
            problem = f"the SSM parameter {name} cannot be read: {told(error)}"
            raise PingError(problem, again=not final) from None
        url: str = answer["Parameter"].get("Value", "").strip()
        wrong = url_problem(url)
        if wrong:
            raise PingError(f"the SSM parameter {name} holds no URL to ping: {wrong}")
        return url
