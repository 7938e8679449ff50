"""Its first run takes a minute and a half: longer than its grace, and than one invocation."""

from __future__ import annotations

import effects

from cronce import Cron, Run, job

NAPS = 9
NAP = 10.0


def nap(run: Run, number: int) -> None:
    effects.leave(run, f"nap {number}")
    effects.wait(NAP)


@job("slow", schedule=Cron("* * * * *"), grace="1m")
def slow(run: Run) -> None:
    if run.step("choose", effects.is_chosen, run):
        for number in range(NAPS):
            run.step(f"nap-{number}", nap, run, number)
