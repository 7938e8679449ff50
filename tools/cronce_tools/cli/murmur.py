"""What the engine has to say while a command works: only what somebody should look at, on standard error."""

from __future__ import annotations

import sys

from cronce_tools.cli.output import harmless


class Murmur:
    """`Telemetry` of a terminal. Metrics are the functions' affair."""

    def event(self, name: str, **fields: object) -> None:
        """Said by the command's own answer."""

    def warn(self, name: str, **fields: object) -> None:
        """One line."""
        told = " ".join(f"{key}={value}" for key, value in fields.items())
        print(harmless(f"note: {name} {told}".rstrip()), file=sys.stderr)

    def count(self, metric: str, value: float = 1) -> None:
        """Nobody counts here."""

    def flush(self) -> None:
        """There is nothing to publish."""
