"""What becomes of a run whose process is told to end (SIGTERM).

Guaranteed, in the main thread of a process: the signal does not end the process in the middle of a step. The
job is stopped at its next call on its run; what is finished is recorded, and the claim is handed back: the
run goes on in another process at once, not after its claim has run out. Then the signal is passed on to
whoever handled it before, which ends the process if nobody did.

Not guaranteed: that there is time for it. Lambda sends SIGTERM only to functions with extensions, and kills
the process some hundred milliseconds later; a step that takes longer is cut off, as by any crash.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ended_gently(stop: Callable[[], None], before_the_end: Callable[[], None]) -> Iterator[None]:
    """Within the block SIGTERM only stops the work; after it, it does what it did before.

    Args:
        stop: called within whatever the main thread is at: it must not wait for anything.
        before_the_end: called once the block is left, before the signal is passed on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told = False

    def remember(_signal: int, _frame: FrameType | None) -> None:
        nonlocal told
        told = True
        stop()

    handler = signal.signal(signal.SIGTERM, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler if handler is not None else signal.SIG_DFL)
        if told:
            before_the_end()
            signal.raise_signal(signal.SIGTERM)
