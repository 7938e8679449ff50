"""The jobs of the working copy, imported as a deployment would."""

from __future__ import annotations

import difflib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cached_property
from pathlib import Path

from cronce.core.errors import JobNotFoundError
from cronce.core.job import Job
from cronce.engine.import_problem import import_problem
from cronce.engine.registry import Catalog, Declared, discover
from cronce.testing.ctrl_c import ctrl_c_ends
from cronce_tools.cli.exits import UsageError

PACKAGE = "jobs"
ANY_REGION = "us-east-1"
"""For a client that a module makes at its import, as in Lambda, where a Region is set. Nobody calls."""


def catalog(project: Path) -> Catalog:
    """All jobs in `functions/jobs` of a working copy, and what cannot be used.

    Raises:
        UsageError: there is no such folder, or Python would import another package of that name.
    """
    functions = project / "functions"
    if not (functions / PACKAGE).is_dir():
        raise UsageError(f"there is no folder {functions / PACKAGE}: name a working copy with --project")
    if str(functions) not in sys.path:
        sys.path.insert(0, str(functions))
    _check_that_python_finds(functions / PACKAGE)
    os.environ.setdefault("AWS_DEFAULT_REGION", ANY_REGION)
    with authors_code():
        return discover(PACKAGE)


def _check_that_python_finds(folder: Path) -> None:
    """A package anywhere on Python's path comes before a folder without `__init__.py`.

    Raises:
        UsageError: Python finds another package of that name, or several folders that it takes for one.
    """
    if (folder / "__init__.py").is_file():
        return
    importlib.invalidate_caches()  # the folder may be younger than this process
    spec = importlib.util.find_spec(folder.name)
    found = [Path(place) for place in (spec.submodule_search_locations or () if spec else ())]
    if [place.resolve() for place in found] == [folder.resolve()]:
        return
    others = " and ".join(str(place) for place in found if place.resolve() != folder.resolve()) or "no folder"
    why = "it has no __init__.py, add an empty one"
    raise UsageError(f"Python finds another package `{folder.name}`, in {others}, instead of {folder}: {why}")


@contextmanager
def authors_code() -> Iterator[None]:
    """Within the block code of jobs is executed: what it prints stands beside the answer, not in it.

    Ctrl-C ends the command, whatever that code makes of it.
    """
    with redirect_stdout(sys.stderr), ctrl_c_ends():
        yield


def declared(project: Path, name: str) -> Declared:
    """One job.

    Raises:
        JobNotFoundError: there is none of that name; the message names the one that may be meant.
    """
    found = catalog(project)
    if name in found.jobs:
        return found.jobs[name]
    near = difflib.get_close_matches(name, found.jobs, 1)
    broken = f" ({', '.join(found.problems)} cannot be used: `cronce validate`)" if found.problems else ""
    meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(found.jobs) or 'none'}"
    raise JobNotFoundError(f"there is no job {name!r} in {project.name}/functions/{PACKAGE}: {meant}{broken}")


@contextmanager
def calendar_of(name: str) -> Iterator[None]:
    """Within the block a job's calendar is asked, which is its author's.

    Raises:
        UsageError: it raised.
    """
    try:
        with authors_code():
            yield
    except (Exception, SystemExit) as error:
        raise UsageError(f"job {name!r}: exclude: {import_problem(error, PACKAGE).text}") from error


class WorkingCopy:
    """Finds the code of jobs for operators' commands. It is imported once, when it is first asked for.

    Args:
        project: the working copy.
    """

    def __init__(self, project: Path) -> None:
        self._project = project

    def job_of(self, name: str) -> Job | None:
        """The code of a job; None: the working copy does not have it, or it cannot be used."""
        found = self._catalog.jobs.get(name)
        return found.job if found else None

    @cached_property
    def _catalog(self) -> Catalog:
        return catalog(self._project)
