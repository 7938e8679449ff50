"""`python -m cronce_tools.emulator`: the stack on local AWS, in real time, until Ctrl-C.

`python -m cronce_tools.emulator update`: build and deploy again what has changed, to the stack that runs.

What is deployed is a copy of the project with one more job, which runs each minute. Exit status: 0 after
Ctrl-C, 1 if something cannot be started; the message says what.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from cronce_tools.emulator.deployment import DeploymentError, Stack, build, deploy
from cronce_tools.emulator.follow import Follower
from cronce_tools.emulator.jobs_check import check_jobs
from cronce_tools.emulator.local_note import STACK, note_of, running, write_note
from cronce_tools.emulator.process import ROOT, Emulator, EmulatorError, Endpoint
from cronce_tools.emulator.project import copy_project
from cronce_tools.emulator.real_time import pause

DEMO = Path(__file__).with_name("demo")
PORT = 4566
"""The port that local AWS has by custom."""
PARAMETERS = {"ExecutorTimeout": "60", "RetentionDays": "7"}
CACHED = "\n[default.build.parameters]\ncached = true\n"
"""For the copy's samconfig.toml: the layer is built again only if it has changed."""
LOOK_EVERY = 1.0
ENDING = (signal.SIGINT, signal.SIGTERM)


class _Stopped(BaseException):
    """Somebody wants it to end. Not an `Exception`: the SDK takes one for a failed call, and tries again."""


def main(arguments: list[str]) -> int:
    """Start, or update what runs.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m cronce_tools.emulator", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["start", "update"], default="start")
    parser.add_argument("--port", default=str(PORT), help=f"of local AWS (default {PORT})")
    parser.add_argument("--project", type=Path, default=ROOT, help="folder of the project")
    options = parser.parse_args(arguments)
    project = options.project.resolve()
    try:
        if options.command == "update":
            update(project)
        else:
            start(project, _port(options.port))
    except (EmulatorError, DeploymentError) as error:
        print(error, file=sys.stderr)
        return 1
    except (_Stopped, KeyboardInterrupt):
        print("\nstopped")
    return 0


def start(project: Path, port: int) -> None:
    """Build, start local AWS, deploy, and say what happens until somebody stops it.

    Raises:
        EmulatorError: the port is taken, or local AWS does not come up.
        DeploymentError: a job cannot be used, or the build or the deployment failed.
    """
    started = time.perf_counter()
    check_jobs(project)
    for each in ENDING:
        signal.signal(each, _stop)
    with Emulator(port=port) as emulator:
        try:
            stack = _deploy(project, emulator.endpoint)
            write_note(project, emulator.endpoint)
            print(_introduction(stack, time.perf_counter() - started), flush=True)
            follower = Follower.of(stack)
            while True:
                for line in follower.lines():
                    print(line, flush=True)
                pause(LOOK_EVERY)
        finally:
            note_of(project).unlink(missing_ok=True)


def update(project: Path) -> None:
    """Build and deploy what has changed.

    Raises:
        EmulatorError: no local stack runs.
        DeploymentError: a job cannot be used, or the build or the deployment failed.
    """
    started = time.perf_counter()
    endpoint = running(project)
    if endpoint is None:
        raise EmulatorError("no local stack runs: `make local` starts one")
    check_jobs(project)
    _deploy(project, endpoint)
    print(f"updated in {time.perf_counter() - started:.0f} s")


def _deploy(project: Path, endpoint: Endpoint) -> Stack:
    copy = copy_project(project / ".make/local", DEMO, source=project)
    with (copy / "samconfig.toml").open("a") as settings:
        settings.write(CACHED)
    print("== build", flush=True)
    build(copy)
    print("== deploy", flush=True)
    return deploy(copy, STACK, endpoint, PARAMETERS)


def _introduction(stack: Stack, seconds: float) -> str:
    variables = " ".join(f"{name}={value}" for name, value in stack.endpoint.environment().items())
    table = stack.outputs["RunsTableName"]
    return f"""\
Local AWS at {stack.endpoint.url}, stack {stack.name}, deployed in {seconds:.0f} s.
Beside your jobs there is local-minute, which runs each minute. `.venv/bin/cronce list` asks this stack.

  export {variables}
  aws dynamodb scan --table-name {table}
  aws lambda invoke --function-name {stack.outputs["SchedulerAlias"]} /dev/stdout
  python -c 'import boto3; print(boto3.client("dynamodb").scan(TableName="{table}")["Items"])'

`make local-update` deploys what you have changed; Ctrl-C ends it. What happens:
"""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)  # a second one would leave files and processes behind
    raise _Stopped


def _port(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise EmulatorError(f"{text!r} is no port: name one from 1 to 65535") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
