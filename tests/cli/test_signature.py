"""Who gives a command.

* `--by` outranks what AWS says; on local AWS it is the user of this machine.
* The name is that of the user or of the role's session; a session whose name a program made up is named after
  the user of this machine and the role.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cronce_tools.cli.exits import UsageError
from cronce_tools.cli.signature import caller


def stack(arn: str, *, is_local: bool = False) -> Any:
    sts = SimpleNamespace(get_caller_identity=lambda: {"Arn": arn})
    return SimpleNamespace(client=lambda service: {"sts": sts}[service], is_local=is_local)


@pytest.fixture(autouse=True)
def this_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ann")


@pytest.mark.parametrize(
    "arn, name",
    [
        ("arn:aws:iam::123456789012:user/bob", "bob"),
        ("arn:aws:iam::123456789012:user/kitchen/bob", "bob"),
        (
            "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Cook_0123/bob@shop.example",
            "bob@shop.example",
        ),
        ("arn:aws-cn:sts::123456789012:federated-user/bob", "bob"),
        ("arn:aws:iam::123456789012:root", "root"),
        ("arn:aws:sts::123456789012:assumed-role/Cook/botocore-session-1700000000", "ann as assumed-role"),
        ("arn:aws:sts::123456789012:assumed-role/Cook/i-0abc", "ann as assumed-role"),
    ],
)
def test_the_name_is_the_last_part_of_the_identity(arn: str, name: str) -> None:
    assert caller(stack(arn), None) == name.replace("assumed-role", "Cook")


def test_who_is_named_outranks_the_identity() -> None:
    assert caller(stack("arn:aws:iam::123456789012:user/bob"), "eve") == "eve"


def test_on_local_aws_it_is_the_user_of_this_machine() -> None:
    assert caller(stack("arn:aws:iam::000000000000:root", is_local=True), None) == "ann"


def test_a_name_that_is_too_long_keeps_its_end() -> None:
    long = "x" * 60 + "@shop.example"
    assert caller(stack(f"arn:aws:sts::123456789012:assumed-role/Cook/{long}"), None) == long[-64:]


def test_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "")
    with pytest.raises(UsageError, match="nobody knows who calls: say it with --by"):
        caller(stack("", is_local=True), None)
