"""Finding the jobs of a deployment.

Invariants:
- whatever one module does at import, every other module's jobs are found, within the time that discovery has;
- a problem names its module; jobs of one name are refused in both modules, and nothing else of theirs is;
- a job that was made is found, or is a problem: none vanishes, in the first look or in a later one.
"""

from __future__ import annotations

import threading
from pathlib import Path
from time import perf_counter

import pytest

from cronce.engine import registry
from cronce.engine.registry import Catalog, discover
from cronce.engine.time_limit import TimeLimitExceeded, time_limit
from tests.scenarios.job_package import FINE, PREAMBLE, Package, declares

# --- what is found ----------------------------------------------------------------------------------------


def test_a_file_with_one_job_is_found_with_no_other_edit(package: Package) -> None:
    package.add("daily_menu.py", declares("daily-menu"))

    assert package.found() == ({"daily-menu": "daily_menu"}, {})


def test_every_module_of_every_package_below_is_looked_at(package: Package) -> None:
    package.add("__init__.py", declares("top"))
    package.add("billing/__init__.py", "")
    package.add("billing/invoices.py", declares("invoices", "reminders"))
    package.add("stock/deep/sync.py", declares("sync"))  # folders without __init__.py
    package.add("not-an-identifier.py", declares("dashed"))
    package.add("shared.py", "RATE = 3\n")  # no job: fine
    package.add("__main__.py", "raise SystemExit('a program, not a module of jobs')\n")
    package.add("notes.txt", "no module")

    assert package.found() == (
        {
            "dashed": "not-an-identifier",
            "invoices": "billing.invoices",
            "reminders": "billing.invoices",
            "sync": "stock.deep.sync",
            "top": "",
        },
        {},
    )


def test_a_job_that_other_modules_import_belongs_to_the_one_that_declares_it(package: Package) -> None:
    package.add("a_user.py", f"from {package.name}.z_home import menu\n")
    package.add("z_home.py", declares("menu"))

    assert package.found() == ({"menu": "z_home"}, {})


def test_a_module_added_later_is_found_by_the_same_process(package: Package) -> None:
    package.add("one.py", declares("one"))
    package.found()
    package.add("two.py", declares("two"))

    assert package.found()[0] == {"one": "one", "two": "two"}


def test_a_package_that_does_not_exist_is_a_problem() -> None:
    catalog = discover("no_such_package_of_jobs")

    assert catalog.jobs == {}
    assert catalog.problems == {
        "no_such_package_of_jobs": "ModuleNotFoundError: No module named 'no_such_package_of_jobs'"
    }


# --- modules that do not import ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, problem",
    [
        ("import sys\nsys.exit('no configuration')\n", "SystemExit: no configuration"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("class Odd(BaseException): pass\nraise Odd('very')\n", "Odd: very"),
        ("def broken(:\n", "SyntaxError: invalid syntax"),
        ("import a_library_that_is_not_there\n", "ModuleNotFoundError: No module named 'a_library_that"),
        ("x = {}['key']\n", "KeyError: 'key'"),
        (
            PREAMBLE + "job('menu', schedule=Cron('61 * * * *'))\n",
            "DefinitionError: ",
        ),
    ],
)
def test_i7_a_module_that_does_not_import_is_a_problem_of_its_own(
    package: Package, text: str, problem: str
) -> None:
    package.add("bad.py", text)
    package.add("fine.py", declares("fine"))

    jobs, problems = package.found()

    assert jobs == {"fine": "fine"}
    assert list(problems) == ["bad"]
    assert problems["bad"].startswith(problem)


PLACES = {
    "its own line": ("\n\nx = {}['key']\n", "KeyError: 'key'", "bad.py:3"),
    "no Python": ("x = 1\ndef broken(:\n", "SyntaxError: invalid syntax", "bad.py:2"),
    "another module of the author's": ("\nfrom . import shared\n", "ValueError: no rate", "shared.py:2"),
    "a line that calls a library": ("import json\n\njson.loads('')\n", "JSONDecodeError: ", "bad.py:3"),
    "a line that calls cronce": (PREAMBLE + "Cron('61 * * * *')\n", "DefinitionError: ", "bad.py:3"),
    "no text": (
        "class Mute(Exception):\n    def __str__(self): return 1 / 0\nraise Mute\n",
        "Mute",
        "bad.py:3",
    ),
}


@pytest.mark.parametrize("how", PLACES)
def test_a_problem_ends_with_the_authors_line_and_its_traceback_is_beside_it(
    package: Package, how: str
) -> None:
    text, problem, place = PLACES[how]
    package.add("shared.py", "import sys\nif 'no rate': raise ValueError('no rate')\n")
    package.add("bad.py", text)

    catalog = discover(package.name)

    said = catalog.problems[f"{package.name}.bad"]
    assert said.startswith(problem)
    assert said.endswith(f" ({package.name}/{place})")
    trace = catalog.tracebacks[f"{package.name}.bad"]
    assert trace.startswith("Traceback (most recent call last):\n")
    assert problem.split(":")[0] in trace.splitlines()[-1]


