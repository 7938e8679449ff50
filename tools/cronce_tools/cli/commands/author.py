"""Commands for whoever writes jobs: they look at the working copy and need no stack."""

from __future__ import annotations

from typing import Annotated

import typer

from cronce_tools.cli.call import call_of


def add_to(app: typer.Typer) -> None:
    """Add them, in the order in which the help names them."""
    app.command("validate")(validate)
    app.command("new")(new)


def validate(context: typer.Context) -> int:
    """Check and list the jobs of the working copy. Each module is imported, as a deployment would."""
    from cronce_tools.cli.validation import validate_jobs

    return validate_jobs(call_of(context))


def new(
    context: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="Name of the new job: a-z, 0-9 and '-'.")],
    *,
    cron: Annotated[str, typer.Option(metavar="EXPRESSION", help='When, such as "0 6 * * *".')],
    tz: Annotated[str, typer.Option(metavar="ZONE", help="Time zone, such as Europe/Berlin.")] = "UTC",
) -> int:
    """Write a job and its test."""
    from cronce_tools.cli.scaffold import new_job

    return new_job(call_of(context), job, cron, tz)
