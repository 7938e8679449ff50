"""Before something that cannot be taken back, or is a lot: ask whoever is there."""

from __future__ import annotations

import sys

import typer

from cronce_tools.cli.exits import UsageError


def somebody_is_there() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(question: str, *, yes: bool) -> bool:
    """Whether to go on.

    Args:
        question: what is going to be done, without a question mark.
        yes: it was agreed to beforehand.

    Raises:
        UsageError: nobody is there to be asked.
    """
    if yes:
        return True
    if not somebody_is_there():
        raise UsageError(f"{question}: nobody is there to be asked; --yes agrees beforehand")
    if typer.confirm(f"{question}. Go on?", err=True):
        return True
    print("nothing was done", file=sys.stderr)
    return False
