"""The Makefile's choice of an interpreter.

Invariants:
- an environment whose Python is gone, or is of another version than PYTHON_RUNTIME names, is made anew and
  filled;
- one that fits is left alone;
- the command `cronce` is made with it, and calls the environment's own Python from anywhere;
- a version that is not there, or that Lambda does not have, ends the command before anything is removed.

The interpreters are small scripts that answer as one of a version would. Nothing is executed (`make -n`).
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE, FILLED = "-m venv --clear .venv", "pip install -q -r requirements/dev.txt"
HOUR = 3600


def interpreter(path: Path, version: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\ncase "$2" in *print*) echo {version};; esac\n')
    path.chmod(0o755)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an environment of Python 3.11, and 3.11 and 3.13 on the path."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    interpreter(tmp_path / "path/python3.11", "python3.11")
    interpreter(tmp_path / "path/python3.13", "python3.13")
    interpreter(tmp_path / ".venv/bin/python", "python3.11")
    for name in ("requirements/dev.txt", "functions/requirements.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
        age(tmp_path / name)
    age(tmp_path / ".venv/bin/python")
    (tmp_path / ".venv/ready").touch()
    return tmp_path


def age(path: Path) -> None:
    """Make a file an hour older."""
    then = path.stat().st_mtime - HOUR
    os.utime(path, (then, then))


def make(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`make -n .venv/ready`, with the project's interpreters first on the path."""
    return subprocess.run(
        ["make", "-n", ".venv/ready", *arguments],
        cwd=project,
        env={"PATH": f"{project / 'path'}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", [(), ("PYTHON_RUNTIME=python3.11",)], ids=["none asked for", "its own"])
def test_an_environment_that_fits_is_left_alone(project: Path, arguments: tuple[str, ...]) -> None:
    done = make(project, *arguments)
    assert done.returncode == 0
    assert MADE not in done.stdout
    assert FILLED not in done.stdout


def test_an_environment_of_another_version_is_made_anew_and_filled(project: Path) -> None:
    commands = make(project, "PYTHON_RUNTIME=python3.13").stdout
    assert f"python3.13 {MADE}" in commands
    assert FILLED in commands


def test_an_environment_whose_python_is_gone_is_made_anew_and_filled(project: Path) -> None:
    (project / ".venv/bin/python").unlink()
    (project / ".venv/bin/python").symlink_to("gone")
    commands = make(project).stdout
    assert MADE in commands
    assert FILLED in commands


def test_the_command_is_made_with_the_environment(project: Path) -> None:
    (project / ".venv/ready").unlink()
    (line,) = [line for line in make(project).stdout.splitlines() if line.startswith("printf '#!/bin/sh")]

    subprocess.run(["sh", "-c", line], cwd=project, check=True)

    (project / ".venv/bin/python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command = ["sh", str(project / ".venv/bin/cronce"), "trigger", "menu", "--input", "{ }"]
    said = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["-P", "-m", "cronce_tools.cli", "trigger", "menu", "--input", "{ }"]


@pytest.mark.parametrize(
    "asked, said",
    [
        ("python3.12", "no python3.12 that runs was found"),
        ("python3.10", "PYTHON_RUNTIME is 'python3.10'; it takes one of python3.14"),
        ("3.13", "PYTHON_RUNTIME is '3.13'"),
    ],
    ids=["not there", "not of Lambda", "no name"],
)
def test_a_version_that_cannot_be_had_ends_the_command(project: Path, asked: str, said: str) -> None:
    interpreter(project / "path/python3.12", "python3.12")
    (project / "path/python3.12").write_text("#!/bin/sh\nexit 127\n")
    done = make(project, f"PYTHON_RUNTIME={asked}")
    assert done.returncode != 0
    assert said in done.stderr
    assert MADE not in done.stdout


def test_what_would_end_a_deployment_is_said_before_the_environment_of_sam_is_made(project: Path) -> None:
    (project / ".venv/bin/python").write_text('#!/bin/sh\ncase "$1" in -P) echo "no $3"; exit 2;; esac\n')
    done = subprocess.run(
        ["make", "deployable", "ENV=prod"],
        cwd=project,
        env={"PATH": f"{project / 'path'}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == "no prod\n"
