"""`python -m cronce_tools.story`: plays the story, prints figures, ledger and verdict.

Exit status: 0 if every promise was kept, 1 if one was broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from random import SystemRandom

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cronce.core.run import RunStatus
from cronce.engine.registry import discover
from cronce_tools.local.stack import local_stack
from cronce_tools.story.cast import AT_NIGHT, OWN, MissingSampleError, cast
from cronce_tools.story.fault_night import FALLS, fault_night
from cronce_tools.story.labour import in_world
from cronce_tools.story.records import NoRecordError
from cronce_tools.story.scene import Figure, Scene
from cronce_tools.story.scenes import SCENES
from cronce_tools.story.verdict import JobVerdict, judge
from cronce_tools.story.world import World, at
from cronce_tools.story.yours import scene, your_jobs

START = at(30, "08:44")
SEEDS = 1_000_000
PLAIN_WIDTH = 110
"""Columns of the ledger where there is no terminal to ask."""
STATUSES = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.SKIPPED)


def main() -> int:
    """Play all scenes, and a night of faults. Returns the exit status."""
    asked = _arguments()
    seed = SystemRandom().randrange(SEEDS) if asked.seed is None else asked.seed
    night = Scene(
        f"A night of random faults (the same one again: make run SEED={seed})",
        partial(fault_night, seed=seed),
    )
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True, width=width)
    console.print("[bold]cronce[/]: the deployed handlers on a virtual clock, AWS in memory.")
    console.print("Every figure is counted in the tables.\n")
    broken = _act(console, START, OWN, SCENES)
    broken += _act(console, FALLS, AT_NIGHT, (night,), first=len(SCENES) + 1)
    broken += _your_act(console, number=len(SCENES) + 2)
    console.print(
        "[bold green]Every promise was kept.[/]" if not broken else f"[bold red]Broken promises: {broken}[/]"
    )
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make run", description="Plays the story.")
    parser.add_argument(
        "--seed", type=int, help="what goes wrong in the night of faults; by default drawn anew"
    )
    return parser.parse_args()


def _act(console: Console, start: datetime, jobs: Path, scenes: Sequence[Scene], first: int = 1) -> int:
    """Play scenes in a stack of their own, and print its ledger. Returns how many promises were broken."""
    began = time.perf_counter()
    with cast(jobs), local_stack(start) as stack, console.status("") as status:
        world = World(stack, status.update)
        with in_world(world.labour):
            broken = sum(_play(console, world, number, scene) for number, scene in enumerate(scenes, first))
        declared = [found.job for found in discover("jobs").jobs.values()]
        verdicts = [judge(world, job, start, stack.clock.now()) for job in declared]
    console.print(_ledger([verdict for verdict in verdicts if verdict.due]))
    calls, seconds = sum(stack.cloud.calls.values()), time.perf_counter() - began
    console.print(
        f"{world.ticks} ticks, {calls} calls to AWS, {len(stack.notices)} notices, {seconds:.0f} s.\n"
    )
    return broken + sum(not verdict.kept for verdict in verdicts)


def _your_act(console: Console, number: int) -> int:
    """Have the fork's own jobs planned, if there are any. Returns how many are not."""
    with local_stack(START) as stack:
        mine = your_jobs()
        return _play(console, World(stack, lambda _: None), number, scene(mine)) if mine else 0


def _play(console: Console, world: World, number: int, scene: Scene) -> int:
    """Play one scene and print its figures. Returns how many promises it saw broken."""
    console.print(f"[bold]{number}. {scene.title}[/]")
    try:
        figures = scene.play(world)
    except NoRecordError as error:
        figures = [Figure("a record", str(error), kept=False)]
    for figure in figures:
        mark = "[green]kept  [/]" if figure.kept else "[red]BROKEN[/]"
        console.print(f"   {mark} {figure.what}: [bold]{escape(str(figure.value))}[/]")
    return sum(not figure.kept for figure in figures)


def _ledger(verdicts: list[JobVerdict]) -> Table:
    table = Table(title="Ledger: every scheduled time of every job", title_justify="left", title_style="bold")
    table.add_column("job")
    for title in ("due", *(status.lower() for status in STATUSES), "in gaps", "unaccounted", "unfinished"):
        table.add_column(title, justify="right")
    for verdict in sorted(verdicts, key=lambda verdict: verdict.job):
        counts = [verdict.due, *(verdict.by_status[status] for status in STATUSES)]
        counts += [verdict.in_gaps, verdict.unaccounted + verdict.unscheduled, verdict.unfinished]
        table.add_row(verdict.job, *map(str, counts), style=None if verdict.kept else "red")
    return table


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MissingSampleError as missing:
        sys.exit(str(missing))