def test_a_traceback_goes_with_its_problem(package: Package, tmp_path: Path) -> None:
    package.add("bad.py", f"open({str(tmp_path / 'later')!r}).close()\n" + declares("bad"))
    assert discover(package.name).tracebacks.keys() == {f"{package.name}.bad"}

    (tmp_path / "later").touch()

    assert discover(package.name).tracebacks == {}


def test_a_package_that_fails_itself_is_placed_too(package: Package) -> None:
    package.add("__init__.py", "\nraise RuntimeError('closed')\n")

    assert package.found() == ({}, {"": f"RuntimeError: closed ({package.name}/__init__.py:2)"})


def test_a_package_below_that_does_not_import_hides_only_what_is_in_it(package: Package) -> None:
    package.add("billing/__init__.py", "raise RuntimeError('closed')\n")
    package.add("billing/invoices.py", declares("invoices"))
    package.add("fine.py", declares("fine"))

    place = f"({package.name}/billing/__init__.py:1)"
    assert package.found() == ({"fine": "fine"}, {"billing": f"RuntimeError: closed {place}"})


def test_a_module_that_was_broken_is_tried_again(package: Package, tmp_path: Path) -> None:
    package.add("bad.py", f"open({str(tmp_path / 'later')!r}).close()\n" + declares("bad"))
    assert package.found()[0] == {}

    (tmp_path / "later").touch()

    assert package.found() == ({"bad": "bad"}, {})


def test_jobs_of_one_name_are_refused_in_both_modules_and_their_others_are_kept(package: Package) -> None:
    package.add("one.py", declares("menu", "first"))
    package.add("two.py", declares("menu", "second"))

    jobs, problems = package.found()

    assert jobs == {"first": "one", "second": "two"}
    assert list(problems) == ["one", "two"]
    for problem in problems.values():
        assert problem.startswith("DuplicateJobError: job 'menu' is declared in ")
        assert f"{package.name}.one and in {package.name}.two" in problem


def test_two_jobs_of_one_name_in_one_module_are_refused(package: Package) -> None:
    text = PREAMBLE + FINE.format(name="menu", function="one") + FINE.format(name="menu", function="two")
    package.add("both.py", text)

    jobs, problems = package.found()

    assert jobs == {}
    assert list(problems) == ["both"]


# --- jobs that nothing holds ------------------------------------------------------------------------------

OTHER = "@job('other', schedule=Cron('0 7 * * *'))\ndef {function}(run): pass\n"
LOST = {
    "its name taken by another job": (
        FINE.format(name="menu", function="menu") + OTHER.format(function="menu"),
        "the name 'menu' stands for job 'other': give each job's function a name of its own",
        "bad.py:3",
    ),
    "a decorator above": (
        "def loud(job): return lambda run: job(run)\n@loud\n"
        + FINE.format(name="menu", function="menu")
        + OTHER.format(function="other"),
        "the name 'menu' stands for something else: put @job above all other decorators",
        "bad.py:5",
    ),
    "kept in a list": (
        "def made():\n    @job('menu', schedule=Cron('0 6 * * *'))\n"
        "    def menu(run): pass\n    return menu\n"
        "ALL = [made()]\n" + OTHER.format(function="other"),
        "put it under a name of its own at the top level of the module",
        "bad.py:7",
    ),
}


@pytest.mark.parametrize("how", LOST)
def test_a_job_that_nothing_holds_is_a_problem_of_its_module_in_every_look(
    package: Package, how: str
) -> None:
    text, advice, place = LOST[how]
    package.add("bad.py", PREAMBLE + text)
    package.add("fine.py", declares("fine"))

    jobs, problems = package.found()

    assert jobs == {"fine": "fine", "other": "bad"}, "its neighbours go on"
    assert problems.keys() == {"bad"}
    assert problems["bad"].startswith(f"DefinitionError: job 'menu' is made and then lost: {advice} (")
    assert f"({package.name}/{place})" in problems["bad"]
    assert package.found() == (jobs, problems), "nothing is imported again, and nothing is forgotten"


def test_of_two_jobs_of_one_name_in_one_place_none_is_taken(package: Package) -> None:
    package.add("bad.py", declares("menu") + FINE.format(name="menu", function="menu"))

    jobs, problems = package.found()

    assert jobs == {}
    assert "'menu' is made and then lost" in problems["bad"]


