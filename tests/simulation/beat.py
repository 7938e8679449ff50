"""What runs beside a job's function in one process: the renewal of its claim, and the lock between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from greenlet import getcurrent, greenlet

from cronce.core.claim import RENEW_EVERY
from cronce.core.errors import StoreError
from tests.simulation.process import Killed, Process


@dataclass(frozen=True, slots=True)
class Renewal:
    """`Renewal` of one process: a coroutine beside the job's function."""

    process: Process

    @contextmanager
    def renewing(self, renew: Callable[[], bool]) -> Iterator[None]:
        """Within the block, renew every so many seconds."""
        beat = self.process.beat = Beat(self.process, renew)
        try:
            yield
        finally:
            beat.stop()


@dataclass(eq=False)
class Beat:
    """The renewal of a claim. Its coroutine is made only when the function takes long enough to need it."""

    process: Process
    renew: Callable[[], bool]
    next_at: datetime = field(init=False)
    coroutine: greenlet | None = None
    stopped: bool = False
    busy: bool = False
    waiting: greenlet | None = None

    def __post_init__(self) -> None:
        self.next_at = self.process.hub.now + RENEW_EVERY

    def begin(self) -> None:
        """Renew from `next_at` on."""
        self.coroutine = self.process.hub.coroutine(self._loop)
        self.process.hub.at(self.next_at, partial(self.process.run, self.coroutine))

    def stop(self) -> None:
        """Wait for a renewal that is under way; begin no other."""
        self.stopped = True
        if self.busy and not self.process.dead:
            self.waiting = getcurrent()
            self.process.park()

    def _is_over(self) -> bool:
        return self.stopped or self.process.dead

    def _renewed(self) -> bool:
        """One renewal; False: there is nothing more to renew."""
        self.busy = True
        try:
            return self.renew()
        except StoreError as error:
            self.process.note(f"renewal: {error}")
            return True
        finally:
            self.busy = False

    def _loop(self) -> None:
        try:
            while not self._is_over() and self._renewed():
                if not self._is_over():
                    self.process.wait(RENEW_EVERY)
        except Killed:
            return
        finally:
            if self.waiting is not None:
                self.process.resume(self.waiting)


class Lock:
    """`threading.Lock` among the coroutines of one process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._held = False
        self._waiting: list[greenlet] = []

    def __enter__(self) -> None:
        while self._held:
            self._waiting.append(getcurrent())
            self._process.park()
        self._held = True

    def __exit__(self, *_: object) -> None:
        self._held = False
        if self._waiting:
            self._process.resume(self._waiting.pop(0))
