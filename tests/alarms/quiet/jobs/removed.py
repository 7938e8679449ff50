"""A job that a later release does not have any more."""

from __future__ import annotations

from cronce import Cron, Run, job


@job("old-job", schedule=Cron("10 * * * *"), grace="1m")
def old_job(run: Run) -> None:
    """Gone in a week."""
    run.step("work", str, run.id)
