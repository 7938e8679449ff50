"""The list of jobs.

Invariants:
- each job stands in a line with its schedule in words and its next time, as its zone shows it and in UTC;
- what cannot be used is said with its place, and makes the exit status 1.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from cronce.engine.registry import discover
from cronce_tools.jobs import PLAIN_WIDTH, report
from tests.scenarios.job_package import FINE, PREAMBLE, Package, declares

NOW = datetime(2026, 10, 30, 9, tzinfo=UTC)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = Package(tmp_path)
    yield package
    for module in [name for name in sys.modules if name.split(".")[0] == package.name]:
        del sys.modules[module]


def listed(package: Package) -> tuple[int, list[str]]:
    output = io.StringIO()
    console = Console(file=output, highlight=False, soft_wrap=True, width=PLAIN_WIDTH)
    status = report(console, package.name, discover(package.name), NOW)
    return status, [" ".join(line.split()) for line in output.getvalue().splitlines()]


def test_each_job_has_a_line_with_its_words_and_its_next_time(package: Package) -> None:
    text = PREAMBLE + FINE.format(name="menu", function="menu").replace(
        "'0 6 * * *'", "'0 6 * * *', tz='America/New_York'"
    )
    package.add("menu.py", text)
    package.add("soup.py", declares("soup"))

    status, (heading, menu, soup) = listed(package)

    assert status == 0
    assert heading == "job schedule next (local) next (UTC) module"
    times = "Fri 2026-10-30 06:00 EDT Fri 2026-10-30 10:00 UTC"
    assert menu == f"menu daily at 06:00 America/New_York {times} {package.name}.menu"
    times = "Sat 2026-10-31 06:00 UTC Sat 2026-10-31 06:00 UTC"
    assert soup == f"soup daily at 06:00 UTC {times} {package.name}.soup"


def test_excluded_times_are_passed_over_and_a_time_that_is_over_is_none(package: Package) -> None:
    text = (
        "from datetime import UTC, date, datetime\nfrom cronce import At, Cron, job\n"
        "@job('menu', schedule=Cron('0 6 * * *'), exclude=[date(2026, 10, 31)])\ndef menu(run): pass\n"
        "@job('once', schedule=At(datetime(2026, 1, 1, tzinfo=UTC)))\ndef once(run): pass\n"
    )
    package.add("menu.py", text)

    status, lines = listed(package)

    assert status == 0
    assert "Sun 2026-11-01 06:00 UTC" in lines[1]
    assert f" none none {package.name}.menu" in lines[2]


def test_what_may_not_be_meant_is_a_note(package: Package) -> None:
    package.add("menu.py", declares("menu").replace("0 6 * * *", "*/7 * * * *"))

    status, lines = listed(package)

    assert status == 0
    assert lines[-1].startswith("note: menu: ")


def test_problems_stand_below_with_their_place(package: Package) -> None:
    package.add("fine.py", declares("fine"))
    package.add("bad.py", "\nx = {}['[nope]']\n")

    status, lines = listed(package)

    assert status == 1
    assert lines[1].startswith("fine daily at 06:00 UTC")
    assert lines[-1] == (f"problem in {package.name}.bad: KeyError: '[nope]' ({package.name}/bad.py:2)")


def test_a_calendar_that_raises_is_a_problem(package: Package) -> None:
    text = declares("fine").replace("'0 6 * * *')", "'0 6 * * *'), exclude=lambda day: 1 / 0")
    package.add("fine.py", text)

    status, lines = listed(package)

    assert status == 1
    assert "job 'fine': exclude: ZeroDivisionError: division by zero (" in lines[-1]
    assert lines[-1].endswith(f"({package.name}/fine.py:3)")


def test_a_package_without_jobs_says_so(package: Package) -> None:
    package.add("__init__.py", "")
    assert listed(package) == (0, [f"No jobs were found in the package {package.name!r}."])


def test_the_command_lists_the_package_jobs_and_its_exit_status_says_whether_all_is_well(
    tmp_path: Path,
) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/__init__.py").touch()
    (tmp_path / "jobs/soup.py").write_text(declares("soup"))
    command = [sys.executable, "-m", "cronce_tools.jobs"]
    good = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    (tmp_path / "jobs/bad.py").write_text("raise RuntimeError('closed')\n")
    bad = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (good.returncode, bad.returncode) == (0, 1), good.stderr
    assert "soup  daily at 06:00 UTC" in good.stdout
    assert "problem in jobs.bad: RuntimeError: closed (jobs/bad.py:1)" in bad.stdout