def test_a_job_that_a_helper_made_is_lost_where_the_helper_is_imported(package: Package) -> None:
    package.add(
        "helper.py", PREAMBLE + "def made(name): return job(name, schedule=Cron('0 6 * * *'))(print)\n"
    )
    package.add("one.py", f"from {package.name}.helper import made\nmenu = made('menu')\nmade('lost')\n")

    jobs, problems = package.found()

    assert jobs == {"menu": "one"}
    assert problems.keys() == {"one"}
    assert problems["one"].endswith(f"({package.name}/one.py:3)")


def test_a_job_that_another_module_holds_is_not_lost_nor_is_a_changed_copy(package: Package) -> None:
    package.add("a.py", f"from {package.name}.b import made\nmenu, soup = made\n")
    change = "from dataclasses import replace\nmenu = replace(menu, catch_up_cap=5)\n"
    package.add("b.py", declares("menu", "soup") + change + "made = [menu, soup]\ndel menu\n")

    assert package.found() == ({"menu": "a", "soup": "b"}, {})


def test_jobs_of_an_import_that_failed_are_not_held_against_the_one_that_succeeds(
    package: Package, tmp_path: Path
) -> None:
    package.add(
        "helper.py", PREAMBLE + "def made(name): return job(name, schedule=Cron('0 6 * * *'))(print)\n"
    )
    use = f"from {package.name}.helper import made\nmenu = made('menu')\n"
    package.add("bad.py", use + f"open({str(tmp_path / 'later')!r}).close()\n")
    assert package.found()[1].keys() == {"bad"}

    (tmp_path / "later").touch()

    assert package.found() == ({"menu": "bad"}, {})


# --- time -------------------------------------------------------------------------------------------------

ENDLESS = "while True: pass\n"
SWALLOWS = "while True:\n    try:\n        while True: pass\n    except Exception: pass\n"
BLOCKED = "import socket\na, b = socket.socketpair()\nwith a, b: a.recv(1)\n"


@pytest.fixture
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Discovery in a second."""
    monkeypatch.setattr(registry, "DISCOVERY_LIMIT", 1.0)
    monkeypatch.setattr(registry, "MODULE_LIMIT", 0.2)
    monkeypatch.setattr(registry, "LEAST_SHARE", 0.02)


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("text", [ENDLESS, SWALLOWS, BLOCKED])
def test_i7_a_module_that_never_ends_its_import_is_a_problem_of_its_own(package: Package, text: str) -> None:
    package.add("a_bad.py", text)
    package.add("fine.py", declares("fine"))
    began = perf_counter()

    jobs, problems = package.found()

    assert jobs == {"fine": "fine"}
    assert list(problems) == ["a_bad"]
    assert f"the import of {package.name}.a_bad took longer than" in problems["a_bad"]
    assert f" ({package.name}/a_bad.py:" in problems["a_bad"]
    assert perf_counter() - began < 3


@pytest.mark.usefixtures("short_limits")
def test_a_limit_around_discovery_is_not_taken_for_that_of_a_module(package: Package) -> None:
    package.add("bad.py", ENDLESS)

    with pytest.raises(TimeLimitExceeded, match="the tick took longer"), time_limit(0.1, "the tick"):
        package.found()


@pytest.mark.usefixtures("short_limits")
def test_i7_nine_modules_that_never_end_keep_nobody_from_being_found(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "DISCOVERY_LIMIT", 3.0)
    for number in range(9):
        package.add(f"a_bad_{number}.py", ENDLESS)
    package.add("fine.py", declares("fine"))

    jobs, problems = package.found()

    assert jobs == {"fine": "fine"}
    assert len(problems) == 9


@pytest.mark.usefixtures("short_limits")
def test_a_module_slower_than_its_share_gets_what_the_others_leave(package: Package) -> None:
    slow = "from time import perf_counter\nend = perf_counter() + 0.4\nwhile perf_counter() < end: pass\n"
    package.add("slow.py", slow + declares("slow"))
    for number in range(3):
        package.add(f"fine_{number}.py", declares(f"fine-{number}"))

    jobs, problems = package.found()

    assert problems == {}
    assert set(jobs) == {"slow", "fine-0", "fine-1", "fine-2"}


def test_when_the_time_is_over_the_rest_is_named(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "DISCOVERY_LIMIT", 0.0)

    catalog = discover(package.name)

    assert catalog == Catalog(problems={package.name: "not imported: discovery took longer than 0 s in all"})


def test_outside_the_main_thread_nothing_is_limited_and_everything_is_found(package: Package) -> None:
    package.add("fine.py", declares("fine"))
    found: list[Catalog] = []

    thread = threading.Thread(target=lambda: found.append(discover(package.name)))
    thread.start()
    thread.join()

    assert list(found[0].jobs) == ["fine"]
