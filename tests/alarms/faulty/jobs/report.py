"""A job that is due once in the time in which a fault is played."""

from __future__ import annotations

from cronce import Cron, Run, job


@job("report", schedule=Cron("0 * * * *", tz="Europe/Amsterdam"), grace="5m")
def report(run: Run) -> None:
    """Write the hourly report."""
    run.step("write", str, run.id)
