"""Bring the stock levels of every article up to date, each hour.

Decisions:
    Worst-case run time against `timeout`: 20 rows take a second or two; 5 minutes is far beyond.
    Fencing: needed. Rows are overwritten, and the last writer wins. A worker that was paused for minutes
        and wakes up would put old levels over new ones. So each row keeps the fencing token of its last
        writer, and the condition on the row (`cronce.fenced_put`) refuses a lower one (`StaleWriterError`).
    Hours late: only the newest levels matter: `catch_up` is `latest` (the default), missed hours are
        recorded as superseded.
"""

from __future__ import annotations

from datetime import datetime

import outbox
from cronce import Cron, Run, job

ARTICLES = 20


def stock_levels(at: datetime) -> dict[str, int]:
    """What the warehouse says at an instant."""
    hour = int(at.timestamp()) // 3600
    return {f"sku-{number:03}": (hour * 7 + number * 13) % 100 for number in range(1, ARTICLES + 1)}


def write_level(level: tuple[str, int], fencing_token: int, as_of: str) -> None:
    """Overwrite one article's row, if no later run has."""
    article, count = level
    outbox.write_row(f"stock#{article}", {"count": count, "as_of": as_of}, fencing_token)


@job("inventory-sync", schedule=Cron("0 * * * *"), timeout="5m")
def inventory_sync(run: Run) -> None:
    """Write the hour's stock level of every article."""
    levels = run.step("read", stock_levels, run.scheduled_at)
    as_of = run.scheduled_at.isoformat()
    run.each(
        "write",
        list(levels.items()),
        write_level,
        run.fencing_token,
        as_of,
        key=lambda level: level[0],
        checkpoint_every=10,
    )
