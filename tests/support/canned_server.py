"""An HTTP server that behaves as a test says: answers, breaks off, or accepts and never says a word."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What happens to one request.

    Attributes:
        body: the answer, as JSON; None = none comes.
        text: the answer as it is, instead.
        status: of the answer.
        date: its Date header; None = the header is missing.
        silent: the connection stays open and nothing comes.
        cut: bytes of the answer that are promised and do not come.
        checksum: its x-amz-crc32 header; None = the header is missing.
    """

    body: dict[str, Any] | None = None
    text: str | None = None
    status: int = 200
    date: str | None = None
    silent: bool = False
    cut: int = 0
    checksum: int | None = None


SILENCE = Reply(silent=True)
BREAK = Reply()


def refusal(code: str, status: int = 400, **more: Any) -> Reply:
    """An error as DynamoDB sends it."""
    kind = f"com.amazonaws.dynamodb.v20120810#{code}"
    return Reply(status=status, body={"__type": kind, "message": "as the test says", **more})


@dataclass
class CannedServer:
    """A server with a plan.

    Attributes:
        plan: what happens to the next requests; the last one stands for all that follow.
        requests: the bodies that came.
    """

    plan: list[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def next_reply(self, request: dict[str, Any]) -> Reply:
        """Remember a request and say what happens to it."""
        self.requests.append(request)
        return self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]


def _handler(server: CannedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            reply = server.next_reply(json.loads(self.rfile.read(length)))
            if reply.silent:
                server.over.wait()
            if reply.silent or (reply.body is None and reply.text is None):
                self.close_connection = True
                return
            text = (reply.text if reply.text is not None else json.dumps(reply.body)).encode()
            self.send_response_only(reply.status)
            if reply.date:
                self.send_header("Date", reply.date)
            if reply.checksum is not None:
                self.send_header("x-amz-crc32", str(reply.checksum))
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(text) + reply.cut))
            self.end_headers()
            self.wfile.write(text)
            self.close_connection = bool(reply.cut)

        @override
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def canned_server(*plan: Reply) -> Iterator[CannedServer]:
    """A server on this machine, until the end of the block."""
    canned = CannedServer(list(plan))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(canned))
    canned.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield canned
    finally:
        canned.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
