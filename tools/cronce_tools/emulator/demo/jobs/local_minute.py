"""A job of the local stack only: it runs each minute, so that there is always something to see."""

from __future__ import annotations

from cronce import Cron, Run, job


def say(text: str) -> str:
    """Do next to nothing."""
    print(text)
    return text


@job("local-minute", schedule=Cron("* * * * *"), grace="5m")
def local_minute(run: Run) -> None:
    """Run in two steps."""
    run.step("greet", say, f"a minute has passed: {run.id}")
    run.step("part", say, "see you in a minute")
