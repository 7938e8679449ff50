"""`python -m cronce_tools.jobs`: your jobs with their schedules and next times, and what is wrong.

Exit status: 0 if everything can be used, 1 if something cannot.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cronce.aws.clock import SystemClock
from cronce.core.job import Job
from cronce.engine.import_problem import import_problem
from cronce.engine.registry import Catalog, discover

PACKAGE = "jobs"
PLAIN_WIDTH = 200
"""Columns where there is no terminal to ask: a file or a pipe wants one line for each job."""
LOOK_AHEAD = 10_000
"""Excluded times in a row that are passed over: a week of a job that is due each minute."""
ANY_REGION = "us-east-1"
"""For a client that a module makes at its import, as in Lambda, where a Region is set. Nobody calls."""


def next_time(job: Job, now: datetime) -> datetime | None:
    """The next time at which the job will run; None if there is none, or none in sight.

    Args:
        job: its calendar may raise, being the author's.
        now: aware UTC.
    """
    at: datetime | None = now
    for _ in range(LOOK_AHEAD):
        at = job.schedule.next_after(at) if at else None
        if at is None or not job.is_excluded(at):
            return at
    return None


def report(console: Console, package: str, catalog: Catalog, now: datetime) -> int:
    """Print jobs and problems. Returns the exit status.

    Args:
        console: where to.
        package: where the jobs were looked for.
        catalog: what was found.
        now: aware UTC.
    """
    problems = dict(catalog.problems)
    table = Table("job", "schedule", "next (local)", "next (UTC)", "module", box=None, pad_edge=False)
    notes = []
    for name, declared in catalog.jobs.items():
        schedule = declared.job.schedule
        try:
            at = next_time(declared.job, now)
        except Exception as error:  # noqa: BLE001 - the author's calendar
            problems[declared.module] = f"job {name!r}: exclude: {import_problem(error, package).text}"
            at = None
        times = (_shown(schedule.local(at)), _shown(at)) if at else ("none", "none")
        table.add_row(*map(escape, (name, schedule.describe(), *times, declared.module)))
        notes += [f"{name}: {warning}" for warning in schedule.warnings()]
    console.print(table if catalog.jobs else f"No jobs were found in the package {package!r}.")
    for note in notes:
        console.print(f"note: {note}", markup=False)
    for module, problem in sorted(problems.items()):
        console.print(f"problem in {module}: {problem}", markup=False, style="red")
    return int(bool(problems))


def _shown(at: datetime) -> str:
    return at.strftime("%a %Y-%m-%d %H:%M:%S %Z" if at.second else "%a %Y-%m-%d %H:%M %Z")


def main() -> int:
    """List the jobs in `functions/jobs`. Returns the exit status."""
    os.environ.setdefault("AWS_DEFAULT_REGION", ANY_REGION)
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True, width=width)
    return report(console, PACKAGE, discover(PACKAGE), SystemClock().now())


if __name__ == "__main__":
    sys.exit(main())
