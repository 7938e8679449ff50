"""The modules of jobs in this process: tests that deploy jobs of their own leave the real ones as they were.

A test of the real jobs has imported them when it was collected, and looks into those very modules.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


def forget_jobs() -> dict[str, ModuleType]:
    """Forget every imported module of jobs. Returns them."""
    names = [name for name in sys.modules if name == "jobs" or name.startswith("jobs.")]
    return {name: sys.modules.pop(name) for name in names}


@contextmanager
def jobs_set_aside() -> Iterator[None]:
    """Within the block no module of jobs is imported; after it those from before are."""
    others = forget_jobs()
    try:
        yield
    finally:
        forget_jobs()
        sys.modules.update(others)


@contextmanager
def only_jobs_of(folder: Path) -> Iterator[None]:
    """Within the block the package of jobs is this folder, and modules of other folders are not imported."""
    with jobs_set_aside():
        importlib.import_module("jobs").__path__[:] = [str(folder)]
        yield
