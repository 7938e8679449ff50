"""Sends signals by HTTP: a GET that ends in bounded time whatever the other side does.

Each signal has a thread of its own, for there is no other way to bound a look-up of a name. Two things end
it: the answer, or the end of its time, when its connection is shut down under it. A thread that hangs where
nothing can be shut down (in that look-up) is left behind, and sends nothing any more when it wakes up.

Redirects are not followed and proxies not asked: a URL is a secret, and goes to its own host or nowhere. Of
an answer a few bytes are read. No message has a text of the other side or of a library in it, which may hold
the URL: they are made of our own words, of names of exceptions, and of the status.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cronce.core.errors import PingError
from cronce.core.pings import BODY_READ, Signal, may_be_tried_again, refusal
from cronce.core.values import dataclass

if TYPE_CHECKING:
    from cronce.core.ports import Clock

TOO_LONG = "nothing came of it in time"
"""Why a signal did not arrive."""
HEADERS = {"User-Agent": "cronce", "Connection": "close"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """How stubborn a signal is.

    Attributes:
        tries: in all.
        a_try: seconds that one try may take.
        pause: seconds before the second try; each later one is twice as long.
    """

    tries: int = 3
    a_try: float = 2.5
    pause: float = 0.25


DEFAULT_BOUNDS = Bounds()


class HttpPinger:
    """`Pinger` by HTTP.

    Args:
        url_of: the URL of a job, or of the heartbeat; raises `PingError`. Called in the signal's thread, at
            each try.
        clock: to tell how much time is left.
        bounds: tries, and how long they take.
        trusted: who is believed to be the other side; by default whom this host believes.
    """

    def __init__(
        self,
        url_of: Callable[[str], str],
        clock: Clock,
        bounds: Bounds | None = None,
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self._url_of = url_of
        self._clock = clock
        self._bounds = bounds or DEFAULT_BOUNDS
        self._trusted = trusted

    def send(self, signal: Signal, within: timedelta) -> HttpSending:
        """Begin to send a signal; see `Pinger`."""
        sending = HttpSending(self._clock, within.total_seconds())
        sending.begin(lambda: self._sent(signal, sending))
        return sending

    def _sent(self, signal: Signal, sending: HttpSending) -> None:
        """Send it, again if that may help.

        Raises:
            PingError: it has not arrived.
        """
        for number in range(1, self._bounds.tries + 1):
            found = self._tried(signal, sending)
            if found is None:
                return
            last = number == self._bounds.tries or not found.again
            if last or sending.is_over_after(self._bounds.pause * 2 ** (number - 1)):
                raise found

    def _tried(self, signal: Signal, sending: HttpSending) -> PingError | None:
        """What became of one try, look-up of the URL included; None: it has arrived."""
        try:
            status, body = self._answer(signal.address(self._url_of(signal.of)), sending)
        except PingError as error:
            return error
        except (OSError, HTTPException) as error:
            return PingError(f"it could not be reached: {type(error).__name__}", again=True)
        problem = refusal(status, body)
        return PingError(problem, again=may_be_tried_again(status)) if problem else None

    def _answer(self, url: str, sending: HttpSending) -> tuple[int, bytes]:
        """Status and first bytes of the answer to one GET."""
        parts = urlsplit(url)
        host, secure = parts.hostname or "", parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        plain = socket.create_connection((host, port), timeout=self._bounds.a_try)
        with self._secured(plain, host) if secure else plain as connected, sending.bounding(connected):
            if isinstance(connected, ssl.SSLSocket):
                connected.do_handshake()
            made = HTTPSConnection(host, port) if secure else HTTPConnection(host, port)
            made.sock = connected
            made.request("GET", target, headers=HEADERS)
            with made.getresponse() as response:
                return response.status, _beginning(response)

    def _secured(self, plain: socket.socket, host: str) -> ssl.SSLSocket:
        """The connection, before its handshake: from here on it can be shut down at any time."""
        if self._trusted is None:
            self._trusted = ssl.create_default_context()
        try:
            return self._trusted.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        except BaseException:
            plain.close()
            raise


class HttpSending:
    """A signal on its way.

    Args:
        clock: to tell how much time is left.
        within: seconds that it may take.

    Attributes:
        problem: why it has not arrived; None: it has.
    """

    def __init__(self, clock: Clock, within: float) -> None:
        self._clock = clock
        self._within = within
        self._until = clock.monotonic() + within
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._done = threading.Event()
        self.problem: str | None = TOO_LONG
        self._connected: socket.socket | None = None

    def begin(self, work: Callable[[], None]) -> None:
        """Send it, in a thread of its own, and end it when its time is over."""
        end = threading.Timer(self._within, self._end)
        end.daemon = True

        def send() -> None:
            end.start()
            try:
                work()
                self.problem = None
            except PingError as error:
                self.problem = str(error)
            except Exception as error:  # noqa: BLE001 - it must not end a run, nor show what it holds
                self.problem = f"it failed: {type(error).__name__}"
            finally:
                self._done.set()
                end.cancel()

        threading.Thread(target=send, name="ping", daemon=True).start()

    def outcome(self) -> str | None:
        """Wait until it has arrived or failed, or its time is over; see `Sending`."""
        left = min(self._until - self._clock.monotonic(), self._within)
        self._done.wait(max(left, 0))
        self._end()
        return self.problem if self._done.is_set() else TOO_LONG

    def is_over_after(self, seconds: float) -> bool:
        """Wait so long before another try; true if its time is over by then."""
        return self._over.wait(seconds)

    @contextmanager
    def bounding(self, connected: socket.socket) -> Iterator[None]:
        """Within the block, the connection is shut down when the signal's time is over.

        Raises:
            PingError: it is over already, or when the block is left: an answer that was cut off looks whole.
        """
        with self._lock:
            if self._over.is_set():
                raise PingError(TOO_LONG)
            self._connected = connected
        try:
            yield
        finally:
            with self._lock:
                self._connected = None
        if self._over.is_set():
            raise PingError(TOO_LONG)

    def _end(self) -> None:
        self._over.set()
        with self._lock:
            if self._connected is not None:
                with suppress(OSError):  # the other side was faster
                    self._connected.shutdown(socket.SHUT_RDWR)


def _beginning(response: HTTPResponse) -> bytes:
    """What has come of the body so far; the status alone says enough if nothing has."""
    with suppress(OSError, HTTPException):
        return response.read1(BODY_READ)
    return b""
