"""A job of the local stack only: it runs each minute, so that there is always something to see."""

from __future__ import annotations

from cronce import Cron, Run, job


def look_at(run: Run) -> str:
    """Do next to nothing."""
    run.log.info("a minute has passed")
    return run.id


@job("local-minute", schedule=Cron("* * * * *"), grace="5m")
def local_minute(run: Run) -> None:
    """Run in two steps."""
    run.step("look", look_at, run)
    run.step("look-again", look_at, run)
