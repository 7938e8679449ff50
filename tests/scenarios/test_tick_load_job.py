"""Loading one job, as the executor does.

Invariants:
- no other module of jobs is imported, and nothing outside the package;
- what is not deployed is None, what does not import says why, and nothing is raised.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from cronce.core.job import Job
from cronce.engine import registry
from cronce.engine.job_loader import LoadProblem
from cronce.engine.registry import discover, load_job
from tests.scenarios.job_package import Package, declares


def loaded(package: Package, module: str, name: str) -> Job | LoadProblem | None:
    return load_job(package.name, f"{package.name}.{module}", name)


def test_one_job_is_loaded_without_importing_the_others(package: Package) -> None:
    package.add("menu.py", declares("menu", "lunch"))
    package.add("other.py", "raise RuntimeError('not to be imported')\n")

    job = loaded(package, "menu", "lunch")

    assert isinstance(job, Job)
    assert job.name == "lunch"
    assert f"{package.name}.other" not in sys.modules


@pytest.mark.parametrize("module, name", [("menu", "gone"), ("gone", "menu"), ("menu.gone", "menu")])
def test_a_job_or_module_that_is_not_deployed_is_none(package: Package, module: str, name: str) -> None:
    package.add("menu.py", declares("menu"))

    assert loaded(package, module, name) is None


def test_a_module_that_does_not_import_says_why(package: Package) -> None:
    package.add("menu.py", "import a_library_that_is_not_there\n")

    assert loaded(package, "menu", "menu") == LoadProblem(
        f"ModuleNotFoundError: No module named 'a_library_that_is_not_there' ({package.name}/menu.py:1)"
    )


REPLACED = """
import sys
from cronce import Cron, job

@job("menu", schedule=Cron("0 6 * * *"))
def menu(run): pass

class Settings:
    __slots__ = ()

sys.modules[__name__] = Settings()
"""


def test_a_module_that_puts_something_else_in_its_place_is_a_problem_and_nothing_is_raised(
    package: Package,
) -> None:
    package.add("odd.py", REPLACED)
    package.add("other.py", declares("other"))

    problem = loaded(package, "odd", "menu")
    catalog = discover(package.name)

    assert isinstance(problem, LoadProblem)
    assert "put a Settings in its own place" in problem.text
    assert list(catalog.jobs) == ["other"]
    assert "put a Settings in its own place" in catalog.problems[f"{package.name}.odd"]


def test_nothing_outside_the_package_is_imported(package: Package) -> None:
    problem = load_job(package.name, "antigravity", "menu")

    assert isinstance(problem, LoadProblem)
    assert "'antigravity' is not a module of the package" in problem.text
    assert "antigravity" not in sys.modules


def test_a_module_that_never_ends_its_import_is_a_problem_for_the_executor_too(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "DISCOVERY_LIMIT", 0.5)
    package.add("menu.py", "while True: pass\n")

    problem = loaded(package, "menu", "menu")

    assert isinstance(problem, LoadProblem)
    assert "took longer than 0.5 s" in problem.text


def test_loading_is_what_the_executor_expects(package: Package) -> None:
    package.add("menu.py", declares("menu"))
    load: Callable[[str, str], Job | LoadProblem | None] = lambda module, name: load_job(  # noqa: E731
        package.name, module, name
    )

    assert isinstance(load(f"{package.name}.menu", "menu"), Job)
