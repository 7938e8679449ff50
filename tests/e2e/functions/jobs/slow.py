"""Its first run takes two minutes: longer than its grace, and than one invocation."""

from __future__ import annotations

import effects

from cronce import Cron, Run, job

NAPS = 12
NAP = 10.0


def nap(run: Run, number: int) -> None:
    effects.leave(run, f"nap {number}")
    effects.wait(NAP)


@job("slow", schedule=Cron("* * * * *"), grace="1m")
def slow(run: Run) -> None:
    if run.step("choose", effects.is_chosen, run):
        for number in range(NAPS):
            run.step(f"nap-{number}", nap, run, number)
