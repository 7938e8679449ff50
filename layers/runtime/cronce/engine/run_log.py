"""What a job's function writes into the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.core.values import dataclass

if TYPE_CHECKING:
    from cronce.core.ports import Telemetry


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLog:
    """Writes log lines that carry the run's id.

    Example:
        run.log.info("menu built", dishes=12)
    """

    telemetry: Telemetry
    run: str
    attempt: int

    def info(self, message: str, **fields: object) -> None:
        """One line in the log.

        Args:
            message: what happened.
            fields: what a person may want to search by.
        """
        self.telemetry.event("job.log", run=self.run, attempt=self.attempt, message=message, fields=fields)

    def warning(self, message: str, **fields: object) -> None:
        """One line that somebody should look at."""
        self.telemetry.warn("job.log", run=self.run, attempt=self.attempt, message=message, fields=fields)
