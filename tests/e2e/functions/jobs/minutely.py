"""Runs each minute, in three steps."""

from __future__ import annotations

import effects

from cronce import Cron, Run, job


@job("minutely", schedule=Cron("* * * * *"), grace="5m")
def minutely(run: Run) -> None:
    for step in ("first", "second", "third"):
        run.step(step, effects.leave, run, step)
