"""Work that takes time, for the jobs of the story: while they work, the virtual world goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

_world: list[Callable[[timedelta], None]] = []


def labour(seconds: float) -> None:
    """Work for so long."""
    _world[-1](timedelta(seconds=seconds))


@contextmanager
def in_world(work: Callable[[timedelta], None]) -> Iterator[None]:
    """Within the block, `labour` passes time in that world."""
    _world.append(work)
    try:
        yield
    finally:
        _world.pop()
