"""The last step of a build.

Invariants:
- a build passes only if each handler imports from the built folders alone, and all it loads has bytecode that
  Lambda would use: of the Python of the build, and believed without a look at its source;
- a build passes only if the layer holds the listed packages and no others, which are those that are locked
  for it, and if no function is too large for Lambda; the sizes are told;
- what is wrong is said with the name of the function, and the other functions are checked all the same;
- a build passes only if its jobs would be found without a problem; a problem is said with its place.
"""

import compileall
import re
import sysconfig
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path
from py_compile import PycInvalidationMode
from random import Random

import pytest

import cronce
from cronce_tools import build_contents
from cronce_tools.build_contents import LAYER_PACKAGES, Size, content_problems, size_of, size_problem
from cronce_tools.check_build import HANDLERS, main

INSTALLED = Path(sysconfig.get_path("purelib"))
LOCKED = Path(__file__).parents[2] / "layers/runtime/requirements.txt"
SCHEDULE = "schedule=Cron('0 6 * * *', tz='Europe/Rome')"
JOB = f"from cronce import Cron, job\n\n@job('menu', {SCHEDULE})\ndef menu(run): pass\n"
HANDLER = "import helper\n\ndef handler(event, context):\n    return helper.answer\n"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A small complete build: four functions and a layer that they need."""
    layer = tmp_path / "RuntimeLayer" / "python"
    layer.mkdir(parents=True)
    (layer / "cronce").symlink_to(Path(cronce.__file__).parent)
    for name in LAYER_PACKAGES - {"cronce"}:
        found = INSTALLED / name if (INSTALLED / name).is_dir() else INSTALLED / f"{name}.py"
        (layer / found.name).symlink_to(found)
    for function, module in HANDLERS.items():
        (tmp_path / function).mkdir()
        (tmp_path / function / f"{module}.py").write_text(HANDLER)
        (tmp_path / function / "helper.py").write_text("answer = 42\n")
        (tmp_path / function / "jobs").mkdir()
        (tmp_path / function / "jobs/menu.py").write_text(JOB)
    compile_all(tmp_path)
    return tmp_path


def compile_all(build: Path, mode: PycInvalidationMode = PycInvalidationMode.UNCHECKED_HASH) -> None:
    compileall.compile_dir(build, quiet=1, force=True, invalidation_mode=mode)


def replace(build: Path, path: str, text: str) -> None:
    (build / path).write_text(text)
    compile_all(build)


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


def compiled(build: Path) -> Path:
    return next((build / "SchedulerFunction/__pycache__").glob("helper.*"))


def remove(build: Path) -> None:
    compiled(build).unlink()


def rename_to_another_version(build: Path) -> None:
    compiled(build).rename(build / "SchedulerFunction/__pycache__/helper.cpython-399.pyc")


def mark_as_of_another_version(build: Path) -> None:
    path = compiled(build)
    path.write_bytes(b"\0\0\r\n" + path.read_bytes()[4:])


def compile_by_time(build: Path) -> None:
    compile_all(build / "SchedulerFunction", PycInvalidationMode.TIMESTAMP)


@pytest.mark.parametrize(
    "spoil", [remove, rename_to_another_version, mark_as_of_another_version, compile_by_time]
)
def test_a_module_without_bytecode_that_lambda_would_use_is_named(
    build: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], None]
) -> None:
    spoil(build)
    assert main([str(build)]) == 1
    error = capsys.readouterr().err
    assert re.match(
        r"SchedulerFunction: shipped without bytecode that Python 3\.\d+ in Lambda would use: .*helper", error
    )


def test_the_list_of_the_layers_packages_is_what_is_locked_for_it() -> None:
    locked = {
        name.replace("_", "-") for name in re.findall(r"^([\w.-]+)==", LOCKED.read_text(), re.MULTILINE)
    }
    belong = packages_distributions()
    come_from = {name: set(belong[name]) for name in LAYER_PACKAGES - {"cronce"}}
    assert {one.lower().replace("_", "-") for some in come_from.values() for one in some} == locked


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda layer: (layer / "tests").mkdir(), "layer: tests is in it, which nobody expects"),
        (lambda layer: (layer / "extra.py").touch(), "layer: extra is in it, which nobody expects"),
        (lambda layer: (layer / "jmespath").unlink(), "layer: jmespath is not in it"),
    ],
    ids=["a package more", "a module more", "a package less"],
)
def test_a_layer_with_other_packages_than_those_listed_fails_the_build(
    build: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Path], object], said: str
) -> None:
    change(build / "RuntimeLayer/python")
    assert main([str(build)]) == 1
    assert said in capsys.readouterr().err


def test_what_installers_leave_beside_the_packages_is_no_content(build: Path) -> None:
    layer = build / "RuntimeLayer/python"
    (layer / "jmespath-1.1.0.dist-info").mkdir()
    (layer / "requirements.txt").touch()
    assert content_problems(layer) == []


def test_sizes_are_told_of_the_layer_and_of_each_function(
    build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(build)])
    told = re.findall(r"^(\w+): [\d.]+ MB zipped, [\d.]+ MB unpacked$", capsys.readouterr().out, re.MULTILINE)
    assert told == ["layer", *HANDLERS]


def test_a_folder_is_weighed_as_it_is_and_zipped(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/zeros").write_bytes(bytes(1_000_000))
    (tmp_path / "one").write_bytes(b"1")
    size = size_of(tmp_path)
    assert size.unpacked == 1_000_001
    assert 1_000 < size.zipped < 10_000


def test_a_function_is_too_large_when_it_and_its_layer_exceed_the_limit() -> None:
    layer = Size(unpacked=200 * build_contents.MB, zipped=0)
    fits, exceeds = (Size(unpacked=50 * build_contents.MB + more, zipped=0) for more in (0, 1))
    assert size_problem("F", fits, layer) is None
    assert "250" in (size_problem("F", exceeds, layer) or "")


def add_two_megabytes(build: Path) -> None:
    folder = build / "RuntimeLayer/python/jmespath-1.1.0.dist-info"
    folder.mkdir()
    (folder / "noise").write_bytes(Random(1).randbytes(2 * build_contents.MB))


def test_a_build_that_is_too_large_fails(
    build: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_two_megabytes(build)
    monkeypatch.setattr(build_contents, "LARGEST_UNPACKED", build_contents.MB)
    assert main([str(build)]) == 1
    refused = re.findall(r"^(\w+): [\d.]+ MB unpacked with its layer", capsys.readouterr().err, re.MULTILINE)
    assert refused == list(HANDLERS)


def test_a_zip_file_that_only_s3_takes_is_told_and_does_not_fail(
    build: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_two_megabytes(build)
    monkeypatch.setattr(build_contents, "LARGEST_DIRECT_UPLOAD", build_contents.MB)
    assert main([str(build)]) == 0
    assert "layer: over 1 MB zipped" in capsys.readouterr().out


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
