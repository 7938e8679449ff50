"""The command that compares a deployed stack with what is expected of it."""

from __future__ import annotations

import typer

from cronce_tools.cli.call import call_of


def add_to(app: typer.Typer) -> None:
    """Add it."""
    app.command("doctor")(doctor)


def doctor(context: typer.Context) -> int:
    """Compare the deployed stack with its template: what is wrong, why it matters, and what helps."""
    from cronce_tools.cli.examining import examine_stack

    return examine_stack(call_of(context))
