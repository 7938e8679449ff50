"""Hearing of the jobs that are made while modules are imported, for discovery.

Nobody listens otherwise, and then nothing is kept: a job registers nowhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING

from cronce.core.values import dataclass

if TYPE_CHECKING:
    from cronce.core.job import Job


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line of a module that is being imported.

    Attributes:
        module: its name.
        file: its file.
        number: 1 for the first.
    """

    module: str
    file: str
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class MadeJob:
    """A job, and which imports made it.

    Attributes:
        job: what was made.
        lines: of the modules under import, the innermost first.
    """

    job: Job
    lines: tuple[Line, ...]


_LISTENER: ContextVar[list[MadeJob] | None] = ContextVar("made_jobs", default=None)
# None: nobody listens.


@contextmanager
def made_jobs() -> Iterator[list[MadeJob]]:
    """Listen to the jobs that are made inside, by this thread: they are in the list, in order."""
    made: list[MadeJob] = []
    token = _LISTENER.set(made)
    try:
        yield made
    finally:
        _LISTENER.reset(token)


def tell_made(job: Job) -> None:
    """A job was made: whoever listens hears of it."""
    listener = _LISTENER.get()
    if listener is not None:
        listener.append(MadeJob(job=job, lines=tuple(_lines_under_import())))


def _lines_under_import() -> Iterator[Line]:
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - as `logging` and `warnings` find their caller
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            yield Line(
                module=str(frame.f_globals.get("__name__")),
                file=frame.f_code.co_filename,
                number=frame.f_lineno,
            )
        frame = frame.f_back
