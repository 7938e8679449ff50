"""Jobs that were made but that nothing holds: they would vanish without a word.

A second function of the same Python name takes the first one's place in the module; a decorator above `@job`
puts a plain function there; a job in a list or a class is in no place where discovery looks. So discovery
listens while it imports, and each job it heard of must be found among the top-level names of some module.

What was heard is kept with the module that made it, as long as Python keeps that module: an import that is
not repeated makes no jobs again, and the next tick of the same process must come to the same answer. A module
that failed is forgotten with its jobs: it is a problem anyway, and is tried anew.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from types import ModuleType

from cronce.core.job import Job
from cronce.core.made_jobs import Line, MadeJob
from cronce.engine.import_problem import shown

_HEARD = "__cronce_made__"
"""The module's attribute: the jobs that its import made."""


def remember(made: Iterable[MadeJob], package: str) -> None:
    """Keep the jobs that were heard of with the modules that made them.

    Args:
        made: the jobs.
        package: the package of all jobs.
    """
    for each in made:
        line = _line_of(each, package)
        module = sys.modules.get(line.module) if line else None
        if isinstance(module, ModuleType):
            vars(module).setdefault(_HEARD, []).append(each)


def hidden_jobs(module: ModuleType, held: Iterable[Job]) -> list[MadeJob]:
    """The jobs that a module made and that none holds.

    Args:
        module: of the package of jobs.
        held: every job that some module holds. A changed copy of a job stands for it.
    """
    known = {(job.name, id(job.function)) for job in held}
    heard: list[MadeJob] = vars(module).get(_HEARD, [])
    return [made for made in heard if (made.job.name, id(made.job.function)) not in known]


def why_hidden(made: MadeJob, module: ModuleType, package: str) -> str:
    """What happened to a hidden job, what to do about it, and where."""
    function = inspect.unwrap(made.job.function)
    name = getattr(function, "__name__", "")
    now = vars(module).get(name)
    if isinstance(now, Job):
        what = f"the name {name!r} stands for job {now.name!r}: give each job's function a name of its own"
    elif callable(now):
        what = f"the name {name!r} stands for something else: put @job above all other decorators"
    else:
        what = "put it under a name of its own at the top level of the module"
    line = _line_of(made, package)
    place = shown((line.file, line.number), package) if line else ""
    return f"DefinitionError: job {made.job.name!r} is made and then lost: {what}{place}"


def _line_of(made: MadeJob, package: str) -> Line | None:
    """Where a module of the package made it, itself or through others."""
    ours = (line for line in made.lines if f"{line.module}.".startswith(f"{package}."))
    return next(ours, None)
