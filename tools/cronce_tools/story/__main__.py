"""`python -m cronce_tools.story`: plays the story, prints figures, ledger and verdict.

Exit status: 0 if every promise was kept, 1 if one was broken.
"""

from __future__ import annotations

import sys
import time

import jobs
from rich.console import Console
from rich.table import Table

from cronce.core.run import RunStatus
from cronce.engine.registry import discover
from cronce_tools.local.stack import local_stack
from cronce_tools.story.scene import Figure
from cronce_tools.story.scenes import SCENES
from cronce_tools.story.verdict import JobVerdict, judge
from cronce_tools.story.world import STORY_JOBS, World, at

START = at(30, "08:44")
STATUSES = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.SKIPPED)


def main() -> int:
    """Play all scenes. Returns the exit status."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    began = time.perf_counter()
    jobs.__path__.append(str(STORY_JOBS))  # the story's own jobs, beside those in functions/jobs
    console.print("[bold]cronce[/]: the deployed handlers on a virtual clock, AWS in memory. Every figure is counted in the tables.\n")
    with local_stack(START) as stack, console.status("") as status:
        world = World(stack, lambda text: status.update(text))
        figures: list[Figure] = []
        for number, scene in enumerate(SCENES, 1):
            console.print(f"[bold]{number}. {scene.title}[/]")
            found = scene.play(world)
            figures += found
            for figure in found:
                _print(console, figure)
        verdicts = [judge(world, job, START, stack.clock.now()) for job in discover("jobs").jobs.values()]
        console.print(_ledger(verdicts))
        seconds = time.perf_counter() - began
        kept = all(figure.kept for figure in figures) and all(verdict.kept for verdict in verdicts)
        broken = sum(not figure.kept for figure in figures) + sum(not verdict.kept for verdict in verdicts)
        console.print(
            f"{world.ticks} ticks, {sum(stack.cloud.calls.values())} calls to AWS, "
            f"{len(stack.notices)} notices, {seconds:.0f} s.\n"
            + ("[bold green]Every promise was kept.[/]" if kept else f"[bold red]{broken} promises were broken.[/]")
        )
    return 0 if kept else 1


def _print(console: Console, figure: Figure) -> None:
    mark = "[green]kept  [/]" if figure.kept else "[red]BROKEN[/]"
    console.print(f"   {mark} {figure.what}: [bold]{figure.value}[/]")


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
    sys.exit(main())
