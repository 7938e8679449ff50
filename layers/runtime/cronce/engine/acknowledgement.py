"""Closes an alert at a person's word: they know, and need not be reminded any more."""

from __future__ import annotations

from datetime import datetime

from cronce.core import alerting
from cronce.core.alerts import SCHEDULER
from cronce.core.errors import JobNotFoundError, StoreError
from cronce.core.ports import AlertStore

TRIES = 5
"""Of one write; a patrol that grows the alert at the same moment writes it once or twice."""


def acknowledge(alerts: AlertStore, job: str, now: datetime) -> bool:
    """Close the alert of a job. The scheduler's own closes when its ticks complete again, and not before.

    What it lists is not told again; a new time, or one of those that ends FAILED after this, opens it anew.

    Args:
        alerts: where alerts are kept.
        job: its name.
        now: the present.

    Returns:
        False: nothing is open.

    Raises:
        JobNotFoundError: that is the scheduler, not a job.
        StoreError: the store did not answer, or others wrote the alert all the time.
    """
    if job == SCHEDULER:
        raise JobNotFoundError("the scheduler's alert closes when its ticks complete again; name a job")
    for _ in range(TRIES):
        alert = alerts.get(job)
        if alert is None or not alert.is_open:
            return False
        if alerts.put(alert, alerting.closed(alert, alerting.ACKNOWLEDGED, now)):
            return True
    raise StoreError(f"the alert of {job} was not acknowledged: others wrote it all the time; try again")
