"""Prove that what `sam build` made is complete: handlers and jobs import from the built artefacts alone.

It runs at the end of `make build`, with the interpreter that the build was made for and nothing but the
standard library: `PYTHONPATH=tools PYTHON -P -m cronce_tools.check_build .aws-sam/build`. Each handler is
imported in a process of its own that sees the function's folder, the layer and the standard library, in the
order of Lambda, and nothing else: no environment, no installed packages. Then the jobs are looked for as the
scheduler does at each tick: what would hold a job after the deployment fails the build, with the place. At
last the layer's content is compared with the list of it, and everything is weighed.

Bytecode counts only if Lambda would use it: of this very Python, and of the kind that is believed without a
look at its source. Times of files do not survive every upload, and bytecode that depends on them would be
made again at each cold start.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cronce_tools.build_contents import content_problems, size_of, size_problem, upload_note

USAGE = "usage: check_build.py BUILD_FOLDER"

# Built folder -> module of its handler, as in template.yaml.
HANDLERS = {
    "SchedulerFunction": "scheduler",
    "DispatcherFunction": "dispatcher",
    "ExecutorFunction": "executor",
    "WatchdogFunction": "watchdog",
}
LAYER = "RuntimeLayer/python"
# Who looks for the jobs, in the package of that name.
DISCOVERER = "SchedulerFunction"
JOBS = "jobs"

# Importing takes a fraction of a second; a minute means that it hangs.
IMPORT_SECONDS = 60

# The first eight bytes of bytecode that counts: this Python's number, and "by hash, not checked" (PEP 552).
USABLE = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")

# Runs in the new process: imports, then prints milliseconds and the modules whose bytecode does not count.
PROBE = """
import importlib, json, os, sys, time
function, layer, name, usable = sys.argv[1:]
sys.path[:0] = [function, layer]
started = time.perf_counter()
module = importlib.import_module(name)
took = round((time.perf_counter() - started) * 1000)
if not callable(getattr(module, "handler", None)):
    sys.exit(f"{name} has no function named handler")
specs = [each.__spec__ for each in list(sys.modules.values()) if getattr(each, "__spec__", None)]
built = [spec for spec in specs if (spec.origin or "").startswith((function, layer))]
def compiled(path):
    return os.path.exists(path) and open(path, "rb").read(8).hex() == usable
bare = [spec.name for spec in built if spec.cached and not compiled(spec.cached)]
print(json.dumps([took, sorted(bare)]))
"""

# The same for discovery: prints the number of jobs, and problems with tracebacks. Zone data is the layer's.
# A Region is set, as in Lambda, for clients that a module makes at import; any will do, nobody calls.
DISCOVERY = """
import json, os, sys, zoneinfo
function, layer, package = sys.argv[1:]
sys.path[:0] = [function, layer]
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
zoneinfo.reset_tzpath(to=())
from cronce.engine.registry import discover
found = discover(package)
problems = [[name, text, found.tracebacks.get(name, "")] for name, text in found.problems.items()]
print()
print(json.dumps([len(found.jobs), problems]))
"""


class IncompleteBuildError(Exception):
    """What was built would not start in Lambda."""


def check_handler(build: Path, function: str) -> int:
    """Import one handler from the built artefacts alone.

    Args:
        build: the folder that `sam build` made.
        function: logical id of the function, which is also the name of its folder.

    Returns:
        Milliseconds that the import took.

    Raises:
        IncompleteBuildError: the handler does not import, or something came without bytecode that counts; it
            says what.
    """
    done = _probed(build, function, PROBE, HANDLERS[function], USABLE.hex())
    if done.returncode:
        raise IncompleteBuildError(
            f"{function}: does not import from the build alone:\n{done.stderr.strip()}"
        )
    took, bare = json.loads(done.stdout.splitlines()[-1])
    if bare:
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        raise IncompleteBuildError(
            f"{function}: shipped without bytecode that {version} in Lambda would use: {', '.join(bare)}"
        )
    return int(took)


def check_jobs(build: Path) -> int:
    """Discover the jobs from the built artefacts alone.

    Args:
        build: the folder that `sam build` made.

    Returns:
        How many there are.

    Raises:
        IncompleteBuildError: a module of jobs, or a job, cannot be used; it says which, why and where.
    """
    done = _probed(build, DISCOVERER, DISCOVERY, JOBS)
    if done.returncode:
        raise IncompleteBuildError(f"{JOBS}: cannot be discovered in the build:\n{done.stderr.strip()}")
    count, problems = json.loads(done.stdout.splitlines()[-1])
    if problems:
        told = [f"{module}: {text}\n{trace}".rstrip() for module, text, trace in problems]
        raise IncompleteBuildError("\n".join(told))
    return int(count)


def check_contents(build: Path) -> str:
    """Compare the layer with the list of its packages, and weigh it and the functions.

    Args:
        build: the folder that `sam build` made.

    Returns:
        Lines with the sizes.

    Raises:
        IncompleteBuildError: the layer holds other packages, or Lambda would refuse a function for its size.
    """
    layer_folder = _folder(build, LAYER)
    layer = size_of(layer_folder)
    sizes = {function: size_of(_folder(build, function)) for function in HANDLERS}
    problems = content_problems(layer_folder)
    problems += filter(None, (size_problem(function, size, layer) for function, size in sizes.items()))
    if problems:
        raise IncompleteBuildError("\n".join(problems))
    weighed = {"layer": layer, **sizes}
    notes = filter(None, (upload_note(name, size) for name, size in weighed.items()))
    return "\n".join([*(f"{name}: {size}" for name, size in weighed.items()), *notes])


def _probed(build: Path, function: str, probe: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Execute a probe in a process that sees one function's folder and the layer."""
    code, layer = _folder(build, function), _folder(build, LAYER)
    # -I: no environment; -S: no installed packages; -B: nothing is written into what will be uploaded.
    command = [sys.executable, "-I", "-S", "-B", "-c", probe, str(code), str(layer), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=IMPORT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise IncompleteBuildError(f"{function}: import took more than {IMPORT_SECONDS} s") from error


def _folder(build: Path, name: str) -> Path:
    folder = build / name
    if not folder.is_dir():
        raise IncompleteBuildError(f"{folder} is missing; was the build made?")
    return folder


def _handler_line(build: Path, function: str) -> str:
    return f"{function}: imports from the build alone, {check_handler(build, function)} ms"


def _jobs_line(build: Path) -> str:
    return f"{JOBS}: {check_jobs(build)} found, without a problem"


def _checks(build: Path) -> Iterator[Callable[[], str]]:
    """Each check, which gives what is to be said when all is well."""
    for function in HANDLERS:
        yield partial(_handler_line, build, function)
    yield partial(_jobs_line, build)
    yield partial(check_contents, build)


def main(arguments: list[str]) -> int:
    """Check every handler, all jobs and the contents of the build folder that is named.

    Returns:
        0; 1 if Lambda would not start a handler or a job could not be used; 2 for wrong arguments.
    """
    if len(arguments) != 1:
        print(USAGE, file=sys.stderr)
        return 2
    failed = False
    for check in _checks(Path(arguments[0]).resolve()):
        try:
            print(check())
        except IncompleteBuildError as error:
            failed = True
            print(error, file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
