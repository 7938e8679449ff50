"""Commands that change something: who and why is kept, and each writes on the condition of what it read."""

from __future__ import annotations

from typing import Annotated

import typer

from cronce_tools.cli.call import call_of
from cronce_tools.cli.commands.read import JobName, RunId

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why; it is kept with what is done.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Wait = Annotated[
    bool, typer.Option("--wait", help="Until the run has ended: exit code 0 only if it succeeded.")
]


def add_to(app: typer.Typer) -> None:
    """Add them, in the order in which the help names them."""
    app.command("trigger")(trigger)
    app.command("backfill")(backfill)
    app.command("pause")(pause)
    app.command("resume")(resume)
    app.command("rewind")(rewind)
    app.command("retry")(retry)
    app.command("cancel")(cancel)
    app.command("resolve")(resolve)
    app.command("ack")(ack)


def trigger(
    context: typer.Context,
    job: JobName,
    *,
    given: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="The run's input: JSON, or @FILE.")
    ] = None,
    reason: Reason = "",
    wait: Wait = False,
) -> int:
    """Run a job now, outside its schedule."""
    from cronce_tools.cli import run_commands

    return run_commands.trigger(call_of(context), job, given, reason, wait=wait)


def backfill(
    context: typer.Context,
    job: JobName,
    *,
    since: Annotated[str, typer.Option("--from", metavar="TIME", help="From here on.")],
    until: Annotated[str, typer.Option("--to", metavar="TIME", help="Up to here; a day as a whole.")],
    gaps: Annotated[bool, typer.Option("--gaps", help="Times in gaps too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    reason: Reason = "",
    yes: Yes = False,
) -> int:
    """Make runs for times of the past that have none. The schedule in force now names them."""
    from cronce_tools.cli import backfilling

    wish = backfilling.Wish(
        job=job, since=since, until=until, gaps=gaps, dry_run=dry_run, yes=yes, reason=reason
    )
    return backfilling.backfill(call_of(context), wish)


def pause(context: typer.Context, job: JobName, *, reason: Reason = "") -> int:
    """Stop planning a job. Runs that exist go on."""
    from cronce_tools.cli import job_commands

    return job_commands.pause(call_of(context), job, reason)


def resume(
    context: typer.Context,
    job: JobName,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would become of what is due.")
    ] = False,
    reason: Reason = "",
) -> int:
    """Let a paused job go on. What came due meanwhile is judged by its policies."""
    from cronce_tools.cli import job_commands, rewinding

    if dry_run:
        return rewinding.foresee(call_of(context), job)
    return job_commands.resume(call_of(context), job, reason)


def ack(context: typer.Context, job: JobName, *, reason: Reason = "") -> int:
    """Close the alert of a job. What it lists is known, and not told again."""
    from cronce_tools.cli import job_commands

    return job_commands.acknowledge(call_of(context), job, reason)


def rewind(
    context: typer.Context,
    job: JobName,
    *,
    to: Annotated[str, typer.Option(metavar="TIME", help="From here on.")],
    replan_gaps: Annotated[bool, typer.Option("--replan-gaps", help="Times in gaps too.")] = False,
    reason: Reason = "",
    yes: Yes = False,
) -> int:
    """Plan a stretch again after a loss. What has a record, or lies in a gap, is left alone."""
    from cronce_tools.cli import rewinding

    wish = rewinding.Wish(job=job, to=to, replan_gaps=replan_gaps, yes=yes, reason=reason)
    return rewinding.rewind(call_of(context), wish)


def retry(context: typer.Context, run: RunId, *, reason: Reason = "", wait: Wait = False) -> int:
    """Let a failed run go on at the step that failed. So can one that was skipped or cancelled."""
    from cronce_tools.cli import run_commands

    return run_commands.retry(call_of(context), run, reason, wait=wait)


def cancel(context: typer.Context, run: RunId, *, reason: Reason = "", yes: Yes = False) -> int:
    """End a run. One that is running stops at its next step."""
    from cronce_tools.cli import run_commands

    return run_commands.cancel(call_of(context), run, reason, yes=yes)


def resolve(
    context: typer.Context,
    run: RunId,
    step: Annotated[
        str, typer.Argument(metavar="STEP", help="Name of the step that was begun at most once.")
    ],
    *,
    done: Annotated[
        str | None, typer.Option(metavar="JSON", help="It was done, and this is its value (null for none).")
    ] = None,
    redo: Annotated[bool, typer.Option("--redo", help="It was surely not done: do it again.")] = False,
    reason: Reason = "",
    yes: Yes = False,
) -> int:
    """Say what came of a step in doubt. The run goes on."""
    from cronce_tools.cli.run_commands import Settlement
    from cronce_tools.cli.run_commands import resolve as say

    return say(call_of(context), run, Settlement(step=step, done=done, redo=redo), reason, yes=yes)
