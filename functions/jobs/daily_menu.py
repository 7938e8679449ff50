"""Build the day's menu at 06:00 New York time and text it to every subscriber.

Decisions:
    Worst-case run time against `timeout`: 1,000 messages at about 20 ms are 20 s, ten times that on a bad
        day; 15 minutes leave room for three attempts, and one Lambda invocation is enough.
    Fencing: not needed. Each message goes out under its own idempotency key, so a worker that lost its
        claim and another one that goes on can only send the same message under the same key.
    Hours late: a breakfast menu is worth sending until noon, so `max_lateness` is six hours; later it is
        recorded as SKIPPED(late) and somebody is told.
"""

from __future__ import annotations

from datetime import date

import outbox
from cronce import Cron, Run, job

SUBSCRIBERS = 1000
DISHES = ("pancakes", "porridge", "shakshuka", "congee", "granola", "omelette", "waffles")


def subscribers() -> list[dict[str, str]]:
    """Everybody who gets the menu; each with a stable id, which is the item's key."""
    return [{"id": f"{number:04}", "phone": f"+1-555-01{number:04}"} for number in range(1, SUBSCRIBERS + 1)]


def build_menu(day: date) -> dict[str, str]:
    """The menu of a day."""
    first, second = DISHES[day.toordinal() % 7], DISHES[(day.toordinal() + 3) % 7]
    return {"day": day.isoformat(), "text": f"Today: {first} or {second}"}


def send_menu(person: dict[str, str], menu: dict[str, str], *, idempotency_key: str) -> None:
    """Text the menu to one person; the service takes each key once."""
    outbox.deliver(idempotency_key, "message", {"to": person["phone"], "text": menu["text"]})


def mark_done(day: date, *, idempotency_key: str) -> None:
    """Leave word for others that the day's menu is out."""
    outbox.deliver(idempotency_key, "day-done", {"day": day.isoformat()})


@job("daily-menu", schedule=Cron("0 6 * * *", tz="America/New_York"), grace="15m", max_lateness="6h")
def daily_menu(run: Run) -> None:
    """Build the day's menu and text it to every subscriber."""
    menu = run.step("build", build_menu, day=run.local_date)
    run.each("send", subscribers(), send_menu, menu, key=lambda person: person["id"], checkpoint_every=25)
    run.step("mark-day-done", mark_done, day=run.local_date)
