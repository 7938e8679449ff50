"""The last step of a build.

Invariants:
- a build passes only if each handler imports from the built folders alone, and all it loads has bytecode;
- what is wrong is said with the name of the function, and the other functions are checked all the same;
- a build passes only if its jobs would be found without a problem; a problem is said with its place.
"""

import compileall
import sysconfig
from pathlib import Path

import pytest

import cronce
from cronce_tools.check_build import HANDLERS, main

INSTALLED = Path(sysconfig.get_path("purelib"))
NEEDED = ("croniter", "dateutil", "six.py", "typing_extensions.py", "tzdata")
SCHEDULE = "schedule=Cron('0 6 * * *', tz='Europe/Rome')"
JOB = f"from cronce import Cron, job\n\n@job('menu', {SCHEDULE})\ndef menu(run): pass\n"
HANDLER = "import helper\n\ndef handler(event, context):\n    return helper.answer\n"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A small complete build: four functions and a layer that they need."""
    layer = tmp_path / "RuntimeLayer" / "python"
    layer.mkdir(parents=True)
    (layer / "helper.py").write_text("answer = 42\n")
    (layer / "cronce").symlink_to(Path(cronce.__file__).parent)
    for name in NEEDED:
        (layer / name).symlink_to(INSTALLED / name)
    for function, module in HANDLERS.items():
        (tmp_path / function).mkdir()
        (tmp_path / function / f"{module}.py").write_text(HANDLER)
        (tmp_path / function / "jobs").mkdir()
        (tmp_path / function / "jobs/menu.py").write_text(JOB)
    compileall.compile_dir(tmp_path, quiet=1)
    return tmp_path


def replace(build: Path, path: str, text: str) -> None:
    (build / path).write_text(text)
    compileall.compile_dir(build, quiet=1, force=True)


def test_a_complete_build_passes(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(build)]) == 0
    output = capsys.readouterr().out
    assert output.count("imports from the build alone") == len(HANDLERS)
    assert "jobs: 1 found, without a problem" in output


@pytest.mark.parametrize(
    "text, problem",
    [
        ("print('hello')\n\nx = {}['nope']\n", "jobs.menu: KeyError: 'nope' (jobs/menu.py:3)\nTraceback "),
        ("import moto\n", "jobs.menu: ModuleNotFoundError: No module named 'moto' (jobs/menu.py:1)\n"),
        (
            JOB + JOB.replace("'menu'", "'soup'"),
            "jobs.menu: DefinitionError: job 'menu' is made and then lost",
        ),
    ],
    ids=["an error", "a package that is not in the build", "a job that is lost"],
)
def test_jobs_that_would_be_held_after_the_deployment_fail_the_build(
    build: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    replace(build, "SchedulerFunction/jobs/menu.py", text)
    assert main([str(build)]) == 1
    output = capsys.readouterr()
    assert output.err.startswith(problem)
    assert output.out.count("imports from the build alone") == len(HANDLERS)


def test_a_build_without_the_package_of_jobs_is_named(
    build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (build / "SchedulerFunction/jobs").rename(build / "SchedulerFunction/work")
    assert main([str(build)]) == 1
    assert "jobs: ModuleNotFoundError: No module named 'jobs'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, said",
    [
        ("import moto\n", "moto"),
        ("raise SystemExit(3)\n", "does not import"),
        ("handler = 1\n", "no function named handler"),
    ],
    ids=["an installed package", "an end of the process", "no handler"],
)
def test_a_handler_that_would_not_start_is_named(
    build: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    """Moto is installed where the tests run, but it is not in the build."""
    replace(build, "WatchdogFunction/watchdog.py", text)
    assert main([str(build)]) == 1
    output = capsys.readouterr()
    assert output.err.startswith("WatchdogFunction: ")
    assert said in output.err
    assert output.out.count("imports from the build alone") == len(HANDLERS) - 1


def test_a_module_without_bytecode_is_named(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for compiled in (build / "RuntimeLayer/python/__pycache__").glob("helper.*"):
        compiled.unlink()
    assert main([str(build)]) == 1
    assert "SchedulerFunction: shipped without bytecode: helper" in capsys.readouterr().err


def test_it_writes_nothing_into_the_build(build: Path) -> None:
    before = sorted(build.rglob("*"))
    main([str(build)])
    assert sorted(build.rglob("*")) == before


def test_a_build_that_was_not_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_wrong_arguments_are_answered_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
