"""Daily jobs, at times that clock changes skip and repeat."""

from __future__ import annotations

from cronce import Cron, Run, job

PEOPLE = [f"person-{number}" for number in range(20)]


@job("menu", schedule=Cron("0 6 * * *", tz="America/New_York"), grace="15m")
def menu(run: Run) -> None:
    """Text the menu to everybody."""
    run.each("send", PEOPLE, str, key=str, checkpoint_every=10)


@job("night-close", schedule=Cron("30 2 * * *", tz="Europe/Amsterdam"), grace="2m")
def night_close(run: Run) -> None:
    """Close the books at a time that is skipped in spring and repeated in autumn."""
    run.step("close", str, run.id)


@job("new-york-close", schedule=Cron("30 1,2 * * *", tz="America/New_York"), grace="2m")
def new_york_close(run: Run) -> None:
    """The same overseas."""
    run.step("close", str, run.id)


@job("delivery", schedule=Cron("15 22 * * *", tz="Europe/Amsterdam"), grace="6h")
def delivery(run: Run) -> None:
    """Order, wait for hours, look."""
    run.step("order", str, run.id)
    run.sleep("until it is there", "4h")
    run.step("look", str, run.id)
