"""The note by which `make local` says that it runs and where; others find the local stack by it."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

from cronce_tools.emulator.process import Endpoint

STACK = "cronce-local"
"""Name of the local stack."""
DEMO_JOBS = frozenset({"local-minute"})
"""What `make local` deploys beside the project's own jobs."""
ANSWERS_WITHIN = 1.0
"""Seconds. It is on this machine."""


def note_of(project: Path) -> Path:
    """Where a running stack says its address."""
    return project / ".make/local-stack.json"


def write_note(project: Path, endpoint: Endpoint) -> None:
    """Say that a stack runs."""
    note = note_of(project)
    note.parent.mkdir(exist_ok=True)
    note.write_text(json.dumps({"url": endpoint.url}))


def running(project: Path) -> Endpoint | None:
    """Where the local stack of a project runs; None also if its note was left behind and nobody listens."""
    try:
        url = json.loads(note_of(project).read_text())["url"]
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port), ANSWERS_WITHIN):
            return Endpoint(url=url)
    except (OSError, ValueError, KeyError, TypeError):
        return None
