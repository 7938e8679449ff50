"""Scheduled jobs that are accounted for exactly once and resume where they stopped.

What a job's module needs is here, and nothing else. Importing it loads no AWS library and does nothing.

Example:
    >>> from cronce import Cron, Run, job
    >>> @job("nightly", schedule=Cron("0 2 * * *", tz="Europe/Berlin"), grace="30m")
    ... def nightly(run: Run) -> None:
    ...     run.step("work", print, "working")
"""

from cronce.core.errors import (
    Asleep,
    Cancelled,
    ClaimLost,
    CronceError,
    DefinitionError,
    DuplicateJobError,
    DuplicateStepError,
    LeaseLostError,
    NotDone,
    OutOfTime,
    PermanentError,
    StepError,
    StepResultNotSerializableError,
    StepResultTooLargeError,
    StepUncertainError,
    StopSignal,
)
from cronce.core.fencing import fenced_put, fenced_update
from cronce.core.job import CatchUp, Job, Overlap, Ping, job
from cronce.core.named_lease import LeaseHeldError
from cronce.core.retry import Retry, RetryAfter
from cronce.core.run import Trigger
from cronce.core.schedule import At, Cron, DstGap, DstRepeat, Every
from cronce.engine.named_lease import HeldLease, lease
from cronce.engine.run_handle import Run

__all__ = [
    "Asleep",
    "At",
    "Cancelled",
    "CatchUp",
    "ClaimLost",
    "Cron",
    "CronceError",
    "DefinitionError",
    "DstGap",
    "DstRepeat",
    "DuplicateJobError",
    "DuplicateStepError",
    "Every",
    "HeldLease",
    "Job",
    "LeaseHeldError",
    "LeaseLostError",
    "NotDone",
    "OutOfTime",
    "Overlap",
    "PermanentError",
    "Ping",
    "Retry",
    "RetryAfter",
    "Run",
    "StepError",
    "StepResultNotSerializableError",
    "StepResultTooLargeError",
    "StepUncertainError",
    "StopSignal",
    "Trigger",
    "fenced_put",
    "fenced_update",
    "job",
    "lease",
]
