"""The emulator's time is real: it cannot be moved, and there is no other."""

import threading
import time


def now() -> float:
    """Seconds since 1970."""
    return time.time()  # noqa: TID251 - the emulator compares with this very clock


def pause(seconds: float) -> None:
    """Wait."""
    threading.Event().wait(max(0.0, seconds))
