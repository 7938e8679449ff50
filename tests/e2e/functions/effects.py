"""What the jobs of the end-to-end tests do to the outside world: each effect is a row that a test can count.

Effects are not idempotent, on purpose: one that happens twice leaves two rows.
"""

from __future__ import annotations

import os
import threading
from uuid import uuid4

import outbox
from cronce import Run

LONG = 600.0
"""Seconds: longer than any invocation."""


def leave(run: Run, what: str, key: str = "") -> None:
    """Leave a row that says who did what."""
    row: dict[str, str | int] = {
        "pk": f"effect/{uuid4().hex}",
        "run": run.id,
        "job": run.job,
        "what": what,
        "key": key,
        "attempt": run.attempt,
        "process": os.getpid(),
        "version": os.environ["AWS_LAMBDA_FUNCTION_VERSION"],
        "fencing_token": run.fencing_token,
    }
    outbox.table().put_item(Item=row)


def is_chosen(run: Run) -> bool:
    """Whether this is the run that gets into trouble: the first one of its job, in all its attempts."""
    receipt = outbox.deliver(f"chosen/{run.job}", "chosen", {"run": run.id})
    return receipt.first


def wait(seconds: float = LONG) -> None:
    """Do nothing for a while."""
    threading.Event().wait(seconds)
