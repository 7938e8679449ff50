"""`cronce validate`.

* Each job stands in a line with its schedule in words and its next time, as its zone shows it and in UTC.
* What cannot be used is said with its place, and makes the exit code 1.
* What may surprise is a note: uneven steps, timeouts beyond an invocation, catch-ups that defeat themselves.
"""

from __future__ import annotations

import importlib
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronce.engine.registry import discover
from cronce_tools.cli.output import Output
from cronce_tools.cli.validation import checked, show
from tests.cli.terminal import cronce
from tests.scenarios.job_package import PREAMBLE

NOW = datetime(2026, 10, 30, 9, tzinfo=UTC)
INVOCATION = timedelta(minutes=15)
ROOT = Path(__file__).resolve().parents[2]


def write(copy: Path, module: str, text: str) -> None:
    (copy / f"functions/jobs/{module}.py").write_text(PREAMBLE + text)


def declares(name: str, arguments: str = "schedule=Cron('0 6 * * *')") -> str:
    return f"@job('{name}', {arguments})\ndef {name}(run): pass\n"


def listed(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], dict[str, str]]:
    found = checked(discover("jobs"), "jobs", INVOCATION, NOW)
    show(Output(), found)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()], found.problems


def test_each_job_has_a_line_with_its_words_and_its_next_time(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(copy, "menu", declares("menu", "schedule=Cron('0 6 * * *', tz='America/New_York')"))
    write(copy, "soup", declares("soup"))

    (heading, menu, soup), problems = listed(capsys)

    assert problems == {}
    assert heading == "job schedule next (local) next (UTC) module"
    times = "Fri 2026-10-30 06:00 EDT Fri 2026-10-30 10:00 UTC"
    assert menu == f"menu daily at 06:00 America/New_York {times} jobs.menu"
    times = "Sat 2026-10-31 06:00 UTC Sat 2026-10-31 06:00 UTC"
    assert soup == f"soup daily at 06:00 UTC {times} jobs.soup"


def test_excluded_times_are_passed_over_and_a_time_that_is_over_is_none(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        copy,
        "menu",
        "from datetime import UTC, date, datetime\nfrom cronce import At\n"
        + declares("menu", "schedule=Cron('0 6 * * *'), exclude=[date(2026, 10, 31)]")
        + declares("once", "schedule=At(datetime(2026, 1, 1, tzinfo=UTC))"),
    )

    lines, _ = listed(capsys)

    assert "Sun 2026-11-01 06:00 UTC" in lines[1]
    assert lines[2].endswith(" none none jobs.menu")


@pytest.mark.parametrize(
    "arguments, note",
    [
        ("schedule=Cron('*/7 * * * *')", "*/7"),
        (
            "schedule=Cron('0 6 * * *'), timeout='3h'",
            "its timeout of 3 h is longer than an invocation (ExecutorTimeout: 15 min)",
        ),
        (
            "schedule=Cron('*/5 * * * *'), catch_up='all', timeout='10s'",
            "after an outage of 1 d the newest 100 of 288 times would be caught up, the others would",
        ),
        (
            "schedule=Cron('0 * * * *'), catch_up='all', timeout='2h'",
            "to catch up 24 runs may take 2 d (timeout by concurrency), longer than max_lateness (1 d)",
        ),
    ],
    ids=["uneven steps", "timeout", "more than the cap", "catch-up takes too long"],
)
def test_what_may_surprise_is_a_note(
    copy: Path, capsys: pytest.CaptureFixture[str], arguments: str, note: str
) -> None:
    write(copy, "menu", declares("menu", arguments))

    lines, problems = listed(capsys)

    assert problems == {}
    notes = [line for line in lines if line.startswith("note: menu: ")]
    assert any(note in line for line in notes)


def test_an_ordinary_job_has_no_notes(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(copy, "menu", declares("menu", "schedule=Cron('0 * * * *'), catch_up='all', timeout='15m'"))
    lines, _ = listed(capsys)
    assert len(lines) == 2


def test_problems_stand_below_with_their_place(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(copy, "fine", declares("fine"))
    (copy / "functions/jobs/bad.py").write_text("\nx = {}['[nope]']\n")

    lines, problems = listed(capsys)

    assert list(problems) == ["jobs.bad"]
    assert lines[1].startswith("fine daily at 06:00 UTC")
    assert lines[-1] == "problem in jobs.bad: KeyError: '[nope]' (jobs/bad.py:2)"


def test_a_calendar_that_raises_is_a_problem(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(copy, "fine", declares("fine", "schedule=Cron('0 6 * * *'), exclude=lambda day: 1 / 0"))

    lines, problems = listed(capsys)

    assert list(problems) == ["jobs.fine"]
    assert "job 'fine': exclude: ZeroDivisionError: division by zero (jobs/fine.py:3)" in lines[-1]


def test_a_calendar_that_wants_to_end_the_process_is_a_problem(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(copy, "fine", declares("fine", "schedule=Cron('0 6 * * *'), exclude=lambda day: exit(7)"))

    lines, _ = listed(capsys)
    said = cronce("next", "fine", "--code", "--project", copy)

    assert "job 'fine': exclude: SystemExit: 7 (jobs/fine.py:3)" in lines[-1]
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines()[-1] == "cronce: job 'fine': exclude: SystemExit: 7 (jobs/fine.py:3)"


def test_what_the_code_of_jobs_prints_stands_beside_the_answer(copy: Path) -> None:
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    calendar = "schedule=Cron('0 6 * * *'), exclude=lambda day: print('asked') or False"
    write(copy, "loud", "print('imported')\n" + declares("loud", calendar))

    checked_all = cronce("validate", "--json", "--project", copy)
    times = cronce("next", "loud", "--code", "--json", "--project", copy)

    assert checked_all.json["problems"] == {}
    assert {"imported", "asked"} == set(checked_all.err.splitlines())
    assert len(times.json["times"]) == 10
    assert set(times.err.splitlines()) == {"asked"}


def test_the_exit_code_says_whether_all_can_be_used(copy: Path) -> None:
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    write(copy, "soup", declares("soup"))
    good = cronce("validate", "--project", copy)
    write(copy, "bad", "raise RuntimeError('closed')\n")
    bad = cronce("validate", "--project", copy)

    assert (good.code, bad.code) == (0, 1)
    assert good.lines[1].startswith("soup daily at 06:00 UTC")
    assert "problem in jobs.bad: RuntimeError: closed (jobs/bad.py:3)" in bad.lines


def test_no_jobs_is_fine(copy: Path) -> None:
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    said = cronce("validate", "--project", copy)
    assert (said.code, said.lines) == (0, ["There are no jobs."])


def test_the_limit_of_an_invocation_is_that_of_the_environment(copy: Path) -> None:
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    (copy / "parameters").mkdir()
    (copy / "parameters/small.yaml").write_text("ExecutorTimeout: 60\n")
    write(copy, "soup", declares("soup"))

    said = cronce("validate", "--env", "small", "--project", copy)

    assert "(ExecutorTimeout: 1 min)" in said.out
    assert "note:" not in cronce("validate", "--project", copy).out


def test_a_job_that_asks_for_pings_wants_a_place_of_urls_in_its_environment(copy: Path) -> None:
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    (copy / "parameters").mkdir()
    (copy / "parameters/prod.yaml").write_text("PingUrls: /shop/pings\n")
    write(copy, "soup", declares("soup", "schedule=Cron('0 6 * * *'), ping='healthchecks'"))

    note = "note: soup: it asks for pings (healthchecks), and PingUrls is not set"
    assert note in " ".join(cronce("validate", "--project", copy).out.split())
    assert "note:" not in cronce("validate", "--env", "prod", "--project", copy).out


def without_jobs() -> list[str]:
    """Where Python looks, without the places that have jobs."""
    return [place for place in sys.path if not (Path(place) / "jobs").is_dir()]


@pytest.mark.parametrize("imported", [True, False], ids=["imported", "not imported"])
def test_jobs_of_another_package_of_that_name_are_not_taken_for_those_of_the_working_copy(
    copy: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, imported: bool
) -> None:
    """Python prefers a package anywhere on its path to a folder without `__init__.py`, and what it has."""
    other = tmp_path_factory.mktemp("other")
    (other / "functions/jobs").mkdir(parents=True)
    (other / "functions/jobs/__init__.py").touch()
    write(other, "soup", declares("soup"))
    monkeypatch.setattr(sys, "path", [*without_jobs(), str(other / "functions")])
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    (copy / "functions/jobs/__init__.py").unlink()
    write(copy, "menu", "raise RuntimeError('never deploy this')\n")
    if imported:
        importlib.import_module("jobs")

    said = cronce("validate", "--project", copy)
    assert said.code == 2
    assert said.complaint.startswith(
        f"Python finds another package `jobs`, in {other}/functions/jobs, instead"
    )
    assert said.complaint.endswith("/functions/jobs: it has no __init__.py, add an empty one")


def test_a_folder_without_init_is_looked_at_where_python_finds_it(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", without_jobs())
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    (copy / "functions/jobs/__init__.py").unlink()
    write(copy, "menu", "raise RuntimeError('never deploy this')\n")
    said = cronce("validate", "--project", copy)
    assert said.code == 1
    assert "never deploy this" in said.out


def test_a_url_in_a_job_is_a_problem_and_not_shown(copy: Path) -> None:
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    write(copy, "soup", declares("soup", "schedule=Cron('0 6 * * *'), ping='https://hc-ping.com/5ec2e7'"))

    said = cronce("validate", "--project", copy)
    assert said.code == 1
    assert "problem in jobs.soup: " in said.out
    assert "the URL is kept outside the code" in " ".join(said.out.split())


@pytest.mark.parametrize("value", [".inf", "1e300", ".nan", "soon", "[1]"])
def test_a_limit_that_is_none_is_one_line(copy: Path, value: str) -> None:
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    (copy / "parameters").mkdir()
    (copy / "parameters/dev.yaml").write_text(f"ExecutorTimeout: {value}\n")
    said = cronce("validate", "--project", copy)
    assert said.code == 2
    assert "ExecutorTimeout cannot be read" in said.complaint


def test_the_names_in_json_are_these(copy: Path) -> None:
    (copy / "template.yaml").symlink_to(ROOT / "template.yaml")
    write(copy, "soup", declares("soup", "schedule=Cron('*/7 6 * * *', tz='Europe/Berlin')"))
    (copy / "functions/jobs/bad.py").write_text("raise RuntimeError('closed')\n")

    said = cronce("validate", "--project", copy, "--json")

    document = json.loads(said.out)
    (soup,) = document["jobs"]
    assert said.code == 1
    assert document["problems"] == {"jobs.bad": "RuntimeError: closed (jobs/bad.py:1)"}
    names = ["job", "module", "schedule", "schedule_in_words", "tz", "next_at", "next_local", "ping", "notes"]
    assert list(soup) == names
    assert len(soup["notes"]) == 1
    assert soup["tz"] == "Europe/Berlin"


def test_a_folder_without_jobs_is_no_working_copy(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").symlink_to(ROOT / "template.yaml")
    said = cronce("validate", "--project", tmp_path)
    assert said.code == 2
    assert (
        said.complaint == f"there is no folder {tmp_path}/functions/jobs: name a working copy with --project"
    )
