"""Which jobs the story plays: the samples and its own. Nothing else in functions/jobs is executed here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import jobs
from cronce_tools.local.stack import FUNCTIONS

SAMPLES = ("daily_menu", "inventory_sync", "renewal_invoices")
OWN = Path(__file__).resolve().parent / "jobs"
AT_NIGHT = Path(__file__).resolve().parent / "night_jobs"
"""Jobs of the night of faults, which has a stack of its own."""


class MissingSampleError(Exception):
    """A sample job is gone, and the story is about it."""


@contextmanager
def cast(own: Path) -> Iterator[None]:
    """Make the package `jobs` hold the samples and the story's own jobs, until the end of the block.

    Args:
        own: the folder of the latter.

    Raises:
        MissingSampleError: a sample job was deleted.
    """
    before = list(jobs.__path__)
    with TemporaryDirectory() as folder:
        for name in SAMPLES:
            source = FUNCTIONS / "jobs" / f"{name}.py"
            if not source.exists():
                raise MissingSampleError(
                    f"the story plays the sample job functions/jobs/{name}.py, which is not there"
                )
            shutil.copy(source, folder)
        jobs.__path__[:] = [folder, str(own)]
        try:
            yield
        finally:
            jobs.__path__[:] = before
