"""The command as a person or a script uses it: called with arguments, judged by what it says and returns."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from cronce.engine.operations import Operations
from cronce_tools.cli.app import app
from cronce_tools.cli.stack_choice import Target
from cronce_tools.cli.stacks import reach

NOBODY = {
    "AWS_ACCESS_KEY_ID": None,
    "AWS_SECRET_ACCESS_KEY": None,
    "AWS_SESSION_TOKEN": None,
    "AWS_PROFILE": None,
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ENDPOINT_URL": None,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "CRONCE_STACK": None,
}
"""Variables of somebody who is not logged in."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a call came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it answered, line by line, with single blanks."""
        return [" ".join(line.split()) for line in self.out.splitlines()]

    @property
    def complaint(self) -> str:
        """The one line that it complained in; there was nothing else."""
        (line,) = self.err.splitlines()
        assert self.out == ""
        assert line.startswith("cronce: ")
        return line.removeprefix("cronce: ")

    @property
    def json(self) -> Any:
        """The document that it answered."""
        return json.loads(self.out)


def cronce(
    *arguments: str | Path, environment: Mapping[str, str | None] | None = None, typed: str = ""
) -> Said:
    """Call the command.

    Args:
        arguments: what follows `cronce`.
        environment: variables that are set or (None) taken away.
        typed: what the person answers to its questions.
    """
    result = CliRunner().invoke(
        app, [str(each) for each in arguments], env=environment, input=typed, prog_name="cronce"
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Said(code=result.exit_code, out=result.stdout, err=result.stderr)


def did_run(*question: str) -> tuple[int, list[str]]:
    """The exit code and the lines of an answer; there was nothing to complain about."""
    said = cronce("did-run", *question)
    assert said.err == ""
    return said.code, said.lines


def operations() -> Operations:
    """What operators do, without the command."""
    return reach(Target(stack="cronce-local"), lambda _: None).operator.operations
