"""What the global options of one call say, and the stack that they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cronce_tools.cli.output import Output

if TYPE_CHECKING:
    from cronce_tools.cli.stacks import Reached

PROJECT = Path(__file__).resolve().parents[3]
"""The working copy that this command belongs to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Which stack is meant, as far as it was said.

    Attributes:
        stack: its name.
        env: a section of samconfig.toml.
        local: the one of `make local`.
        region: where it is.
        profile: of the AWS configuration.
        environment: the process's variables.
    """

    stack: str | None = None
    env: str | None = None
    local: bool = False
    region: str | None = None
    profile: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of the command.

    Attributes:
        choice: which stack.
        project: the working copy.
        by: who calls, if it was said.
        output: where answers go.
    """

    choice: Choice
    project: Path
    by: str | None
    output: Output

    def reach(self) -> Reached:
        """The stack.

        Raises:
            UnreachableError: there is none, or it cannot be asked.
            UsageError: it is not clear which one is meant.
        """
        from cronce_tools.cli.stack_choice import target_of  # noqa: PLC0415 - who needs no stack loads none of it
        from cronce_tools.cli.stacks import reach  # noqa: PLC0415
        from cronce_tools.cli.working_copy import WorkingCopy  # noqa: PLC0415

        return reach(target_of(self.choice, self.project), WorkingCopy(self.project).job_of)


def call_of(context: typer.Context) -> Call:
    """The present call."""
    call = context.obj
    if not isinstance(call, Call):
        raise TypeError("a command was called without its group")
    return call
