"""A job that runs each minute, from 08:50 to 08:59 on one day."""

from __future__ import annotations

from cronce import Cron, Run, job


@job("pulse", schedule=Cron("50-59 8 30 10 *"))
def pulse(run: Run) -> None:
    """Leave a sign of life."""
    run.step("beat", str, run.id)
