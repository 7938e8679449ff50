"""Build and deploy for real, to the emulator: `make build` and `sam deploy` with the project's settings.

What the emulator refuses is left out of a copy of the built template, and reported.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from cronce_tools.emulator.process import ROOT, Endpoint
from cronce_tools.local.template import Template

SAM = ROOT / ".venv-sam/bin/sam"
FAILED = "failed.log"
"""File in a project's folder that keeps all that a failed command said."""
SHOWN_LINES = 8
PASSING = re.compile(r"\s|Traceback |Building |make: |$")
"""Lines of a failed command that begin so are in its log only: tracebacks and progress."""
POLL_SECONDS = "0.5"
"""SAM asks every five seconds whether a deployment is done; here it is done in two."""


class DeploymentError(Exception):
    """A command failed; the message has the last of what it said, and where all of it is."""


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A deployed stack.

    Attributes:
        name: of the stack.
        endpoint: where it is.
        outputs: of the template, by name.
        left_out: what the deployed template lacks, as `Resource` or `Resource.Property`.
    """

    name: str
    endpoint: Endpoint
    outputs: dict[str, str]
    left_out: tuple[str, ...]


def without_refused(resources: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The resources that the emulator takes, and the names of the others.

    It refuses alarms on expressions (`Metrics`) and composite alarms. Nothing may refer to either. One under
    a condition stays: as long as that does not hold, nothing is made of it.
    """
    refused = {
        name
        for name, resource in resources.items()
        if "Condition" not in resource
        and (
            resource["Type"] == "AWS::CloudWatch::CompositeAlarm"
            or (resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in resource["Properties"])
        )
    }
    kept = {name: resource for name, resource in resources.items() if name not in refused}
    return kept, tuple(sorted(refused))


def build(project: Path) -> None:
    """`make build` in a project folder.

    Raises:
        DeploymentError: it failed.
    """
    _run(["make", "-s", "build"], project, dict(os.environ))


def deploy(project: Path, stack: str, endpoint: Endpoint, parameters: Mapping[str, str]) -> Stack:
    """`sam deploy` of what was built in a project folder: makes the stack, or updates it.

    Args:
        project: with `samconfig.toml` and `.aws-sam/build`.
        stack: its name.
        endpoint: of the emulator.
        parameters: of the template; the others keep their value, at first the default.

    Raises:
        DeploymentError: it failed.
    """
    template, left_out = _deployable(project / ".aws-sam/build")
    runtime = (project / ".aws-sam/runtime").read_text().strip()
    overrides = {"PythonRuntime": runtime, **parameters}
    _sam(
        endpoint,
        project,
        [
            *("deploy", "--config-env", "dev", "--config-file", str(project / "samconfig.toml")),
            *("--template-file", str(template), "--stack-name", stack, "--no-confirm-changeset"),
            *("--parameter-overrides", *(f"{name}={value}" for name, value in overrides.items())),
        ],
    )
    return Stack(name=stack, endpoint=endpoint, outputs=outputs(endpoint, stack), left_out=left_out)


def delete(project: Path, stack: str, endpoint: Endpoint) -> None:
    """`sam delete` of a stack.

    Raises:
        DeploymentError: it failed.
    """
    _sam(endpoint, project, ["delete", "--stack-name", stack, "--region", endpoint.region, "--no-prompts"])


def outputs(endpoint: Endpoint, stack: str) -> dict[str, str]:
    """The outputs of a deployed stack, by name."""
    (found,) = client(endpoint, "cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}


def client(endpoint: Endpoint, service: str) -> Any:
    """A boto3 client of the emulator, as the account's owner."""
    return boto3.client(
        service,  # type: ignore[call-overload]  # any service
        endpoint_url=endpoint.url,
        region_name=endpoint.region,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - the emulator's owner has this one
    )


def _deployable(build_folder: Path) -> tuple[Path, tuple[str, ...]]:
    """The template to deploy: the built one itself if the emulator takes all of it."""
    built = build_folder / "template.yaml"
    template = Template.load(built)
    kept, left_out = without_refused(template.resources)
    if not left_out:
        return built, ()
    copy = build_folder / "template-for-emulator.json"
    copy.write_text(json.dumps({**template.body, "Resources": kept}))
    return copy, left_out


def _sam(endpoint: Endpoint, project: Path, arguments: list[str]) -> None:
    settings = {"SAM_CLI_TELEMETRY": "0", "SAM_CLI_POLL_DELAY": POLL_SECONDS}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    _run([str(SAM), *arguments], project, {**kept, **endpoint.environment(), **settings})


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        log = folder / FAILED
        log.write_text(done.stdout + done.stderr)
        name = " ".join([Path(command[0]).name, *command[1:3]])
        raise DeploymentError(
            f"{name} failed; all that it said is in {log}\n{last_words(done.stdout + done.stderr)}"
        )


def last_words(said: str) -> str:
    """The last lines of what a failed command said, without tracebacks and progress."""
    lines = [line for line in said.splitlines() if not PASSING.match(line)]
    return "\n".join(lines[-SHOWN_LINES:])
