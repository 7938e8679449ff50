"""Ends author code that takes too long: an import, the evaluation of a calendar, a job's function.

Guaranteed: in the main thread of a process, the code inside `time_limit` is interrupted by an exception after
the limit, wherever it is in Python code or in a call that a signal interrupts (sleep, network, a lock). The
alarm that was set before, and its handler, are back afterwards; if that alarm came due meanwhile, it goes off
at once.

An exception that was swallowed (by a bare `except`, or because it came up within a destructor) comes again
every `AGAIN` seconds.

Code inside `shielded` is not interrupted. If its time runs out meanwhile, the interruption comes right after
it, once. It is for short writes of cronce's own, which end by themselves: what bounds them is the client that
they use.

Not guaranteed: code that swallows it every time goes on; so does a call into C that ignores signals. In other
threads there is no limit at all, because Python delivers signals to the main thread only. Lambda calls
handlers in the main thread; what outlives the limit there ends with the invocation.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from types import FrameType

from cronce.core.values import dataclass

AGAIN = 0.25
"""Seconds between two interruptions of code that did not stop at the first."""
_AT_ONCE = 1e-6
"""Seconds; zero would switch the alarm off."""


class TimeLimitExceeded(BaseException):
    """The code took too long. Not an `Exception`, so `except Exception` in that code does not swallow it.

    Args:
        what: which limit it was: whoever set another one, outside of it, must let it pass.
        seconds: how long it was.
    """

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"{what} took longer than {seconds:g} s")
        self.what = what


@dataclass(kw_only=True, slots=True)
class Reached:
    """Whether a limit was reached, however the code took it.

    Attributes:
        exceeded: the code was interrupted, at least once.
    """

    exceeded: bool = False


@dataclass(kw_only=True, slots=True)
class _Shield:
    """What is shielded in the main thread at this moment.

    Attributes:
        depth: blocks that are open.
        deferred: an interruption waits for the outermost one to end.
    """

    depth: int = 0
    deferred: bool = False


_shield = _Shield()


@contextmanager
def shielded() -> Iterator[None]:
    """Let no `time_limit` interrupt the code inside; what came due is raised when the block is left.

    The block has to end in bounded time by itself.

    Raises:
        TimeLimitExceeded: the time was over meanwhile.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _shield.depth += 1  # from here on nothing is raised, so that it is always taken back
    try:
        yield
    finally:
        _shield.depth -= 1
        if _shield.deferred and not _shield.depth:
            signal.raise_signal(signal.SIGALRM)


@contextmanager
def time_limit(seconds: float, what: str) -> Iterator[Reached]:
    """Interrupt the code inside after so many seconds.

    Args:
        seconds: more than zero.
        what: for the message, and to tell this limit from those around it: "the import of jobs.billing".

    Raises:
        TimeLimitExceeded: it took longer.
    """
    reached = Reached()
    if threading.current_thread() is not threading.main_thread():
        yield reached
        return
    armed = True

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        _shield.deferred = armed and _shield.depth > 0
        if armed:
            reached.exceeded = True
        if armed and not _shield.deferred:
            raise TimeLimitExceeded(what, seconds)

    began = perf_counter()
    handler = signal.signal(signal.SIGALRM, interrupt)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        try:
            yield reached
        finally:
            armed = False  # from here on a late alarm must not interrupt the tidying up
    finally:
        _restore(handler, left - (perf_counter() - began) if left else 0, interval)


def _restore(handler: signal._HANDLER, left: float, interval: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, handler if handler is not None else signal.SIG_DFL)
    if left:
        signal.setitimer(signal.ITIMER_REAL, max(left, _AT_ONCE), interval)
