"""Calls a job's function for no longer than its run may still execute.

What is interrupted, and what cannot be, is said in `engine.time_limit`: Lambda calls handlers in the main
thread, where the limit holds. What it does not reach is ended by Lambda, and the sweep writes the end.
"""

from __future__ import annotations

import inspect
from datetime import timedelta

from cronce.core.errors import PermanentError
from cronce.core.job import Job
from cronce.core.values import dataclass
from cronce.engine.run_handle import Run
from cronce.engine.time_limit import Reached, time_limit

LEAST = 0.001
"""Seconds that a function has in any case; no time at all would mean no limit at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """How a job's function ended.

    Attributes:
        raised: what it raised, if it did; `sys.exit()` and the like included.
        interrupted: its time was over, whether or not it let the interruption pass.
    """

    raised: BaseException | None = None
    interrupted: bool = False


def call(job: Job, run: Run, left: timedelta) -> Called:
    """Call the job's function.

    Args:
        job: whose.
        run: what it is given.
        left: of the run's timeout.
    """
    what, reached = f"the function of job {job.name}", Reached()
    try:
        with time_limit(max(left.total_seconds(), LEAST), what) as reached:
            returned = job.function(run)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the job's and goes into its record
        return Called(raised=error, interrupted=reached.exceeded)
    return Called(raised=_not_a_function(job, returned), interrupted=reached.exceeded)


def _not_a_function(job: Job, returned: object) -> BaseException | None:
    """What is wrong with a function that returned without having done anything."""
    if inspect.iscoroutine(returned):
        returned.close()
        return PermanentError(f"job {job.name!r} is an async function; nothing of it was executed. Use `def`")
    if inspect.isgenerator(returned):
        returned.close()
        return PermanentError(f"job {job.name!r} contains a `yield`; nothing of it was executed")
    return None
