"""What the jobs of the end-to-end tests do to the outside world: each effect is a row that a test can count.

Nothing is idempotent here, on purpose: an effect that happens twice leaves two rows.
"""

from __future__ import annotations

import os
from uuid import uuid4

import outbox
from cronce import Run


def leave(run: Run, what: str) -> None:
    """Leave a row that says who did what."""
    row: dict[str, str | int] = {
        "pk": f"effect/{uuid4().hex}",
        "run": run.id,
        "job": run.job,
        "what": what,
        "attempt": run.attempt,
        "process": os.getpid(),
        "fencing_token": run.fencing_token,
    }
    outbox.table().put_item(Item=row)
