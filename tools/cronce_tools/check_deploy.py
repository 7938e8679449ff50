"""Say at once what would end a deployment after minutes of building: parameters, credentials, Region.

A plain script for .venv-sam, from the project's folder: `check_deploy.py ENV [arguments of sam deploy]`.
While .venv-sam is not made yet, .venv executes it first, if that is there: to make one takes a minute. Asks
nothing of the network but what boto3 asks to find credentials.
"""

import argparse
import difflib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import boto3
import yaml
from botocore.exceptions import BotoCoreError, MissingDependencyException

CONFIG = Path("samconfig.toml")
TEMPLATE = Path("template.yaml")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,59}")
"""CloudFormation takes 128 characters; with more than 60 the policy for operators outgrows IAM's limit."""


class _Untagged(yaml.SafeLoader):
    """Reads a template; what its functions (`!Ref` and the like) stand for does not matter here."""


_Untagged.add_multi_constructor("!", lambda _loader, _tag, _node: None)


def problems(env: str, arguments: list[str]) -> list[str]:
    """What is missing for a deployment; each says what to do.

    Args:
        env: the section of samconfig.toml.
        arguments: those that `sam deploy` will be given besides.
    """
    if not NAME.fullmatch(env):
        return [f"ENV is {env!r}; it takes the name of a section of {CONFIG}, such as dev"]
    found = _of_parameters(Path(f"parameters/{env}.yaml"))
    try:
        config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [*found, f"{CONFIG} cannot be read: {error}"]
    section = config.get(env, {}).get("deploy", {}).get("parameters")
    if section is None:
        found.append(f"no section [{env}.deploy.parameters] in {CONFIG}: copy that of dev")
    section = {**config.get(env, {}).get("global", {}).get("parameters", {}), **(section or {})}
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ("profile", "region", "stack_name"):  # an argument outranks the section, as with `sam deploy`
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name, default=section.get(name))
    parser.add_argument("--guided", "-g", action="store_true")
    given, _ = parser.parse_known_args(arguments)
    return found + _of_stack_name(given.stack_name) + _of_account(given)


def _of_parameters(file: Path) -> list[str]:
    """What is wrong with the parameters. SAM drops a name that the template does not have without a word."""
    if not file.is_file():
        return [f"no {file}: copy parameters/dev.yaml"]
    try:
        given = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, ValueError) as error:
        return [f"{file} cannot be read: {' '.join(str(error).split())}"]
    if not isinstance(given, dict):
        return [f"{file} holds no lines of the form `Name: value`"]
    try:
        declared = yaml.load(TEMPLATE.read_text(encoding="utf-8"), _Untagged)["Parameters"]  # noqa: S506
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        return [f"{TEMPLATE} cannot be read: {' '.join(str(error).split())}"]
    found = []
    for name, value in given.items():
        if name not in declared:
            near = difflib.get_close_matches(str(name), declared, 1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(declared))}"
            found.append(f"{file}: {TEMPLATE} has no parameter {name}: {meant}")
        elif refusal := _refusal(declared[name], value):
            found.append(f"{file}: {name}: {refusal}, not {value!r}")
    return found


def _refusal(declared: dict[str, Any], value: object) -> str | None:
    """What a parameter takes, if that is not the value; CloudFormation's own rules, from the template."""
    if not isinstance(value, str | int | float):
        return "takes text or a number"
    text = str(value)
    allowed = [str(each) for each in declared.get("AllowedValues", [text])]
    if text not in allowed:
        return f"takes one of {', '.join(allowed)}"
    if declared.get("Type") == "Number":
        least, most = declared.get("MinValue", float("-inf")), declared.get("MaxValue", float("inf"))
        try:
            if not least <= float(text) <= most:
                return f"takes a number from {least} to {most}"
        except ValueError:
            return "takes a number"
    if not re.fullmatch(declared.get("AllowedPattern", r"(?s:.*)"), text):
        return str(declared.get("ConstraintDescription", f"must match {declared.get('AllowedPattern')}"))
    return None


def _of_stack_name(name: str | None) -> list[str]:
    """What is wrong with the stack's name. `--guided` asks for one that is not given."""
    if name is None or STACK_NAME.fullmatch(name):
        return []
    return [f"the stack's name is {name!r}; it takes a letter, then up to 59 letters, digits and hyphens"]


def _of_account(given: argparse.Namespace) -> list[str]:
    """What is missing to reach an account. `--guided` asks for the Region itself."""
    try:
        session = boto3.Session(profile_name=given.profile, region_name=given.region)
        credentials = session.get_credentials()
    except MissingDependencyException:
        return []  # .venv-sam has what some credentials need, is made later, and is asked then
    except BotoCoreError as error:
        return [f"no AWS credentials: {error}"]
    found = []
    if credentials is None:
        found.append("no AWS credentials: log in (`aws sso login`, `aws configure`) or set AWS_PROFILE")
    if not session.region_name and not given.guided:
        found.append(f"no Region: set AWS_DEFAULT_REGION (not AWS_REGION), or `region` in {CONFIG}")
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
