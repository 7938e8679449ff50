"""All commands of operators at one place."""

from __future__ import annotations

from cronce.engine.operations.backfilling import BackfillCommands
from cronce.engine.operations.on_jobs import JobCommands
from cronce.engine.operations.on_runs import RunCommands


class Operations(RunCommands, JobCommands, BackfillCommands):
    """Commands of operators. See `Desk` for what they need and how they decide."""

    __slots__ = ()
