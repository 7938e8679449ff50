"""What a job's function can ask its run about."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from cronce.core.errors import PermanentError

if TYPE_CHECKING:
    from cronce.core.records import RunRecord
    from cronce.core.run import Trigger
    from cronce.engine.held_claim import HeldClaim


class RunFacts:
    """What a run stands for, and where it is.

    Args:
        claim: of the run.
    """

    def __init__(self, claim: HeldClaim) -> None:
        self._claim = claim

    @property
    def _record(self) -> RunRecord:
        return self._claim.record

    @property
    def id(self) -> str:
        """The run id, for example `daily-menu@2026-03-08T10:00:00Z`."""
        return self._record.ref.id

    @property
    def job(self) -> str:
        """The job's name."""
        return self._record.ref.job

    @property
    def scheduled_at(self) -> datetime:
        """The occurrence that the run stands for, aware UTC: the time to compute by, not the present."""
        return self._record.ref.scheduled_at

    @property
    def scheduled_local(self) -> datetime:
        """The occurrence as the clock of the job's zone showed it, with its offset."""
        return datetime.fromisoformat(self._record.scheduled_local)

    @property
    def local_date(self) -> date:
        """The date of `scheduled_local`."""
        return self.scheduled_local.date()

    @property
    def attempt(self) -> int:
        """1 for the first try, 2 for the one after the first failure."""
        return self._record.attempt

    @property
    def trigger(self) -> Trigger:
        """What it came from: the schedule, a backfill, or a person."""
        return self._record.trigger

    @property
    def input(self) -> Any:
        """What a manual trigger was given, read from JSON; None otherwise.

        Raises:
            PermanentError: it was given something that is not there any more, or was made unreadable by hand.
        """
        if self._claim.input is not None:
            return json.loads(self._claim.input)
        if self._record.input_kept:
            raise PermanentError(f"run {self.id}: its input is gone or unreadable: trigger a run anew")
        return None

    @property
    def fencing_token(self) -> int:
        """Strictly increasing per job. A condition on it in your own writes refuses a stale writer."""
        return self._record.fencing_token

    @property
    def remaining(self) -> timedelta:
        """What is left of this invocation. The run itself may go on in the next one."""
        return self._claim.remaining
