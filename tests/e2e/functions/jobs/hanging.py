"""Its first run never comes back."""

from __future__ import annotations

import effects

from cronce import Cron, Retry, Run, job


@job("hanging", schedule=Cron("* * * * *"), grace="10m", timeout="5s", retry=Retry(attempts=1))
def hanging(run: Run) -> None:
    if run.step("choose", effects.is_chosen, run):
        run.step("hang", effects.wait)
