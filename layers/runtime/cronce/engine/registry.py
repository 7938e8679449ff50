"""Which jobs this deployment has: every `Job` that a module of the package holds.

Guaranteed: a module that cannot be imported (an exception, `sys.exit()`, a syntax error, an endless loop, a
network call that hangs) is a problem of its own, with its name; the other modules are found. Jobs of one name
in two modules are refused in both, since nobody can say which one is meant. A job that a module makes and
that is under no top-level name in the end is a problem of that module. A module without jobs is fine, and so
are packages within the package, with or without `__init__.py`.

A problem costs as little as it can: jobs of the same module that are found go on, as they do beside a job of
a doubled name. The one that is not found is safe too, because while there is any problem a missing job is
unavailable (held, and alarmed of) instead of removed; to hold its neighbours would add nothing to that.

Time. Discovery takes `DISCOVERY_LIMIT` in all. In a first round every module has at most `MODULE_LIMIT`, and
never more than its share of what is left, so that slow modules cannot take the time of those that come after
them. What was too slow is tried again in a second round, with all the time that remains. Outside the main
thread nothing is limited.

Not guaranteed: that a module is imported twice. Python keeps what it imported; calling `discover` again in
the same process is cheap, and tries only those again that failed. A module that kills the process is beyond
this.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from time import perf_counter
from types import ModuleType

from cronce.core.errors import DuplicateJobError
from cronce.core.job import Job
from cronce.core.made_jobs import made_jobs
from cronce.core.values import dataclass
from cronce.engine.hidden_jobs import hidden_jobs, remember, why_hidden
from cronce.engine.import_problem import ImportProblem, import_problem
from cronce.engine.job_loader import LoadProblem
from cronce.engine.time_limit import TimeLimitExceeded, time_limit

DISCOVERY_LIMIT = 15.0
"""Seconds for all modules: a tick has 45, and planning needs the rest."""
MODULE_LIMIT = 3.0
"""Seconds for one module in the first round: far more than an honest import takes, even on a small
function."""
LEAST_SHARE = 0.5
"""Seconds that a module has in any case while there is time at all: a hundred modules do not make each other
fail."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Declared:
    """A job and the module that declares it."""

    job: Job
    module: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalog:
    """What discovery found.

    Attributes:
        jobs: by name.
        problems: module -> why it, or a job of it, cannot be used. While there are any, a job that is not
            found may be one of those.
        tracebacks: module -> what Python prints about its import, of those that do not import.
    """

    jobs: Mapping[str, Declared] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    tracebacks: Mapping[str, str] = field(default_factory=dict)


def discover(package: str) -> Catalog:
    """Find all jobs below a package.

    Args:
        package: its name, importable; `jobs` in a deployment.
    """
    importlib.invalidate_caches()  # a module may have been added since this process began
    search = _Search(package, perf_counter() + DISCOVERY_LIMIT)
    search.run()
    return _catalog(search)


def load_job(package: str, module: str, name: str) -> Job | LoadProblem | None:
    """Find one job without importing the modules of the others.

    Args:
        package: the package of all jobs.
        module: where the job was last seen.
        name: the job's name.

    Returns:
        The job; why its module gave none; or None, if no such module or job is deployed. It never raises.
    """
    if module != package and not module.startswith(f"{package}."):
        return LoadProblem(f"{module!r} is not a module of the package {package!r}")
    found = _imported(module, package, DISCOVERY_LIMIT)
    if not isinstance(found, ModuleType):
        return None if _is_absent(module, found) else LoadProblem(import_problem(found, package).text)
    return next((job for job in _jobs_of(found) if job.name == name), None)


# --- modules ----------------------------------------------------------------------------------------------


