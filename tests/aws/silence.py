"""An endpoint that takes connections and never answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent_endpoint() -> Iterator[str]:
    """The URL of a local port that the system accepts connections on, and nobody reads."""
    with socket.create_server(("127.0.0.1", 0), backlog=8) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
