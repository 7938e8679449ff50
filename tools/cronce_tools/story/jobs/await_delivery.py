"""Order flour, sleep until it should be there, then look."""

from __future__ import annotations

from datetime import UTC, datetime

from cronce import At, Run, job


@job("await-delivery", schedule=At(datetime(2026, 11, 2, 9, 10, tzinfo=UTC)))
def await_delivery(run: Run) -> None:
    """Order, wait, look."""
    run.step("order", str, "flour")
    run.sleep("delivery", "40m")
    run.step("look", str, "version 1")
