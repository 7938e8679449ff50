"""The budgets and names that CONTRIBUTING.md asks for, so that nobody has to count.

Invariants:
- modules have at most 300 lines, handlers 30, functions 40 (docstring not counted); what is larger is argued
  for in docs/decisions/ and named here;
- no module is called after nothing in particular;
- nothing that ships or helps is left to be done.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = ("layers", "functions", "tools")
HANDLERS = ("scheduler.py", "dispatcher.py", "executor.py", "watchdog.py")

MODULE_LINES = 300
HANDLER_LINES = 30
FUNCTION_LINES = 40

# Module or `module:function` over its budget -> the decision that argues for it.
ARGUED = {
    "layers/runtime/cronce/core/job.py:job": "size-budgets.md",
}

EMPTY_NAMES = {"utils", "util", "common", "base", "helpers", "helper", "misc"}

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> list[Path]:
    """All of cronce's own; the jobs are their authors' and may look as they like."""
    found = (path for folder in CODE for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if ROOT / "functions" / "jobs" not in path.parents)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, Function):
            yield node


def length(function: Function) -> int:
    """Lines from `def` to the end, without the docstring."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if is_docstring else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def budget(path: Path) -> int:
    is_handler = path.parent == ROOT / "functions" and path.name in HANDLERS
    return HANDLER_LINES if is_handler else MODULE_LINES


def over_budget() -> set[str]:
    large = {name_of(path) for path in modules() if len(path.read_text().splitlines()) > budget(path)}
    long = {
        f"{name_of(path)}:{function.name}"
        for path in modules()
        for function in functions(path)
        if length(function) > FUNCTION_LINES
    }
    return large | long


def test_what_is_over_its_budget_is_argued_for() -> None:
    assert over_budget() == set(ARGUED)


@pytest.mark.parametrize("decision", sorted(set(ARGUED.values())))
def test_the_argument_is_written_down(decision: str) -> None:
    assert (ROOT / "docs/decisions" / decision).is_file()


def test_no_module_is_called_after_nothing_in_particular() -> None:
    assert [name_of(path) for path in modules() if path.stem in EMPTY_NAMES] == []


def test_nothing_is_left_to_be_done() -> None:
    assert [name_of(path) for path in modules() if UNFINISHED.search(path.read_text())] == []


def test_length_does_not_count_the_docstring() -> None:
    (function,) = (
        node
        for node in ast.walk(ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1\n'))
        if isinstance(node, ast.FunctionDef)
    )
    assert length(function) == 2
