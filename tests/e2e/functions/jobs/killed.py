"""Its first run waits, in the middle of a step, until a test kills its process."""

from __future__ import annotations

import effects

from cronce import Cron, Retry, Run, job


def die_once(run: Run, chosen: bool, *, idempotency_key: str) -> None:
    effects.leave(run, "during", idempotency_key)
    if chosen and run.attempt == 1:
        effects.wait()


@job("killed", schedule=Cron("* * * * *"), grace="10m", retry=Retry(attempts=3, base="0s"))
def killed(run: Run) -> None:
    chosen = run.step("choose", effects.is_chosen, run)
    run.step("before", effects.leave, run, "before")
    run.step("during", die_once, run, chosen)
    run.step("after", effects.leave, run, "after")
