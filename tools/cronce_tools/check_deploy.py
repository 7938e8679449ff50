"""Say at once what would end a deployment after minutes of building: parameters, credentials, Region.

A plain script for .venv-sam, from the project's folder: `check_deploy.py ENV [arguments of sam deploy]`. Asks
nothing of the network but what boto3 asks to find credentials.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError

CONFIG = Path("samconfig.toml")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def problems(env: str, arguments: list[str]) -> list[str]:
    """What is missing for a deployment; each says what to do.

    Args:
        env: the section of samconfig.toml.
        arguments: those that `sam deploy` will be given besides.
    """
    if not NAME.fullmatch(env):
        return [f"ENV is {env!r}; it takes the name of a section of {CONFIG}, such as dev"]
    parameters = Path(f"parameters/{env}.yaml")
    found = [] if parameters.is_file() else [f"no {parameters}: copy parameters/dev.yaml"]
    try:
        config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [*found, f"{CONFIG} cannot be read: {error}"]
    section = config.get(env, {}).get("deploy", {}).get("parameters")
    if section is None:
        found.append(f"no section [{env}.deploy.parameters] in {CONFIG}: copy that of dev")
    return found + _of_account(
        {**config.get(env, {}).get("global", {}).get("parameters", {}), **(section or {})}, arguments
    )


def _of_account(section: dict[str, Any], arguments: list[str]) -> list[str]:
    """What is missing to reach an account; an argument outranks the section, as with `sam deploy`."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--profile", default=section.get("profile"))
    parser.add_argument("--region", default=section.get("region"))
    given, _ = parser.parse_known_args(arguments)
    try:
        session = boto3.Session(profile_name=given.profile, region_name=given.region)
        credentials = session.get_credentials()
    except BotoCoreError as error:
        return [f"no AWS credentials: {error}"]
    found = []
    if credentials is None:
        found.append("no AWS credentials: log in (`aws sso login`, `aws configure`) or set AWS_PROFILE")
    if not session.region_name:
        found.append(f"no Region: set AWS_DEFAULT_REGION, or `region` in {CONFIG}")
    return found


def main(arguments: list[str]) -> int:
    """Print what is missing.

    Returns:
        0; 2 if anything is.
    """
    found = problems(arguments[0], arguments[1:]) if arguments else ["usage: check_deploy.py ENV [ARGS]"]
    for problem in found:
        print(problem, file=sys.stderr)
    return 2 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
