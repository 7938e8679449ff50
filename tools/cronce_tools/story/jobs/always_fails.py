"""A job that cannot succeed: its supplier has closed for good."""

from __future__ import annotations

from datetime import UTC, datetime

from cronce import At, Retry, Run, job


class SupplierClosedError(Exception):
    """What the supplier's door says."""


def order() -> None:
    """Order from the closed supplier."""
    raise SupplierClosedError("the supplier closed for good")


@job(
    "order-supplies",
    schedule=At(datetime(2026, 10, 30, 14, 10, tzinfo=UTC)),
    retry=Retry(attempts=3, base="30s"),
)
def order_supplies(run: Run) -> None:
    """Order supplies."""
    run.step("order", order)
