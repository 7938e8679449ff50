"""A job that is due every other minute."""

from __future__ import annotations

from cronce import Cron, Retry, Run, job
from tests.alarms.behaviour import behave


@job("rounds", schedule=Cron("*/2 * * * *"), grace="3m", timeout="4m", retry=Retry(attempts=1))
def rounds(run: Run) -> None:
    """Look at everything."""
    run.step("look", behave)
