"""Several processes of one machine play, and one adds up.

Nobody waits for the dead: a process that is killed ends the whole, and none outlives the one that adds up.
Each has a pipe of its own, which only its two ends hold: whichever of them ends, the system tells the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import TypeVar, cast

T = TypeVar("T")


def side_by_side(shares: Sequence[Callable[[], Iterable[T]]]) -> Iterator[T]:
    """What each share gives, in whatever order it comes; each in a process of its own.

    Raises:
        SystemExit: one of the processes did not come to its end. The others are stopped.
    """
    context = get_context("fork")
    workers: dict[Connection, ForkProcess] = {}
    for share in shares:
        reader, writer = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(share, writer, [*workers, reader]), daemon=True)
        worker.start()
        writer.close()
        workers[reader] = worker
    try:
        while workers:
            for reader in cast(list[Connection], connection.wait(list(workers))):
                try:
                    yield reader.recv()
                except EOFError:
                    _ended(workers.pop(reader))
    finally:
        for worker in workers.values():
            worker.terminate()


def _ended(worker: ForkProcess) -> None:
    worker.join()
    if worker.exitcode:
        raise SystemExit(f"a process ended with {worker.exitcode}: what it says is above")


def _work(share: Callable[[], Iterable[T]], writer: Connection, readers: Sequence[Connection]) -> None:
    """One process. It was made with all that was open then: as long as it holds a reader, nobody is told."""
    for reader in readers:
        reader.close()
    try:
        for each in share():
            writer.send(each)
    except BrokenPipeError:
        return  # nobody adds up any more
