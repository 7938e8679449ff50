"""A deployment that cannot go through is refused before anything is built.

Invariants:
- each thing that is missing is named, all of them at once, with what to do;
- with everything there, nothing is said; profile and Region may come from samconfig.toml or the arguments;
- a parameter that the template does not have, or a value that it does not take, is refused by name.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from cronce_tools.check_deploy import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the section dev, and nobody's AWS account."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samconfig.toml").write_text('[dev.deploy.parameters]\nstack_name = "x"\n')
    shutil.copy(ROOT / "template.yaml", tmp_path)
    (tmp_path / "parameters").mkdir()
    (tmp_path / "parameters/dev.yaml").write_text("")
    return tmp_path


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials and a Region."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


@pytest.mark.usefixtures("account")
def test_with_everything_there_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "--guided"]) == 0
    assert capsys.readouterr().err == ""


def test_without_an_account_credentials_and_region_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev"]) == 2
    credentials, region = capsys.readouterr().err.splitlines()
    assert credentials.startswith("no AWS credentials: log in")
    assert region.startswith("no Region: set AWS_DEFAULT_REGION")
    assert main(["dev", "--guided"]) == 2
    assert [line[:18] for line in capsys.readouterr().err.splitlines()] == ["no AWS credentials"]  # it asks


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    "text, said",
    [
        (
            "NotceEmail: me@example.com",
            "template.yaml has no parameter NotceEmail: did you mean NoticeEmail?",
        ),
        ("Speed: 3", "template.yaml has no parameter Speed: there are Architecture, "),
        ("RetentionDays: many", "RetentionDays: takes a number, not 'many'"),
        ("ExecutorTimeout: 5000", "ExecutorTimeout: takes a number from 60 to 900, not 5000"),
        ("NoticeEmail: nobody", "NoticeEmail: must be one e-mail address, or empty, not 'nobody'"),
        ("NoticeEmail: [a@b.de]", "NoticeEmail: takes text or a number, not ['a@b.de']"),
        ("LogRetentionDays: 8", "LogRetentionDays: takes one of 1, 3, 5, "),
        ("Architecture: x87", "Architecture: takes one of arm64, x86_64, not 'x87'"),
        ("A: 1\n  B: [", "parameters/dev.yaml cannot be read: mapping values are not allowed here"),
        ("- RetentionDays", "parameters/dev.yaml holds no lines of the form `Name: value`"),
    ],
)
def test_a_parameter_that_would_be_refused_or_dropped_is_named(
    project: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "parameters/dev.yaml").write_text(text)
    assert main(["dev"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert "parameters/dev.yaml" in error


@pytest.mark.usefixtures("account")
def test_the_parameters_of_the_project_are_taken(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in sorted((ROOT / "parameters").glob("*.yaml")):
        text = file.read_text()
        asked = re.sub(r"(?m)^# (NoticeEmail: )", r"\1", text)
        for each in (text, asked):
            (project / "parameters/dev.yaml").write_text(each)
            assert main(["dev"]) == 0, capsys.readouterr().err


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("name", ["x" * 61, "my stack", "1st"])
def test_a_stacks_name_that_would_be_refused_late_is_refused_now(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dev", "--stack-name", name]) == 2
    assert capsys.readouterr().err.startswith(f"the stack's name is {name!r}")


@pytest.mark.usefixtures("account")
def test_without_parameters_and_section_both_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "no parameters/test.yaml: copy parameters/dev.yaml",
        "no section [test.deploy.parameters] in samconfig.toml: copy that of dev",
    ]


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("env", ["", "../prod", "dev prod"])
def test_a_name_that_is_none_is_refused(env: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([env]) == 2
    assert f"ENV is {env!r}" in capsys.readouterr().err


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("text", [None, "a = ["])
def test_settings_that_cannot_be_read_are_named(
    project: Path, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "samconfig.toml").unlink()
    if text:
        (project / "samconfig.toml").write_text(text)
    assert main(["dev"]) == 2
    assert "samconfig.toml cannot be read" in capsys.readouterr().err


def test_profile_and_region_may_come_from_the_settings_or_the_arguments(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "AWS_CONFIG_FILE").write_text(
        "[profile mine]\naws_access_key_id = x\naws_secret_access_key = x\nregion = eu-west-1\n"
    )
    assert main(["dev", "--profile", "mine"]) == 0
    (project / "samconfig.toml").write_text('[dev.deploy.parameters]\nprofile = "mine"\n')
    assert main(["dev"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["dev", "--profile", "other"]) == 2
    assert "profile (other) could not be found" in capsys.readouterr().err


def test_make_deploy_checks_before_it_builds() -> None:
    text = (ROOT / "Makefile").read_text()
    recipe = re.search(r"(?m)^deploy: (.*?) ##", text)
    assert recipe is not None
    assert recipe[1].split() == ["deployable", "build"]
    assert ".NOTPARALLEL: deploy" in text
