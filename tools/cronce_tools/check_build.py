"""Prove that what `sam build` made is complete: handlers and jobs import from the built artefacts alone.

It runs at the end of `make build`, as a plain script, with the interpreter that the build was made for:
`PYTHON -P tools/cronce_tools/check_build.py .aws-sam/build`. Each handler is imported in a process of its own
that sees the function's folder, the layer and the standard library, in the order of Lambda, and nothing else:
no environment, no installed packages. Then the jobs are looked for as the scheduler does at each tick: what
would hold a job after the deployment fails the build, with the place.
"""

import json
import subprocess
import sys
from pathlib import Path

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

# Runs in the new process: imports, then prints milliseconds and the modules that came without bytecode.
PROBE = """
import importlib, json, os, sys, time
function, layer, name = sys.argv[1:]
sys.path[:0] = [function, layer]
started = time.perf_counter()
module = importlib.import_module(name)
took = round((time.perf_counter() - started) * 1000)
if not callable(getattr(module, "handler", None)):
    sys.exit(f"{name} has no function named handler")
specs = [each.__spec__ for each in list(sys.modules.values()) if getattr(each, "__spec__", None)]
built = [spec for spec in specs if (spec.origin or "").startswith((function, layer))]
bare = [spec.name for spec in built if spec.cached and not os.path.exists(spec.cached)]
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
        IncompleteBuildError: the handler does not import, or something came without bytecode; it says what.
    """
    done = _probed(build, function, PROBE, HANDLERS[function])
    if done.returncode:
        raise IncompleteBuildError(
            f"{function}: does not import from the build alone:\n{done.stderr.strip()}"
        )
    took, bare = json.loads(done.stdout.splitlines()[-1])
    if bare:
        raise IncompleteBuildError(f"{function}: shipped without bytecode: {', '.join(bare)}")
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


def _probed(build: Path, function: str, probe: str, name: str) -> subprocess.CompletedProcess[str]:
    """Execute a probe in a process that sees one function's folder and the layer."""
    code, layer = build / function, build / LAYER
    for folder in (code, layer):
        if not folder.is_dir():
            raise IncompleteBuildError(f"{function}: {folder} is missing; was the build made?")
    # -I: no environment; -S: no installed packages; -B: nothing is written into what will be uploaded.
    command = [sys.executable, "-I", "-S", "-B", "-c", probe, str(code), str(layer), name]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=IMPORT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise IncompleteBuildError(f"{function}: import took more than {IMPORT_SECONDS} s") from error


def main(arguments: list[str]) -> int:
    """Check every handler and all jobs of the build folder that is named.

    Returns:
        0; 1 if a handler would not start or a job could not be used; 2 for wrong arguments.
    """
    if len(arguments) != 1:
        print(USAGE, file=sys.stderr)
        return 2
    build = Path(arguments[0]).resolve()
    failed = False
    for function in HANDLERS:
        try:
            print(f"{function}: imports from the build alone, {check_handler(build, function)} ms")
        except IncompleteBuildError as error:
            failed = True
            print(error, file=sys.stderr)
    try:
        print(f"{JOBS}: {check_jobs(build)} found, without a problem")
    except IncompleteBuildError as error:
        failed = True
        print(error, file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
