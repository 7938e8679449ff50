"""One emulator and its stacks for all tests of this folder. What takes time begins at once for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cronce_tools.emulator.process import Emulator
from tests.e2e.driver import Driver
from tests.e2e.stage import Stage, WallTimes

TIMES = WallTimes()
LOG = Path(__file__).parents[2] / ".make/e2e-emulator.log"
"""Where the emulator's log is kept after a run, with the output of every function."""


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
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stacks = {item.path.stem.split("_")[-2] for item in request.session.items if "_stack" in item.path.stem}
    with Emulator() as emulator:
        try:
            begun = Stage(emulator.endpoint, tmp_path_factory.mktemp("projects"), TIMES, stacks)
            yield begun
            begun.close()
        finally:
            LOG.parent.mkdir(exist_ok=True)
            LOG.write_bytes(emulator.log.read_bytes())


@pytest.fixture(scope="session")
def main(stage: Stage) -> Driver:
    """The stack that most tests use."""
    return stage.main
