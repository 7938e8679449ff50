"""Standard output as it is at each moment.

A logger keeps the stream that it was made with. This one hands every line to whatever `sys.stdout` is by
then, so that somebody who takes a process's output over (a test, the local stack) gets the lines as well as
the metrics.
"""

from __future__ import annotations

import sys
from typing import IO, cast


class _StandardOutput:
    """What a logging handler needs of a stream, on the current `sys.stdout`."""

    def write(self, text: str) -> int:
        """Hand the text on."""
        return sys.stdout.write(text)

    def flush(self) -> None:
        """Hand on that the text should go out."""
        sys.stdout.flush()


def standard_output() -> IO[str]:
    """A text stream for a logger."""
    return cast("IO[str]", _StandardOutput())
