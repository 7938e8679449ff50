"""The budgets and names that CONTRIBUTING.md asks for, so that nobody has to count.

Invariants:
- modules have at most 300 lines, handlers 30, functions 40 (docstring not counted); what is larger is argued
  for in docs/decisions/ and named here;
- no module is called after nothing in particular;
- a module imports a name once;
- the engine holds what functions or an operator's commands execute; what only tools need is in `testing`;
- nothing that ships or helps is left to be done.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
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


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(tree(path)):
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


def imports(path: Path) -> Iterator[str]:
    """Names as a module imports them, wherever in it but in functions."""
    body = tree(path).body
    for node in body + [inner for block in body if isinstance(block, ast.If) for inner in block.body]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def test_a_module_imports_a_name_once() -> None:
    """An import left over in `if TYPE_CHECKING:` is no mistake to ruff: nothing is defined twice at once."""
    counted = {name_of(path): Counter(imports(path)) for path in modules()}
    twice = {module: [name for name, n in names.items() if n > 1] for module, names in counted.items()}
    assert {module: names for module, names in twice.items() if names} == {}


def imported_anywhere(path: Path) -> Iterator[str]:
    """Full names of whatever may be a module."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_the_engine_holds_nothing_that_only_tools_use() -> None:
    runtime = ROOT / "layers/runtime"
    dotted = {
        path: ".".join(path.relative_to(runtime).with_suffix("").parts)
        for path in modules()
        if runtime in path.parents
    }
    paths = {name.removesuffix(".__init__"): path for path, name in dotted.items()}
    used: set[str] = set()
    left = [name for name in paths if name.startswith("cronce.bootstrap.") or name == "cronce"]
    while left:
        name = left.pop()
        if name in paths and name not in used:
            used.add(name)
            left.extend(imported_anywhere(paths[name]))
    assert {name for name in paths if name.startswith("cronce.engine.")} - used == set()


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
