"""Lets a person who waits for a tool end it, whatever code of an author's is being executed.

In a deployment nobody presses Ctrl-C: whatever a module raises while it is imported, or a job's function
while it works, is that module's or that job's failure, `KeyboardInterrupt` too, and the process goes on.
A tool on somebody's machine executes the same code, and there it must end. The two are told apart by the
signal: what an author raises comes without one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ctrl_c_ends() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at the end of the block if Ctrl-C came within it, whatever came of it there.

    At once, as always, Ctrl-C interrupts what is being executed. Outside the main thread, and where Ctrl-C is
    ignored or left to the system, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    pressed = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        before(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            raise KeyboardInterrupt
