"""`sam init --location <repository>` gives a working copy.

Invariants:
- every file of the repository arrives as it is, hidden ones and executable ones included, and nothing else;
- the copy works: it lists its jobs.

Nothing is asked of the network: the repository is this one, on this disk, as it was committed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.template.stack import ROOT


def git(*arguments: str) -> str:
    """What git says of this repository."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project made of this repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("this copy is no repository")
    target = tmp_path_factory.mktemp("projects")
    command = [ROOT / ".venv-sam/bin/sam", "init", "--location", f"git+file://{ROOT}", "--name", "mine"]
    subprocess.run(
        [str(part) for part in command] + ["--no-interactive"],
        cwd=target,
        env={**os.environ, "SAM_CLI_TELEMETRY": "0", "HOME": str(target), "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        check=True,
    )
    return target / "mine"


@pytest.mark.usefixtures("stack")  # makes .venv-sam
def test_every_file_arrives_as_it_is(copy: Path) -> None:
    committed = {}
    for line in git("ls-tree", "-r", "HEAD").splitlines():
        described, name = line.split("\t")
        mode, _, digest = described.split()
        committed[name] = (mode, digest)
    names = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()}
    assert names == committed.keys()
    assert {".gitignore", ".ci/run"} <= names
    digests = git("hash-object", "--no-filters", *(str(copy / name) for name in committed)).split()
    assert dict(zip(committed, digests, strict=True)) == {name: each[1] for name, each in committed.items()}
    executable = {name for name in names if os.access(copy / name, os.X_OK)}
    assert executable == {name for name, each in committed.items() if each[0] == "100755"}


@pytest.mark.usefixtures("stack")
def test_the_copy_lists_its_jobs(copy: Path) -> None:
    """`make jobs` without its first step, which would make an environment."""
    sources = os.pathsep.join(str(copy / folder) for folder in ("layers/runtime", "functions", "tools"))
    done = subprocess.run(
        [sys.executable, "-m", "cronce_tools.cli", "validate"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": sources, "PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for module in (copy / "functions/jobs").glob("[a-z]*.py"):
        assert module.stem.replace("_", "-") in done.stdout
