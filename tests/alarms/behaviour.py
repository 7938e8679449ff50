"""What the job `rounds` does when it runs: by default nothing; a fault may let it do something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_doing: list[Callable[[], None]] = []


def behave() -> None:
    """Do what the present fault says."""
    if _doing:
        _doing[-1]()


@contextmanager
def behaving(do: Callable[[], None]) -> Iterator[None]:
    """Within the block the job does this."""
    _doing.append(do)
    try:
        yield
    finally:
        _doing.pop()
