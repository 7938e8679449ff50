"""One emulator and one stack for all tests of this folder: built and deployed once, as a user does it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cronce_tools.emulator.deployment import build, deploy
from cronce_tools.emulator.process import Emulator
from cronce_tools.emulator.project import copy_project
from tests.e2e.driver import Driver

JOBS = Path(__file__).parent / "functions"
PARAMETERS = {"ExecutorTimeout": "60", "RetentionDays": "7", "LogLevel": "DEBUG"}


@dataclass
class WallTimes:
    """Seconds that things took, told at the end."""

    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, what: str, started: float) -> None:
        """Note the seconds since a `time.perf_counter()`."""
        self.seconds[what] = time.perf_counter() - started


TIMES = WallTimes()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TIMES.seconds:
        terminalreporter.section("wall times")
        for what, seconds in TIMES.seconds.items():
            terminalreporter.write_line(f"{what:<40}{seconds:>7.1f} s")


@pytest.fixture(scope="session")
def times() -> WallTimes:
    return TIMES


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, times: WallTimes) -> Path:
    """The project with the jobs of these tests, built."""
    started = time.perf_counter()
    copy = copy_project(tmp_path_factory.mktemp("project") / "cronce", JOBS)
    build(copy)
    times.note("build", started)
    return copy


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        yield running


@pytest.fixture(scope="session")
def main(project: Path, emulator: Emulator, times: WallTimes) -> Driver:
    """The stack that most tests use."""
    started = time.perf_counter()
    stack = deploy(project, "cronce-main", emulator.endpoint, PARAMETERS)
    times.note("deploy", started)
    return Driver(stack)
