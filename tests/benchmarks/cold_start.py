"""Cold start of each function, from what `make build` built, against one bare boto3 client.

`make bench-cold` builds and prints a table. Each figure is of a fresh process that sees a function's folder,
the layer and the standard library, as in Lambda: import of the handler's module, then everything that its
first call makes (settings, clients, its part of the engine). No call is sent. The measure beside it is
`import boto3` and `boto3.client("dynamodb")` from the same layer.

Rounds are interleaved, so that a busy machine is busy for all of them, and the medians are compared. CPU time
is less moved by neighbours than the clock is; in Lambda a process starts alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from cronce_tools.check_build import HANDLERS, LAYER

BUILD = Path(__file__).parents[2] / ".aws-sam/build"
ROUNDS = 21
LEAST_ROUNDS = 3
SECONDS = 60
"""For one process: a hundred times of what it takes."""

BARE = "boto3 client"
SOURCES = {
    BARE: "import boto3\nboto3.client('dynamodb')",
    **{
        module: f"import {module}\nfrom cronce.bootstrap.{module} import {module} as make\nmake()"
        for module in HANDLERS.values()
    },
    "scheduler, jobs found": (
        "import scheduler\nfrom cronce.bootstrap.scheduler import scheduler as make\n"
        "from cronce.bootstrap.process import JOBS\nfrom cronce.engine.registry import discover\n"
        "make()\ndiscover(JOBS)"
    ),
}
PROBE = """
import sys
from time import perf_counter, process_time
code, layer = sys.argv[1:]
sys.path[:0] = [code, layer]
clock, cpu = perf_counter(), process_time()
{source}
clock, cpu = perf_counter() - clock, process_time() - cpu
import resource
print(clock * 1e3, cpu * 1e3, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / {unit})
"""
RSS_UNIT = 2**20 if sys.platform == "darwin" else 2**10
"""What `ru_maxrss` counts in a MB: bytes on macOS, KB on Linux."""
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "CRONCE_STACK": "shop",
    "CRONCE_RUNS_TABLE": "shop-runs",
    "CRONCE_STEPS_TABLE": "shop-steps",
    "CRONCE_EXECUTOR": "shop-executor:live",
    "CRONCE_TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:shop",
    "PYTHONTZPATH": "",
}


@dataclass(frozen=True, kw_only=True)
class Start:
    """One start.

    Attributes:
        clock: milliseconds.
        cpu: milliseconds of processor time.
        memory: MB, the most that the process has had.
    """

    clock: float
    cpu: float
    memory: float


def start(name: str, build: Path = BUILD) -> Start:
    """Start what is named in a fresh process."""
    folder = next(
        (folder for folder, module in HANDLERS.items() if name.startswith(module)), next(iter(HANDLERS))
    )
    probe = PROBE.format(source=SOURCES[name], unit=RSS_UNIT)
    # -S, -s, -P: nothing but the two folders; -B: nothing is written into what will be uploaded.
    command = [sys.executable, "-S", "-s", "-P", "-B", "-c", probe, str(build / folder), str(build / LAYER)]
    done = subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        sys.exit(f"{name} does not start:\n{done.stderr}")
    clock, cpu, memory = map(float, done.stdout.split()[-3:])
    return Start(clock=clock, cpu=cpu, memory=memory)


def measure(rounds: int, build: Path = BUILD) -> dict[str, Start]:
    """The medians of so many rounds, each with one start of everything."""
    starts: dict[str, list[Start]] = {name: [] for name in SOURCES}
    for _ in range(rounds):
        for name, found in starts.items():
            found.append(start(name, build))
    return {
        name: Start(
            clock=median(each.clock for each in found),
            cpu=median(each.cpu for each in found),
            memory=median(each.memory for each in found),
        )
        for name, found in starts.items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    rounds = max(parser.parse_args().rounds, LEAST_ROUNDS)
    if not BUILD.is_dir():
        sys.exit("nothing is built: make build")
    found = measure(rounds)
    bare = found[BARE]
    print(f"Python {sys.version.split()[0]}, {sys.platform}, medians of {rounds} rounds")
    print(f"{'':24}{'clock':>10}{'':8}{'CPU':>10}{'':8}{'memory':>10}")
    for name, each in found.items():
        print(
            f"{name:24}{each.clock:>7.0f} ms{each.clock / bare.clock:>6.2f} x"
            f"{each.cpu:>7.0f} ms{each.cpu / bare.cpu:>6.2f} x{each.memory:>7.0f} MB"
        )


if __name__ == "__main__":
    main()
