"""Which stack is meant.

In this order: `--stack`, `--env` (a section of samconfig.toml) or `--local`, of which one may be given; the
variable CRONCE_STACK; the stack of `make local` if it runs; the section `dev` of samconfig.toml, to which
`make deploy` deploys as well.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cronce_tools.cli.call import Choice
from cronce_tools.cli.exits import UnreachableError, UsageError
from cronce_tools.emulator.local_note import STACK, running
from cronce_tools.emulator.process import Endpoint

DEFAULT_ENV = "dev"
"""As in the Makefile."""
STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A stack that is meant, and how to get there.

    Attributes:
        stack: its name.
        region: where; None: what the AWS configuration says.
        profile: of the AWS configuration; None: its default.
        endpoint: local AWS; None: AWS.
        guessed: nobody said which, and `make local` does not run.
    """

    stack: str
    region: str | None = None
    profile: str | None = None
    endpoint: Endpoint | None = None
    guessed: bool = False


def target_of(choice: Choice, project: Path) -> Target:
    """The stack that is meant.

    Raises:
        UsageError: more than one is named, or by a name that no stack has.
        UnreachableError: the local one does not run, or the section does not exist.
    """
    _check(choice)
    named = choice.stack or (None if choice.env or choice.local else choice.environment.get("CRONCE_STACK"))
    if named:
        return Target(stack=_named(named), region=_region(choice), profile=choice.profile)
    endpoint = None if choice.env else running(project)
    if endpoint is not None:
        return Target(stack=STACK, region=endpoint.region, endpoint=endpoint)
    if choice.local:
        raise UnreachableError("no local stack runs: `make local` starts one")
    return _of_section(choice, project)


def _named(name: str) -> str:
    if not STACK_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a stack: letters, digits and '-', a letter first")
    return name


def _check(choice: Choice) -> None:
    for option in ("stack", "env", "region", "profile"):
        if getattr(choice, option) == "":  # a variable of a script that is not set: not whatever comes first
            raise UsageError(f"--{option} is empty")
    said = {"--stack": choice.stack, "--env": choice.env, "--local": choice.local}
    given = [name for name, value in said.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} both say which stack is meant: give one of them")
    if choice.local and (choice.region or choice.profile):
        raise UsageError("the local stack has neither --region nor --profile")


def _of_section(choice: Choice, project: Path) -> Target:
    """The stack of a section of samconfig.toml, with the Region and profile that `sam deploy` takes."""
    env, file = choice.env or DEFAULT_ENV, project / "samconfig.toml"
    try:
        config = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreachableError(
            f"no stack is named: give --stack, or --env with a {file.name} ({error.strerror})"
        ) from None
    except (ValueError, RecursionError) as error:
        raise UnreachableError(f"{file} cannot be read: {error}") from None
    section = _parameters(config, env)
    for name in ("stack_name", "region", "profile"):
        if not isinstance(section.get(name, ""), str):
            raise UnreachableError(
                f"{name} in the section [{env}.deploy.parameters] of {file.name} is no text"
            )
    if not section.get("stack_name"):
        raise UnreachableError(
            f"no stack_name in the section [{env}.deploy.parameters] of {file.name}: give --stack"
        )
    return Target(
        stack=_named(section["stack_name"]),
        region=choice.region or section.get("region") or _region(choice),
        profile=choice.profile or section.get("profile"),
        guessed=choice.env is None,
    )


def _parameters(config: Mapping[str, Any], env: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for command in ("global", "deploy"):
        section: Any = config
        for name in (env, command, "parameters"):
            section = section.get(name) if isinstance(section, dict) else None
        found.update(section if isinstance(section, dict) else {})
    return found


def _region(choice: Choice) -> str | None:
    """AWS_REGION counts too: Lambda and many shells set only that, and the SDK reads the other one."""
    variables = choice.environment
    return choice.region or variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION")
