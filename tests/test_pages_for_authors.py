"""What the pages for authors of jobs say is so.

* The tables of calls, attributes and arguments are those of the code, with their defaults.
* The examples run, and pass the checks that a fork must pass.
"""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import cronce
from cronce.core.run_input import INPUT_LIMIT
from cronce.core.steps import CONCURRENCY_LIMIT, NAME_LIMIT, RESULT_LIMIT
from cronce.engine.run_facts import RunFacts
from cronce.engine.run_handle import Run
from cronce.testing import RunResult, assert_resumable, run_job
from cronce.testing.resumable import MOST_PLACES
from cronce_tools.local.stack import LocalStack
from tests.jobs.conftest import local_stack
from tests.support.jobs_modules import jobs_set_aside

__all__ = ["local_stack"]

ROOT = Path(__file__).resolve().parents[1]
API = (ROOT / "docs/author-api.md").read_text()
TESTING = (ROOT / "docs/testing-jobs.md").read_text()
README = (ROOT / "README.md").read_text()
CALLS = ("step", "once", "each", "sleep", "sleep_until", "idempotency_key")
STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def section(page: str, heading: str) -> str:
    """What stands under a heading."""
    return page.split(f"\n## {heading}\n")[1].split("\n## ", maxsplit=1)[0]


def table(text: str, head: str) -> list[list[str]]:
    """The cells of the table whose head begins so."""
    lines = text[text.index(f"| {head} |") :].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    return rows[: next((number for number, line in enumerate(lines) if not line.startswith("|")), None)]


def names(cells: list[str]) -> set[str]:
    """The names in code type of some cells, without their arguments."""
    return {re.split(r"[(.\[]", name)[0] for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def arguments(function: Callable[..., object]) -> list[tuple[str, str]]:
    """The arguments of a function, each with its default as it is written."""
    found = [one for name, one in inspect.signature(function).parameters.items() if name != "self"]
    return [
        (STARS.get(one.kind, "") + one.name, "" if one.default is one.empty else repr(one.default))
        for one in found
    ]


def test_the_table_of_calls_is_that_of_the_run() -> None:
    rows = [[cell.strip("`") for cell in row[:3]] for row in table(API, "call")]
    assert [row[0] for row in rows] == [call for call in CALLS for _ in arguments(getattr(Run, call))]
    for call in CALLS:
        said = [(row[1], row[2]) for row in rows if row[0] == call]
        assert said == arguments(getattr(Run, call)), call
    public = {name for name in vars(Run) if not name.startswith("_")}
    assert public == set(CALLS)


def test_the_table_of_attributes_is_that_of_the_run() -> None:
    said = [row[0].strip("`").removeprefix("run.") for row in table(API, "attribute")]
    known = [name for name, value in vars(RunFacts).items() if isinstance(value, property)]
    assert said == [*(name for name in known if not name.startswith("_")), "log"]


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    assert f"1 to {NAME_LIMIT} printable characters" in API
    assert f"in threads; at most {CONCURRENCY_LIMIT}" in API
    assert f"at most {RESULT_LIMIT // 1024} KB each" in API
    assert f"at most {INPUT_LIMIT // 1024} KB of JSON" in API


def test_what_a_job_may_raise_can_be_imported() -> None:
    raised = names([row[0] for row in table(API, "exception")]) - {"Exception"}
    assert raised <= set(cronce.__all__)


@pytest.mark.parametrize(
    "function, heading",
    [(run_job, "One run: `run_job`"), (assert_resumable, "Everywhere: `assert_resumable`")],
)
def test_the_tables_of_the_kit_are_those_of_its_functions(
    function: Callable[..., object], heading: str
) -> None:
    said = names([row[0] for row in table(section(TESTING, heading), "argument")])
    assert said == set(inspect.signature(function).parameters) - {"job"}


def test_what_the_page_says_of_a_result_is_there() -> None:
    said = names([row[0] for row in table(TESTING, "of the result")])
    fields = set(RunResult.__dataclass_fields__)
    properties = {name for name, value in vars(RunResult).items() if isinstance(value, property)}
    assert said == fields | properties
    assert "thinned out to a hundred" in TESTING
    assert MOST_PLACES == 100


def test_what_the_page_says_of_the_local_stack_is_there(local_stack: Any) -> None:
    said = names([row[0] for row in table(TESTING, "of the stack")])
    fields = set(LocalStack.__dataclass_fields__)
    assert said <= fields | set(vars(LocalStack))
    assert {"play", "play_at", "notices", "metrics", "clock", "settle", "invoke", "alarms"} <= said


# --- examples ---------------------------------------------------------------------------------------------


def examples(page: str) -> dict[str, str]:
    """The Python examples of a page that name a file, by that file."""
    found = re.findall(r"```python\n# (\S+\.py)\n(.*?)```", page, re.DOTALL)
    return {name: f"{body.strip()}\n" for name, body in found}


@contextmanager
def deployed(page: str, folder: Path) -> Iterator[None]:
    """The jobs of the page's examples, and no others."""
    for name, body in examples(page).items():
        if name.startswith("functions/jobs/"):
            (folder / Path(name).name).write_text(body)
    with jobs_set_aside():
        jobs: Any = importlib.import_module("jobs")
        jobs.__path__[:] = [str(folder)]
        yield


@pytest.mark.parametrize("page, number", [(README, 2), (TESTING, 4)], ids=["README", "testing-jobs"])
def test_the_examples_pass_the_checks_that_a_fork_must_pass(page: str, number: int, tmp_path: Path) -> None:
    assert len(examples(page)) == number
    for name in ("layers", "tools", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name, body in examples(page).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(body)
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", *examples(page)]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    "page, test",
    [
        pytest.param(page, test, id=test)
        for page in (README, TESTING)
        for name, body in examples(page).items()
        for test in re.findall(r"^def (test_\w+)", body, re.MULTILINE)
    ],
)
def test_the_examples_run_as_their_own_tests_say(
    page: str, test: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with deployed(page, tmp_path):
        body = next(body for name, body in examples(page).items() if f"def {test}(" in body)
        namespace: dict[str, Any] = {}
        exec(body, namespace)  # noqa: S102 - the example is ours; this is its test
        function = namespace[test]
        function(*(request.getfixturevalue(name) for name in inspect.signature(function).parameters))
        loaded = [name for name in sys.modules if name.startswith("jobs.")]
        assert any(str(sys.modules[name].__file__).startswith(str(tmp_path)) for name in loaded)
