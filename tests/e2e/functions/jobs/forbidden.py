"""Wants what JobsPolicy does not allow."""

from __future__ import annotations

import outbox
from cronce import Cron, Retry, Run, job


def delete(key: str) -> None:
    outbox.table().delete_item(Key={"pk": key})


@job("forbidden", schedule=Cron("* * * * *"), grace="10m", retry=Retry(attempts=1))
def forbidden(run: Run) -> None:
    run.step("delete", delete, "anything")
