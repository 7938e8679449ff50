"""Archive three thousand orders of last year, which takes three hours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from cronce import At, Run, job
from cronce_tools.story.labour import labour

ORDERS = 3_000
SECONDS_EACH = 3.6
ARCHIVED: Counter[int] = Counter()
"""What the archive was asked to take, by order."""


def orders() -> Iterator[int]:
    """The orders, one by one."""
    yield from range(ORDERS)


def archive(order: int) -> None:
    """Move one order to the archive."""
    labour(SECONDS_EACH)
    ARCHIVED[order] += 1


@job(
    "archive-orders",
    schedule=At(datetime(2026, 11, 2, 5, 30, tzinfo=UTC)),
    timeout="4h",
    grace="4h",
)
def archive_orders(run: Run) -> None:
    """Archive all orders."""
    run.each("archive", orders(), archive, checkpoint_every=500, results=False)
