"""Has a calendar that takes its time: whoever ticks holds the lease at least so long."""

from __future__ import annotations

import threading
from datetime import date

from cronce import Cron, Run, job

SECONDS = 1
"""More than what lies between two ticks that begin together; with 2 the job could not be planned."""


def looked_up(_day: date) -> bool:
    """The answer of a calendar that is far away."""
    threading.Event().wait(SECONDS)
    return False


@job("unhurried", schedule=Cron("* * * * *"), exclude=looked_up)
def unhurried(run: Run) -> None:
    run.log.info("no hurry")
