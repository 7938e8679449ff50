"""The last step of a build.

Invariants:
- a build passes only if each handler imports from the built folders alone, and all it loads has bytecode;
- what is wrong is said with the name of the function, and the other functions are checked all the same.
"""

import compileall
from pathlib import Path

import pytest

from cronce_tools.check_build import HANDLERS, main

HANDLER = "import helper\n\ndef handler(event, context):\n    return helper.answer\n"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A small complete build: four functions and a layer that they need."""
    layer = tmp_path / "RuntimeLayer" / "python"
    layer.mkdir(parents=True)
    (layer / "helper.py").write_text("answer = 42\n")
    for function, module in HANDLERS.items():
        (tmp_path / function).mkdir()
        (tmp_path / function / f"{module}.py").write_text(HANDLER)
    compileall.compile_dir(tmp_path, quiet=1)
    return tmp_path


def replace(build: Path, path: str, text: str) -> None:
    (build / path).write_text(text)
    compileall.compile_dir(build, quiet=1, force=True)


def test_a_complete_build_passes(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(build)]) == 0
    assert capsys.readouterr().out.count("imports from the build alone") == len(HANDLERS)


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
