"""The one place where real time enters."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """`Clock` of the host."""

    def now(self) -> datetime:
        """The present, aware UTC, cut to the whole milliseconds that the store keeps."""
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Let that much time pass."""
        time.sleep(seconds)
