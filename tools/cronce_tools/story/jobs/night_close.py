"""Close the day's books at 01:30 New York time: a time that the clock shows twice on 1 November 2026."""

from __future__ import annotations

from cronce import Cron, Run, job


@job("night-close", schedule=Cron("30 1 * * *", tz="America/New_York"))
def night_close(run: Run) -> None:
    """Close the books of the local date."""
    run.step("close", str, run.local_date)