class _Search:
    """Imports modules one by one until the time is over. Packages lead to more modules."""

    def __init__(self, package: str, deadline: float) -> None:
        self.package = package
        self._deadline = deadline
        self.modules: list[ModuleType] = []
        self.problems: dict[str, str] = {}
        self.tracebacks: dict[str, str] = {}

    def run(self) -> None:
        """Two rounds: everybody's share first, then what was too slow."""
        slow = self._round([self.package], most=MODULE_LIMIT)
        self._round(slow, most=DISCOVERY_LIMIT)

    def _round(self, names: list[str], *, most: float) -> list[str]:
        slow = []
        while names:
            name = names.pop(0)
            left = self._deadline - perf_counter()
            if left <= 0:
                self.problems[name] = f"not imported: discovery took longer than {DISCOVERY_LIMIT:g} s in all"
                continue
            share = max(LEAST_SHARE, left / (len(names) + 1))
            found = _imported(name, self.package, min(most, left, share))
            if isinstance(found, ModuleType):
                self.problems.pop(name, None)
                self.tracebacks.pop(name, None)
                self.modules.append(found)
                names += _children(found)
            elif self._refused(name, import_problem(found, self.package)):
                slow.append(name)
        return slow

    def note(self, name: str, problem: str) -> None:
        """Add to what is wrong with a module."""
        self.problems[name] = "; ".join(filter(None, [self.problems.get(name), problem]))

    def _refused(self, name: str, problem: ImportProblem) -> bool:
        """Note why a module cannot be used. Returns whether it was only too slow."""
        self.problems[name] = problem.text
        self.tracebacks[name] = problem.traceback
        return problem.is_slow


def _imported(name: str, package: str, seconds: float) -> ModuleType | BaseException:
    """The module, or what its import raised: that module's problem, whatever it is."""
    what = f"the import of {name}"
    with made_jobs() as made:
        try:
            with time_limit(seconds, what):
                module: object = importlib.import_module(name)
        except BaseException as problem:
            if isinstance(problem, TimeLimitExceeded) and problem.what != what:
                raise  # somebody's limit around this one
            return problem
        finally:
            remember(made, package)
    if isinstance(module, ModuleType):
        return module
    return TypeError(f"{name} put a {type(module).__name__} in its own place: a module of jobs stays one")


def _is_absent(module: str, problem: BaseException) -> bool:
    """Whether there is no such module, as opposed to one that lacks something itself."""
    missing = problem.name if isinstance(problem, ModuleNotFoundError) else None
    return missing is not None and f"{module}.".startswith(f"{missing}.")


def _children(module: ModuleType) -> Iterator[str]:
    """Full names of the modules and packages right below a package, sorted; none below a plain module."""
    paths = list(getattr(module, "__path__", ()))
    names = {child.name for child in pkgutil.iter_modules(paths)}
    names |= {folder.name for path in paths for folder in _plain_folders(Path(path))}
    yield from (f"{module.__name__}.{name}" for name in sorted(names) if name != "__main__")


def _plain_folders(path: Path) -> Iterator[Path]:
    """Folders with modules but without `__init__.py`: they can be imported, and `iter_modules` omits them."""
    if path.is_dir():
        for folder in path.iterdir():
            if folder.name.isidentifier() and folder.is_dir() and any(folder.rglob("*.py")):
                yield folder


# --- jobs -------------------------------------------------------------------------------------------------


def _jobs_of(module: ModuleType) -> list[Job]:
    """The jobs that a module holds, once each, in order of their names."""
    held = {id(value): value for value in vars(module).values() if isinstance(value, Job)}
    return sorted(held.values(), key=lambda job: job.name)


def _catalog(search: _Search) -> Catalog:
    """One job of each name; of those with several, none, and neither those that no module holds."""
    holders: dict[str, dict[int, tuple[Job, list[str]]]] = {}
    for module in search.modules:
        for job in _jobs_of(module):
            same_name = holders.setdefault(job.name, {})
            same_name.setdefault(id(job), (job, []))[1].append(module.__name__)
    jobs = {}
    for name, found in sorted(holders.items()):
        homes = {id(job): _home(job, where) for job, where in found.values()}
        if len(found) == 1:
            (job, _), *_ = found.values()
            jobs[name] = Declared(job=job, module=homes[id(job)])
        else:
            _note_double(search, name, sorted(set(homes.values())))
    held = [job for found in holders.values() for job, _ in found.values()]
    for module in search.modules:
        for made in hidden_jobs(module, held):
            jobs.pop(made.job.name, None)  # another one of that name: nobody can say which is meant
            search.note(module.__name__, why_hidden(made, module, search.package))
    return Catalog(jobs=jobs, problems=dict(sorted(search.problems.items())), tracebacks=search.tracebacks)


def _note_double(search: _Search, name: str, homes: list[str]) -> None:
    error = DuplicateJobError(f"job {name!r} is declared in {' and in '.join(homes)}: rename one of them")
    for home in homes:
        search.note(home, f"{type(error).__name__}: {error}")


def _home(job: Job, modules: list[str]) -> str:
    """The module that declares a job, of all that hold it: others may have imported it from there."""
    origin = getattr(job.function, "__module__", None)
    return origin if origin in modules else min(modules)
