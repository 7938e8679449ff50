"""What a module's import raised, for the person who mends it: one line with the place, and the traceback.

The place is where that person looks first: the deepest frame in the deployment's own code, which lies beside
the package of jobs; if there is none, the deepest one that is neither of cronce nor of the import machinery.
Its path begins at the folder that holds the package, so it reads the same on every machine.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from cronce.core.values import dataclass
from cronce.engine.time_limit import TimeLimitExceeded

_MACHINERY = ("<frozen ", f"{Path(importlib.__file__).parent}/", f"{Path(__file__).parents[1]}/")
"""How names of files begin whose frames say nothing to an author."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportProblem:
    """Why a module could not be used.

    Attributes:
        text: one line: what was raised, and the place, such as `KeyError: 'x' (jobs/menu.py:7)`.
        traceback: as Python prints it.
        is_slow: it took too long.
    """

    text: str
    traceback: str
    is_slow: bool


def import_problem(raised: BaseException, package: str) -> ImportProblem:
    """Describe what an import raised.

    Args:
        raised: with its traceback.
        package: the package of all jobs.
    """
    text = _words(raised)
    is_slow = isinstance(raised, TimeLimitExceeded)
    if not is_slow:
        text = f"{type(raised).__name__}: {text}" if text else type(raised).__name__
    return ImportProblem(
        text=text + shown(_where(raised, folders_around(package)), package),
        traceback="".join(traceback.format_exception(raised)),
        is_slow=is_slow,
    )


def shown(place: tuple[str, int] | None, package: str) -> str:
    """` (jobs/menu.py:7)`, to follow a text; nothing if the place is not known.

    Args:
        place: file and line.
        package: the package of all jobs.
    """
    if place is None:
        return ""
    file, line = Path(place[0]), place[1]
    folders = [*folders_around(package), *map(Path, filter(None, sys.path))]
    folder = next((folder for folder in folders if file.is_relative_to(folder)), None)
    return f" ({file.relative_to(folder) if folder else file.name}:{line})"


def folders_around(package: str) -> list[Path]:
    """The folders that hold a package: none if there is no such package."""
    module = sys.modules.get(package)
    if module is not None:
        paths: Iterable[str] = getattr(module, "__path__", ())
    else:
        spec = find_spec(package) if "." not in package else None
        paths = (spec.submodule_search_locations if spec else None) or ()
    return [Path(path).parent for path in paths]


def _words(raised: BaseException) -> str:
    """The exception's own text. That of a class of the author's may fail in turn, and costs nobody else."""
    try:
        return str(raised.msg) if isinstance(raised, SyntaxError) else str(raised)
    except Exception as error:  # noqa: BLE001 - whatever an author's class raises
        return f"(its text fails: {type(error).__name__})"


def _where(raised: BaseException, own: list[Path]) -> tuple[str, int] | None:
    """File and line to look at first, if any frame tells."""
    frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(raised.__traceback__)]
    if isinstance(raised, SyntaxError) and raised.filename:
        frames.append((raised.filename, raised.lineno or 0))
    frames = [frame for frame in frames if not frame[0].startswith(_MACHINERY)]
    ours = [frame for frame in frames if any(Path(frame[0]).is_relative_to(folder) for folder in own)]
    return next(reversed(ours or frames), None)
