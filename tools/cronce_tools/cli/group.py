"""The `cronce` command as a whole: global options stand anywhere, every end is one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from cronce_tools.cli.exits import TRACEBACK, Exit, UsageError, explained
from cronce_tools.cli.output import harmless

WITH_VALUE = ("--stack", "--env", "--region", "--profile", "--project", "--by")
FLAGS = ("--local", "--json")


class Commands(TyperGroup):
    """The group of all commands."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the global options from wherever they stand."""
        rest: list[str] = super().parse_args(ctx, hoisted(args))
        return rest

    @override
    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and end the process with its exit code."""
        extra["standalone_mode"] = False  # errors come here
        try:
            code = super().main(*args, **extra)
        except typer.Abort:
            code = Exit.STOPPED
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            code, text = _told(error)
            print(f"cronce: {harmless(text)}", file=sys.stderr)
        sys.exit(int(code or Exit.YES))


def hoisted(args: Sequence[str]) -> list[str]:
    """The arguments with the global options first. What follows `--` is left alone.

    Raises:
        UsageError: the last one lacks its value.
    """
    first: list[str] = []
    rest: list[str] = []
    left = list(args)
    while left:
        arg = left.pop(0)
        if arg == "--":
            return [*first, *rest, arg, *left]
        if arg in WITH_VALUE:
            if not left or left[0].startswith("--"):
                raise UsageError(f"option {arg} takes a value")
            first += [arg, left.pop(0)]
        elif arg in FLAGS or arg.startswith(tuple(f"{name}=" for name in WITH_VALUE)):
            first.append(arg)
        else:
            rest.append(arg)
    return first + rest


def _told(error: Exception) -> tuple[Exit, str]:
    if type(error).__module__.startswith("typer.") and hasattr(error, "format_message"):
        text = " ".join(str(error.format_message()).split())
        command = getattr(getattr(error, "ctx", None), "command_path", "cronce")
        return Exit.USAGE, f"{text.rstrip('.')} (`{command} --help` says more)"
    return explained(error)
