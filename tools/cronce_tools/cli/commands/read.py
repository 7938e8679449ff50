"""Commands that ask a stack and change nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from cronce_tools.cli.call import call_of

JobName = Annotated[str, typer.Argument(metavar="JOB", help="A job's name.")]

RunId = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run's id, such as menu@2026-03-08T07:00:00Z; `runs` lists them."),
]


def add_to(app: typer.Typer) -> None:
    """Add them, in the order in which the help names them."""
    app.command("list")(list_)
    app.command("next")(next_)
    app.command("runs")(runs)
    app.command("show")(show)
    app.command("did-run")(did_run)
    app.command("history")(history)


def list_(context: typer.Context) -> int:
    """All jobs: schedule, next time, last result, trouble."""
    from cronce_tools.cli.listing import list_jobs

    return list_jobs(call_of(context))


def next_(
    context: typer.Context,
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="Of this job only.")] = None,
    *,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Begin here, included; now by default.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="End here, included; a day as a whole.")
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            help="At most so many times of a job; 10 by default, of all jobs 1 each.",
            show_default=False,
        ),
    ] = None,
    code: Annotated[
        bool, typer.Option("--code", help="By the working copy's code, not by the stack's schedule.")
    ] = False,
) -> int:
    """The next times of a job, or of all. Those that a clock change moves or repeats are marked."""
    from cronce_tools.cli.upcoming import Question, next_times

    return next_times(call_of(context), Question(job=job, since=since, until=until, count=count, code=code))


def runs(
    context: typer.Context,
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="Of this job only.")] = None,
    *,
    status: Annotated[
        list[str] | None, typer.Option(metavar="STATUS", help="In this state; may be given again.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="From here on: a day, a time, or 90m, 2h, 7d ago.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Up to here; a day as a whole.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="The newest so many.")] = 20,
) -> int:
    """Runs by state and time, newest first."""
    from cronce_tools.cli.runs import Question, list_runs

    question = Question(job=job, status=tuple(status or ()), since=since, until=until, limit=limit)
    return list_runs(call_of(context), question)


def show(context: typer.Context, run: RunId) -> int:
    """One run: attempts, steps, errors, operators, log."""
    from cronce_tools.cli.show import show_run

    return show_run(call_of(context), run)


def did_run(
    context: typer.Context,
    job: JobName,
    when: Annotated[
        str,
        typer.Argument(
            metavar="DATE", help="A day (2026-03-08, today, yesterday), a local time, an instant."
        ),
    ],
) -> int:
    """Did it run? Yes (exit code 0) or no (1), and why."""
    from cronce_tools.cli.did_run import answer_whether_it_ran

    return answer_whether_it_ran(call_of(context), job, when)


def history(
    context: typer.Context,
    job: JobName,
    *,
    month: Annotated[str | None, typer.Option(metavar="YYYY-MM", help="This month by default.")] = None,
) -> int:
    """A month's calendar. What ran, was late, failed, was skipped or missed."""
    from cronce_tools.cli.history import show_history

    return show_history(call_of(context), job, month)
