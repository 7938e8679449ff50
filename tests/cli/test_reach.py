"""Which stack is meant, and what is said when it cannot be asked.

* `--stack`, `--env` and `--local` exclude each other and outrank CRONCE_STACK; without any of them it is
  the stack of `make local` if it runs, else that of the section dev of samconfig.toml.
* Whatever keeps the command from a stack is one line on standard error and exit code 3, never a traceback; a
  mistake of the command itself is one line and exit code 4.
* Global options may stand anywhere.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from cronce_tools.cli import listing
from cronce_tools.cli.__main__ import main as start
from cronce_tools.cli.call import Choice
from cronce_tools.cli.exits import Exit, UnreachableError, UsageError
from cronce_tools.cli.group import hoisted
from cronce_tools.cli.stack_choice import Target, target_of
from cronce_tools.emulator.local_note import note_of, write_note
from cronce_tools.emulator.process import Endpoint
from cronce_tools.local.cloud import Call as AwsCall
from cronce_tools.local.stack import LocalStack
from tests.cli.terminal import NOBODY, cronce

CONFIG = """
[default.global.parameters]
stack_name = "cronce"
[dev.deploy.parameters]
stack_name = "shop-dev"
[prod.global.parameters]
region = "eu-west-1"
profile = "prod"
[prod.deploy.parameters]
stack_name = "shop-prod"
[odd.deploy.parameters]
tags = "x"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "samconfig.toml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def local(project: Path) -> Iterator[str]:
    """A project whose local stack runs: somebody listens where its note says."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        write_note(project, Endpoint(url=url))
        yield url


def test_a_stack_is_meant_by_its_name(project: Path) -> None:
    assert target_of(Choice(stack="shop"), project) == Target(stack="shop")
    choice = Choice(stack="shop", region="eu-west-1", profile="ops", environment={"CRONCE_STACK": "other"})
    assert target_of(choice, project) == Target(stack="shop", region="eu-west-1", profile="ops")


def test_a_section_brings_its_region_and_profile(project: Path) -> None:
    prod = Target(stack="shop-prod", region="eu-west-1", profile="prod")
    elsewhere = {"AWS_REGION": "us-east-1", "CRONCE_STACK": "other"}
    assert target_of(Choice(env="prod"), project) == prod
    assert target_of(Choice(env="prod", environment=elsewhere), project) == prod
    assert target_of(Choice(env="prod", region="eu-west-2"), project).region == "eu-west-2"


def test_the_variable_names_a_stack_and_is_outranked(project: Path) -> None:
    environment = {"CRONCE_STACK": "shop", "AWS_REGION": "eu-west-3"}
    assert target_of(Choice(environment=environment), project) == Target(stack="shop", region="eu-west-3")


def test_nothing_said_means_the_section_that_make_deploy_uses(project: Path) -> None:
    assert target_of(Choice(), project) == Target(stack="shop-dev", guessed=True)


def test_the_local_stack_comes_before_that_while_it_runs(project: Path, local: str) -> None:
    here = Target(stack="cronce-local", region="eu-central-1", endpoint=Endpoint(url=local))
    assert target_of(Choice(), project) == here
    assert target_of(Choice(local=True, environment={"CRONCE_STACK": "shop"}), project) == here
    assert target_of(Choice(environment={"CRONCE_STACK": "shop"}), project).stack == "shop"
    assert target_of(Choice(env="dev"), project).stack == "shop-dev"


def test_a_note_that_was_left_behind_is_no_local_stack(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    write_note(project, Endpoint(url=f"http://127.0.0.1:{port}"))
    assert target_of(Choice(), project).stack == "shop-dev"
    note_of(project).write_text("{")
    with pytest.raises(UnreachableError, match=r"no local stack runs: `make local` starts one"):
        target_of(Choice(local=True), project)


@pytest.mark.parametrize(
    "choice, said",
    [
        (Choice(stack="shop", env="dev"), "--stack and --env both say which stack is meant"),
        (Choice(stack="shop", local=True), "--stack and --local both say which stack is meant"),
        (Choice(local=True, region="eu-west-1"), "the local stack has neither --region nor --profile"),
        (Choice(stack=""), "--stack is empty"),
        (Choice(env=""), "--env is empty"),
        (Choice(stack="shop", region=""), "--region is empty"),
        (Choice(stack="no stack"), "'no stack' is no name of a stack"),
        (Choice(environment={"CRONCE_STACK": "1st"}), "'1st' is no name of a stack"),
    ],
    ids=["two", "two more", "region", "no name", "no section", "no region", "name", "variable"],
)
def test_what_is_not_clear_is_refused(project: Path, choice: Choice, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        target_of(choice, project)


def test_a_section_that_names_no_stack_is_refused(project: Path) -> None:
    for env in ("odd", "none"):
        with pytest.raises(UnreachableError, match=rf"no stack_name in the section \[{env}\.deploy"):
            target_of(Choice(env=env), project)
    (project / "samconfig.toml").write_text("[")
    with pytest.raises(UnreachableError, match=r"samconfig.toml cannot be read"):
        target_of(Choice(), project)
    (project / "samconfig.toml").unlink()
    with pytest.raises(UnreachableError, match=r"no stack is named: give --stack"):
        target_of(Choice(), project)


@pytest.mark.parametrize(
    "text, said",
    [
        ("dev = 1", "no stack_name in the section"),
        ("[dev]\ndeploy = 1", "no stack_name in the section"),
        ("[[dev.deploy]]\nparameters = 1", "no stack_name in the section"),
        ("[dev.deploy]\nparameters = 'x'", "no stack_name in the section"),
        ("[dev.deploy.parameters]\nstack_name = ['a']", "stack_name in the section .* is no text"),
        ("[dev.deploy.parameters]\nstack_name = 'a'\nregion = 1", "region in the section .* is no text"),
        ("[dev.deploy.parameters]\nstack_name = 'a'\nprofile = []", "profile in the section .* is no text"),
        ("x = " + 9_999 * "[", "samconfig.toml cannot be read"),
        ("\xff", "samconfig.toml cannot be read"),
    ],
)
def test_a_section_of_another_form_is_one_line(project: Path, text: str, said: str) -> None:
    (project / "samconfig.toml").write_text(text, encoding="latin-1")
    with pytest.raises(UnreachableError, match=said):
        target_of(Choice(), project)


def test_a_section_with_a_name_that_no_stack_has_is_refused(project: Path) -> None:
    (project / "samconfig.toml").write_text("[dev.deploy.parameters]\nstack_name = 'a b'")
    with pytest.raises(UsageError, match="'a b' is no name of a stack"):
        target_of(Choice(), project)


def test_a_stack_that_is_not_there_is_one_line(stack: LocalStack) -> None:
    answer = cronce("list", "--stack", "shop")
    assert answer.code == Exit.UNREACHABLE
    assert answer.complaint == "there is no stack shop in us-east-1: give --stack, --env or --region"


def test_a_stack_of_something_else_is_one_line(stack: LocalStack) -> None:
    other = {"Stacks": [{"StackName": "shop", "StackStatus": "ROLLBACK_COMPLETE"}]}
    stack.cloud.answers["cloudformation", "DescribeStacks"] = lambda _: other
    answer = cronce("list", "--stack", "shop")
    assert answer.code == Exit.UNREACHABLE
    assert answer.complaint.startswith(
        "the stack shop in us-east-1 (ROLLBACK_COMPLETE) has no output RunsTableName"
    )


@pytest.mark.parametrize(
    "code, said",
    [
        ("ExpiredToken", "the AWS credentials have expired: log in"),
        ("ExpiredTokenException", "the AWS credentials have expired: log in"),
        ("AccessDenied", "access denied: no"),
        ("AccessDeniedException", "OperatorReadPolicyArn"),
        ("UnrecognizedClientException", "AWS does not accept these credentials"),
        ("ResourceNotFoundException", "a table of the stack is gone: read the registry"),
        ("InternalServerError", "AWS refused: read the registry"),
    ],
)
def test_what_the_store_refuses_is_one_line(stack: LocalStack, code: str, said: str) -> None:
    def refuse(call: AwsCall) -> None:
        if call.service == "dynamodb":
            raise ClientError({"Error": {"Code": code, "Message": "no"}}, call.operation)

    stack.cloud.hooks.append(refuse)
    answer = cronce("list")
    assert answer.code == Exit.UNREACHABLE
    assert said in answer.complaint


def test_no_answer_is_one_line(stack: LocalStack) -> None:
    def keep_silent(call: AwsCall) -> None:
        raise ConnectTimeoutError(endpoint_url="https://dynamodb")

    stack.cloud.hooks.append(keep_silent)
    answer = cronce("list")
    assert answer.code == Exit.UNREACHABLE
    assert answer.complaint.startswith("AWS does not answer: ")


def test_no_credentials_is_one_line() -> None:
    answer = cronce("list", "--stack", "shop", environment=NOBODY)
    assert answer.code == Exit.UNREACHABLE
    assert answer.complaint.startswith("no AWS credentials: log in (`aws sso login`, `aws configure`)")


def test_no_region_is_one_line() -> None:
    nowhere = {**NOBODY, "AWS_REGION": None, "AWS_DEFAULT_REGION": None}
    answer = cronce("list", "--stack", "shop", environment=nowhere)
    assert answer.code == Exit.UNREACHABLE
    assert answer.complaint == "no Region: give --region, or set AWS_DEFAULT_REGION"


def test_who_names_no_stack_and_runs_none_is_told_of_both_ways() -> None:
    nowhere = {**NOBODY, "AWS_REGION": None, "AWS_DEFAULT_REGION": None, "CRONCE_STACK": None}
    answer = cronce("list", environment=nowhere)
    assert answer.code == Exit.UNREACHABLE
    assert answer.complaint.startswith(
        "which stack? `make local` does not run, and nothing says in which Region"
    )


def test_no_such_profile_is_one_line() -> None:
    answer = cronce("list", "--stack", "shop", "--profile", "nobody", environment=NOBODY)
    assert answer.code == Exit.UNREACHABLE
    assert "nobody" in answer.complaint


def test_a_mistake_of_the_command_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> int:
        raise KeyError("oops")

    monkeypatch.setattr(listing, "list_jobs", fail)
    answer = cronce("list")
    assert answer.code == Exit.BUG
    assert answer.complaint == "a mistake in this command: KeyError: 'oops' (CRONCE_TRACEBACK=1 shows where)"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("lst",), "No such command 'lst'. Did you mean 'list'?"),
        (("list", "--nonsense"), "No such option: --nonsense"),
        (("list", "--stack"), "option --stack takes a value"),
        (("list", "--stack", "--json"), "option --stack takes a value"),
        (("did-run",), "Missing argument 'JOB'"),
    ],
    ids=["command", "option", "no value", "no value but an option", "argument"],
)
def test_wrong_use_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    answer = cronce(*arguments)
    assert answer.code == Exit.USAGE
    assert said in answer.complaint


def test_without_a_command_the_help_is_shown() -> None:
    said = cronce()
    assert said.code == Exit.USAGE
    assert "Commands:" in said.out


def test_global_options_may_stand_anywhere() -> None:
    assert hoisted(["list", "--stack", "shop", "--json"]) == ["--stack", "shop", "--json", "list"]
    assert hoisted(["next", "menu", "--env=prod", "--count", "3"]) == [
        "--env=prod",
        "next",
        "menu",
        "--count",
        "3",
    ]
    assert hoisted(["next", "--", "--json"]) == ["next", "--", "--json"]


def test_ctrl_c_is_no_traceback_even_while_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cronce_tools.cli.app.app", interrupted)
    assert start() == Exit.STOPPED


def test_the_command_starts_quickly() -> None:
    """Nothing that a command needs is loaded for the help: no AWS library, no schedules, no Rich."""
    code = "import sys, cronce_tools.cli.app; print(json.dumps(sorted(sys.modules)))"
    root = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join(str(root / name) for name in ("layers/runtime", "tools"))
    loaded = subprocess.run(
        [sys.executable, "-c", f"import json; {code}"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    modules = {name.split(".")[0] for name in json.loads(loaded)}
    assert not modules & {"boto3", "botocore", "cronce", "croniter", "rich", "yaml", "moto"}


def test_streams_that_are_closed_or_know_few_letters_are_no_mistake(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join(str(root / name) for name in ("layers/runtime", "functions", "tools"))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "ascii"}
    (tmp_path / "functions/jobs").mkdir(parents=True)
    (tmp_path / "functions/jobs/__init__.py").touch()
    (tmp_path / "functions/jobs/bad.py").write_text("raise ValueError('caf\u00e9')", encoding="utf-8")
    (tmp_path / "template.yaml").symlink_to(root / "template.yaml")
    command = f"'{sys.executable}' -m cronce_tools.cli validate --project '{tmp_path}'"
    ended = [
        subprocess.run(
            ["/bin/sh", "-c", f"{command} {where}"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for where in ("", ">&- 2>&-")
    ]
    assert [each.returncode for each in ended] == [1, 1]
    assert r"ValueError: caf\xe9 (jobs/bad.py:1)" in ended[0].stdout
