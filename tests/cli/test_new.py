"""`cronce new`.

* The job and its test pass lint, types and the test as they are written, whatever the name and the schedule.
* Whatever is refused is refused before anything is written, and nothing is ever written over.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cronce_tools.emulator.project import copy_project
from tests.cli.terminal import cronce

ROOT = Path(__file__).resolve().parents[2]
LONG = "a" * 63
OFTEN = (
    "0,1,2,3,4,5,6,7,8,9,10,11,12 0,1,2,3,4,5,6,7,8,9,10 1,2,3,4,5,6,7,8,9,10,11 1,2,3,4,5,6,7 MON,TUE,WED"
)


def run(*command: str | Path, folder: Path = ROOT) -> None:
    """A tool of the environment, called in a working copy; it must succeed."""
    paths = os.pathsep.join(str(folder / name) for name in ("layers/runtime", "functions", "tools"))
    done = subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def fork(copy: Path) -> Path:
    """A working copy with the project's functions and settings, and no jobs."""
    shutil.copytree(
        ROOT / "functions", copy / "functions", dirs_exist_ok=True, ignore=shutil.ignore_patterns("jobs")
    )
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def files(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*.py") if path.name != "__init__.py")
    return {str(path.relative_to(folder)) for path in found}


def test_the_new_job_runs_as_its_own_test_says(tmp_path: Path) -> None:
    fork = copy_project(tmp_path / "fork")
    shutil.copytree(ROOT / "events", fork / "events")

    run("cronce_tools.cli", "new", "hello", "--cron", "*/5 * * * *", folder=fork)

    run("pytest", "-q", "-p", "no:cacheprovider", "tests/jobs/test_hello.py", folder=fork)


NAMES = (
    ("hello", "*/5 * * * *", "UTC", "hello"),
    ("night-report", "30 2 * * *", "Europe/Berlin", "night_report"),
    ("job", "@daily", "UTC", "job_job"),
    ("2fa", "0 6 * * *", "UTC", "job_2fa"),
    ("import", "0 6 * * *", "UTC", "job_import"),
    (LONG, "0 6 * * *", "America/Argentina/ComodRivadavia", LONG),
    ("often", OFTEN, "UTC", "often"),
)
"""A job's name, expression and zone, and its module."""


def test_what_is_written_passes_lint_whatever_the_name_and_the_expression(fork: Path) -> None:
    for name, cron, zone, module in NAMES:
        said = cronce("new", name, "--cron", cron, "--tz", zone, "--project", fork)
        assert said.code == 0, said.err
        assert (fork / f"functions/jobs/{module}.py").is_file()
    assert len(list((fork / "tests/jobs").glob("test_*.py"))) == len(NAMES)
    written = ("functions/jobs", "tests/jobs")
    run("ruff", "check", "--no-cache", *written, folder=fork)
    run("ruff", "format", "--check", "--no-cache", *written, folder=fork)


def test_what_is_written_has_its_types(fork: Path) -> None:
    """They are looked at in the place of two files of the project, among what is known of its types."""
    cronce("new", "hello", "--cron", "*/5 * * * *", "--project", fork)
    job, test = fork / "functions/jobs/hello.py", fork / "tests/jobs/test_hello.py"
    test.write_text(test.read_text().replace("from jobs.hello import", "from jobs import"))
    places = ("functions/jobs/__init__.py", "tests/jobs/test_your_jobs.py")
    shadows = [part for pair in zip(places, (job, test), strict=True) for part in ("--shadow-file", *pair)]
    run("mypy", *shadows, *places)


def test_what_was_written_is_said(fork: Path) -> None:
    said = cronce("new", "hello", "--cron", "*/5 * * * *", "--project", fork)
    files = ["functions/jobs/hello.py", "tests/jobs/test_hello.py"]
    assert said.lines == [f"wrote {' and '.join(files)}: every 5 minutes"]
    (fork / files[0]).unlink()
    (fork / files[1]).unlink()
    document = cronce("new", "hello", "--cron", "*/5 * * * *", "--project", fork, "--json").json
    assert document == {"job": "hello", "files": files, "schedule_in_words": "every 5 minutes"}


def test_a_zone_stands_in_the_declaration(fork: Path) -> None:
    cronce("new", "night", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--project", fork)
    text = (fork / "functions/jobs/night.py").read_text()
    assert '@job("night", schedule=Cron("30 2 * * *", tz="Europe/Berlin"))' in text
    assert text.startswith('"""night: daily at 02:30 Europe/Berlin."""')


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("Hello", "--cron", "0 6 * * *"), "a job's name is 1 to 63 of a-z, 0-9 and '-'"),
        (("hello", "--cron", "0 6 * *"), "five"),
        (("hello", "--cron", "0 6 * * *", "--tz", "Berlin"), "did you mean 'Europe/Berlin'?"),
        (("hello",), "--cron"),
        (("../../etc", "--cron", "0 6 * * *"), "a job's name is 1 to 63"),
    ],
    ids=["name", "expression", "zone", "no expression", "path"],
)
def test_what_no_job_takes_is_refused_before_anything_is_written(
    fork: Path, arguments: tuple[str, ...], said: str
) -> None:
    before = files(fork)
    answer = cronce("new", *arguments, "--project", fork)
    assert answer.code == 2
    assert said in answer.complaint
    assert files(fork) == before


@pytest.mark.parametrize("there", ["functions/jobs/hello.py", "tests/jobs/test_hello.py"])
def test_nothing_is_written_over(fork: Path, there: str) -> None:
    (fork / there).parent.mkdir(parents=True, exist_ok=True)
    (fork / there).write_text("mine = 1\n")
    before = files(fork)

    answer = cronce("new", "hello", "--cron", "0 6 * * *", "--project", fork)

    assert answer.code == 2
    assert answer.complaint == f"{fork / there} is there already: nothing was written"
    assert (fork / there).read_text() == "mine = 1\n"
    assert files(fork) == before


def test_a_name_that_another_module_has_is_refused(fork: Path) -> None:
    text = 'from cronce import Cron, job\n\n@job("hello", schedule=Cron("@daily"))\ndef greet(run): ...\n'
    (fork / "functions/jobs/greetings.py").write_text(text)
    answer = cronce("new", "hello", "--cron", "0 6 * * *", "--project", fork)
    assert answer.code == 2
    assert answer.complaint == "there is a job 'hello' already, in jobs.greetings"


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(fork: Path) -> None:
    (fork / "tests").write_text("not a folder")
    before = files(fork)
    answer = cronce("new", "hello", "--cron", "0 6 * * *", "--project", fork)
    assert answer.code == 2
    assert "cannot be written" in answer.complaint
    assert files(fork) == before
