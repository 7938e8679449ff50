"""Charge each due invoice at most once per billing period.

Decisions:
    Worst-case run time against `timeout`: 40 invoices at two seconds each are under two minutes; 10
        minutes, then somebody should look.
    Fencing: not needed, and it would not be enough: a payment service knows no fencing tokens. What
        protects the customer is the key `invoice-<id>-<period>`. It names what must happen once in the
        words of the business, not of the run: a second run, a manual trigger, or a copy of this job started
        by hand, charges nobody again.
    Hours late: a renewal charged late in the day is fine, one charged days later wants a person:
        `max_lateness` is a day.

Doubles made before there were keys: `doubles(charges)` groups what the payment service lists by invoice and
period and names the charges to refund: all but the oldest of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import outbox
from cronce import Cron, Run, job

INVOICES = 40
CENTS = 1900


@dataclass(frozen=True)
class Charge:
    """A charge as the payment service lists it."""

    id: str
    invoice: str
    period: str
    made_at: str


def due_invoices(period: str) -> list[dict[str, str | int]]:
    """The invoices to charge in a billing period."""
    return [{"id": f"{number:03}", "period": period, "cents": CENTS} for number in range(1, INVOICES + 1)]


def billing_period(day: date) -> str:
    """The period that a renewal on that day belongs to: its month."""
    return f"{day:%Y-%m}"


def charge(invoice: dict[str, str | int]) -> str:
    """Charge one invoice, and return the receipt's key: the same one if an earlier call took the money."""
    key = f"invoice-{invoice['id']}-{invoice['period']}"
    return outbox.deliver(key, "charge", {"invoice": invoice["id"], "cents": invoice["cents"]}).key


def doubles(charges: Iterable[Charge]) -> list[Charge]:
    """The charges to refund: for each invoice and period all but the first that was made."""
    by_renewal: dict[tuple[str, str], list[Charge]] = defaultdict(list)
    for made in charges:
        by_renewal[made.invoice, made.period].append(made)
    later = [sorted(group, key=lambda made: (made.made_at, made.id))[1:] for group in by_renewal.values()]
    return [made for group in later for made in group]


@job("renewal-invoices", schedule=Cron("30 8 1 * *", tz="Europe/Berlin"), timeout="10m", max_lateness="1d")
def renewal_invoices(run: Run) -> None:
    """Charge each invoice that is due in this month."""
    invoices = run.step("list", due_invoices, billing_period(run.local_date))
    run.each("charge", invoices, charge, key=lambda invoice: str(invoice["id"]))
