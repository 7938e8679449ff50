"""Who does the items of an `each`: the caller's own thread, or several.

The thread that called `each` alone pulls items, asks the claim, and records; what the other threads do is the
author's function and nothing else. So the run is written by one thread, an iterator of items is used by one
thread, and no item begins that the claim was not asked for.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from types import TracebackType
from typing import Protocol, Self

from cronce.core.values import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """An item to be done.

    Attributes:
        position: among all items.
        key: of the item.
        work: does it; returns the JSON of its value.
    """

    position: int
    key: str
    work: Callable[[], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """What came of a task: the JSON of its value, or what its function raised."""

    task: Task
    text: str = ""
    raised: BaseException | None = None


class Hands(Protocol):
    """Do tasks."""

    @property
    def working(self) -> int:
        """Tasks that were begun and not yet taken."""
        ...

    @property
    def full(self) -> bool:
        """Whether one has to be taken before another can begin."""
        ...

    def begin(self, task: Task) -> None:
        """Begin a task. To be called if they are not full."""
        ...

    def take(self) -> Done:
        """Wait for a task that is done. To be called if one was begun."""
        ...

    def __enter__(self) -> Self:
        """Make ready."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Begin nothing more."""
        ...


class OwnHands:
    """Does each task when it is begun, in the caller's thread, where a time limit interrupts it."""

    def __init__(self) -> None:
        self._done: deque[Done] = deque()

    @property
    def working(self) -> int:
        """Tasks that were begun and not yet taken."""
        return len(self._done)

    @property
    def full(self) -> bool:
        """After each task."""
        return bool(self._done)

    def begin(self, task: Task) -> None:
        """Do it; what its function raises passes."""
        self._done.append(Done(task=task, text=task.work()))

    def take(self) -> Done:
        """The task that was done."""
        return self._done.popleft()

    def __enter__(self) -> Self:
        """Nothing to make ready."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""


class ManyHands:
    """Does so many tasks at once, in threads that end with the block.

    Left while tasks are under way (a time limit interrupted whoever waits for them), the threads end with
    those tasks: nothing can interrupt a thread. What they still do is recorded by nobody. Each has a copy of
    the caller's context, so that `cronce.lease` works in them too.

    Args:
        number: of threads.
        name: of the step, for whoever looks at threads.
    """

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._name = name
        self._todo: SimpleQueue[Task | None] = SimpleQueue()
        self._done: SimpleQueue[Done] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._working = 0

    @property
    def working(self) -> int:
        """Tasks that were begun and not yet taken."""
        return self._working

    @property
    def full(self) -> bool:
        """Whether every thread has a task: one more would wait, and begin when nobody asks any more."""
        return self._working >= self._number

    def begin(self, task: Task) -> None:
        """Hand it to a thread that is idle; there are no more threads than there were tasks at once."""
        self._working += 1
        if len(self._threads) < self._working:
            context = copy_context()
            name = f"each {self._name}"
            thread = threading.Thread(target=context.run, args=(self._work,), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._todo.put(task)

    def take(self) -> Done:
        """Wait for a task that is done, in whatever order."""
        done = self._done.get()
        self._working -= 1
        return done

    def __enter__(self) -> Self:
        """Threads are made when they are needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the threads end, and wait for those that are idle."""
        for _thread in self._threads:
            self._todo.put(None)
        for thread in self._threads if not self._working else ():
            thread.join()

    def _work(self) -> None:
        while (task := self._todo.get()) is not None:
            try:
                done = Done(task=task, text=task.work())
            except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
                done = Done(task=task, raised=error)
            self._done.put(done)
