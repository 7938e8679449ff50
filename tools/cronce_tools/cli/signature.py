"""Who gives a command: that is kept with what it does."""

from __future__ import annotations

import getpass
import re
from typing import TYPE_CHECKING

from cronce.core.acts import WHO_LIMIT
from cronce_tools.cli.exits import UsageError

if TYPE_CHECKING:
    from cronce_tools.cli.stacks import Reached

ARN = re.compile(r"arn:[a-z-]+:(?:iam|sts)::\d+:(?P<kind>[a-z-]+)(?:/(?P<path>.+))?")
NOBODYS = re.compile(r"botocore-session-\d+|boto3-session.*|AWSCLI-Session.*|aws-go-sdk-\d+|i-[0-9a-f]+")
"""Names of sessions that a program has made up: they say nothing of a person."""


def caller(stack: Reached, said: str | None) -> str:
    """Who it is.

    Args:
        stack: in whose account; AWS is asked who calls.
        said: with `--by`; outranks the rest.

    Raises:
        UsageError: nobody can be named.
    """
    if said is not None:
        return said
    here = _user()
    name = here if stack.is_local else _of_arn(_arn(stack), here)
    if not name:
        raise UsageError("nobody knows who calls: say it with --by")
    return name.encode(errors="replace")[-WHO_LIMIT:].decode(errors="ignore")


def _arn(stack: Reached) -> str:
    return str(stack.client("sts").get_caller_identity()["Arn"])


def _of_arn(arn: str, here: str) -> str:
    """The name of a user, or of a role's session; with the user of this machine if that names nobody."""
    match = ARN.fullmatch(arn)
    path = (match["path"] or match["kind"]) if match else arn
    name = path.rpartition("/")[2]
    role = path.split("/")[0]
    return f"{here} as {role}".removeprefix(" as ") if NOBODYS.fullmatch(name) else name


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
