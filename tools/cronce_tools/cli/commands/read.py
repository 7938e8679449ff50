"""Commands that ask a stack and change nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from cronce_tools.cli.call import call_of

JobName = Annotated[str, typer.Argument(metavar="JOB", help="A job's name.")]


def add_to(app: typer.Typer) -> None:
    """Add them, in the order in which the help names them."""
    app.command("list")(list_)
    app.command("next")(next_)


def list_(context: typer.Context) -> int:
    """All jobs: schedule, next time, last result, and what is wrong."""
    from cronce_tools.cli.listing import list_jobs

    return list_jobs(call_of(context))


def next_(
    context: typer.Context,
    job: JobName,
    *,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Begin here, included; now by default.")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="End here, excluded.")] = None,
    count: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many times.")] = 10,
    code: Annotated[
        bool, typer.Option("--code", help="By the working copy's code, not by the stack's schedule.")
    ] = False,
) -> int:
    """The next times of a job; those that a clock change moves or repeats are marked."""
    from cronce_tools.cli.upcoming import Question, next_times

    return next_times(call_of(context), Question(job=job, since=since, until=until, count=count, code=code))
