"""A service outside AWS on this machine, which behaves well or in any of many bad ways."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

Behaviour = Callable[["PingServer", socket.socket], None]
LONGEST_REQUEST = 65536
A_MOMENT = 0.01
"""Seconds between two bytes of a slow answer."""
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: closing sends a reset."""


@dataclass
class PingServer:
    """A server with a behaviour.

    Attributes:
        url: where it is, without a path.
        asked: the targets of all requests, in order.
        heads: all that came of each request.
        over: set when the server ends; what waits for it must not wait longer.
    """

    url: str
    asked: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def read(self, connection: socket.socket) -> str:
        """Read a request and return its target."""
        head = b""
        while b"\r\n\r\n" not in head and len(head) < LONGEST_REQUEST:
            part = connection.recv(4096)
            if not part:
                return ""
            head += part
        self.heads.append(head.decode("latin-1"))
        self.asked.append(self.heads[-1].split(" ")[1])
        return self.asked[-1]


def answers(status: int, body: str = "OK", headers: str = "", *, stays: bool = False) -> Behaviour:
    """An answer as it should be; `stays` keeps the connection open after it."""

    def behave(server: PingServer, connection: socket.socket) -> None:
        server.read(connection)
        head = f"HTTP/1.1 {status} Whatever\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        connection.sendall(f"{head}{body}".encode())
        if stays:
            server.over.wait()

    return behave


def hangs(server: PingServer, connection: socket.socket) -> None:
    """Takes the request and never answers."""
    server.read(connection)
    server.over.wait()


def is_deaf(server: PingServer, _: socket.socket) -> None:
    """Takes the connection and does nothing with it; a handshake of TLS hangs as well."""
    server.over.wait()


def resets(server: PingServer, connection: socket.socket) -> None:
    """Breaks the connection."""
    server.read(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def says_nothing(server: PingServer, connection: socket.socket) -> None:
    """Closes the connection without an answer."""
    server.read(connection)


def redirects(server: PingServer, connection: socket.socket) -> None:
    """Sends the client elsewhere, which is here."""
    target = server.read(connection)
    where = f"Location: {server.url}/elsewhere{target}\r\n"
    connection.sendall(f"HTTP/1.1 302 Found\r\n{where}Content-Length: 0\r\n\r\n".encode())


def echoes(server: PingServer, connection: socket.socket) -> None:
    """Answers with the request's own target where a status belongs."""
    connection.sendall(f"{server.url}{server.read(connection)}\r\n\r\n".encode())


def blurts(server: PingServer, connection: socket.socket) -> None:
    """Answers in plain HTTP whatever begins to come, which a client of TLS cannot take."""
    server.heads.append(connection.recv(4096).decode("latin-1"))
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")


def _drips(server: PingServer, connection: socket.socket, first: bytes, drop: bytes) -> None:
    server.read(connection)
    with suppress(OSError):
        connection.sendall(first)
        while not server.over.wait(A_MOMENT):
            connection.sendall(drop)


def drips_headers(server: PingServer, connection: socket.socket) -> None:
    """A byte of a header from time to time, for ever."""
    _drips(server, connection, b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x")


def drips_body(server: PingServer, connection: socket.socket) -> None:
    """A good answer whose body never ends."""
    _drips(server, connection, b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x")


def floods(server: PingServer, connection: socket.socket) -> None:
    """A good answer, and as much after it as the other side takes."""
    server.read(connection)
    with suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not server.over.is_set():
            connection.sendall(b"x" * 65536)


def floods_headers(server: PingServer, connection: socket.socket) -> None:
    """A header line without an end."""
    server.read(connection)
    with suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not server.over.is_set():
            connection.sendall(b"x" * 65536)


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """One behaviour for each request; the last one stands for all that follow."""
    left = list(behaviours)

    def behave(server: PingServer, connection: socket.socket) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(server, connection)

    return behave


@contextmanager
def ping_server(behave: Behaviour, secured: ssl.SSLContext | None = None) -> Iterator[PingServer]:
    """A server on the loopback interface until the end of the block; with a context it speaks TLS."""
    listening = socket.create_server(("127.0.0.1", 0))
    scheme = "https" if secured else "http"
    server = PingServer(url=f"{scheme}://127.0.0.1:{listening.getsockname()[1]}")
    threads: list[threading.Thread] = []

    def serve_one(plain: socket.socket) -> None:
        with closing(plain), suppress(OSError):
            plain.settimeout(10)
            if secured is None:
                behave(server, plain)
                return
            with secured.wrap_socket(plain, server_side=True) as connection:
                behave(server, connection)

    def serve() -> None:
        with suppress(OSError):  # closed: over
            while True:
                connection, _ = listening.accept()
                threads.append(threading.Thread(target=serve_one, args=(connection,)))
                threads[-1].start()

    accepting = threading.Thread(target=serve)
    accepting.start()
    try:
        yield server
    finally:
        server.over.set()
        with suppress(OSError):  # wakes the accepting thread, which closing alone does not
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting.join()
        for thread in threads:
            thread.join()


def closed_port() -> str:
    """The address of a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"
