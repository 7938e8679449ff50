"""Pay a supplier through a bank that knows no idempotency keys: at most once, whatever happens."""

from __future__ import annotations

from datetime import UTC, datetime

from cronce import At, Run, job
from outbox import deliver


def transfer(amount: int, *, idempotency_key: str) -> str:
    """Have the bank transfer an amount."""
    return deliver(idempotency_key, "transfer", {"amount": amount}).key


@job("pay-supplier", schedule=At(datetime(2026, 11, 2, 8, 50, tzinfo=UTC)))
def pay_supplier(run: Run) -> None:
    """Pay, then file the receipt."""
    receipt = run.once("transfer", transfer, 4200)
    run.step("file", str, receipt)
