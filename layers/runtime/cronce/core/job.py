"""What an author declares: a function, its schedule and its policies.

Nothing registers on import: `@job` returns a frozen, callable `Job`, and discovery collects the `Job`
objects that the modules under `jobs` hold. While it imports them it listens to what is made (`made_jobs`),
to notice a job that no module holds in the end. Everything is validated here, so that a mistake is a
traceback at the author's own line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from cronce.core.durations import Duration, duration
from cronce.core.errors import DefinitionError
from cronce.core.job_function import check_function, with_arguments
from cronce.core.made_jobs import tell_made
from cronce.core.retry import Retry
from cronce.core.schedule import At, Cron, Every, Schedule
from cronce.core.values import dataclass

if TYPE_CHECKING:
    from cronce.engine.run_handle import Run

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
DEFAULT_GRACE = timedelta(minutes=15)
DEFAULT_TIMEOUT = timedelta(minutes=15)
CATCH_UP_CAP = 100
"""Missed occurrences that `catch_up=all` runs at the most: the newest. The rest is a recorded gap."""
MAX_LATENESS = timedelta(days=1)
"""Default of `max_lateness` for `catch_up=all` and `At`: later than a day is a person's decision."""
LEAST_LATENESS = timedelta(seconds=120)
"""`max_lateness` must exceed the scheduler's own jitter: a tick a minute, delivered within the minute."""
MOST_CONCURRENT = 50
"""A slot is a string in a set on the job item; fifty keep the item small. No limit at all is `None`."""
QUEUE_BOUND = 10
"""On-time runs that may wait under `overlap=queue`; the next one is skipped as overlap."""

E = TypeVar("E", bound=StrEnum)

Exclude = Iterable[date] | Callable[[date], bool]
"""Dates, or a calendar: given the occurrence's local date, true when it must not run."""


class Overlap(StrEnum):
    """What becomes of an on-time run when `concurrency` is reached."""

    SKIP = "skip"
    """It is recorded as SKIPPED(overlap)."""
    QUEUE = "queue"
    """It waits its turn, oldest first, at most `QUEUE_BOUND` of them."""


class CatchUp(StrEnum):
    """What becomes of occurrences missed while the scheduler was down or the job paused or broken."""

    LATEST = "latest"
    """The newest one runs, the others are recorded as superseded."""
    ALL = "all"
    """All run, up to a cap (the newest are kept)."""
    SKIP = "skip"
    """None runs; they are recorded as late."""


class Ping(StrEnum):
    """How a service outside AWS, which alarms when nothing comes, is told of a job's runs."""

    HEALTHCHECKS = "healthchecks"
    """In Healthchecks' form: `/start`, success and `/fail`, with the run's id."""
    GET = "get"
    """The URL as it is, once a run has succeeded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A declared job. Made by `@job`; callable like the function it wraps, for tests.

    Attributes:
        name: unique in a deployment, `[a-z0-9][a-z0-9-]{0,62}`.
        schedule: when it occurs.
        function: what runs; takes the `Run`.
        grace: how late success may come before a run counts as missed.
        timeout: bound of a run's execution, summed over attempts and invocations.
        retry: how a failed attempt is tried again.
        concurrency: runs of this job at once; None = no limit.
        overlap: what becomes of an on-time run beyond that.
        catch_up: what becomes of missed occurrences.
        max_lateness: an occurrence later than this is never started; None = no bound.
        catch_up_cap: bound of `catch_up=all`.
        excluded: true for a local date on which it must not run.
        ping: how a service outside AWS is told of its runs; None = it is not.
    """

    name: str
    schedule: Schedule
    function: Callable[[Run], object]
    grace: timedelta
    timeout: timedelta
    retry: Retry
    concurrency: int | None
    overlap: Overlap
    catch_up: CatchUp
    max_lateness: timedelta | None
    catch_up_cap: int
    excluded: Callable[[date], bool] | None
    ping: Ping | None = None

    def __call__(self, run: Run) -> object:
        """Call the job's function with a `Run`, as the executor does."""
        return self.function(run)

    @property
    def module(self) -> str:
        """The module that declares the job."""
        return self.function.__module__

    def is_excluded(self, scheduled_at: datetime) -> bool:
        """Whether the occurrence falls on an excluded local date."""
        return self.excluded is not None and bool(self.excluded(self.schedule.local(scheduled_at).date()))


@with_arguments
def job(  # noqa: PLR0913 - the author's API: each argument is a policy
    name: str,
    /,
    *,
    schedule: Schedule,
    grace: Duration = DEFAULT_GRACE,
    timeout: Duration = DEFAULT_TIMEOUT,
    retry: Retry | None = None,
    concurrency: int | None = 1,
    overlap: Overlap | str = Overlap.SKIP,
    catch_up: CatchUp | str = CatchUp.LATEST,
    max_lateness: Duration | None = None,
    catch_up_cap: int = CATCH_UP_CAP,
    exclude: Exclude = (),
    ping: Ping | str | None = None,
) -> Callable[[Callable[[Run], object]], Job]:
    """Declare a scheduled job.

    Args:
        name: `[a-z0-9][a-z0-9-]{0,62}`, unique in the deployment; it names the job's records for ever.
        schedule: `Cron(...)`, `Every(...)` or `At(...)`.
        grace: how late success may come before the run counts as missed and somebody is told; at least one
        minute.
        timeout: bound of a run's whole execution, over all attempts and invocations; at least one second.
        retry: attempts and backoff; three attempts by default.
        concurrency: how many runs of this job at once, 1 to 50; None = no limit.
        overlap: what becomes of an on-time run when that is reached.
        catch_up: what becomes of missed occurrences.
        max_lateness: an occurrence later than this is recorded as late instead of run; at least 120 s.
            None = no bound for `latest`; `all` and `At` then take one day.
        catch_up_cap: the newest so many of the missed occurrences run under `catch_up=all`.
        exclude: dates, or a callable that is given a local date, on which the job is skipped and so recorded.
        ping: tell a service outside AWS of each run: `healthchecks` in the form of that service, `get` a GET
            after each success. Its URL is kept under the template's parameter `PingUrls`, never here.

    Returns:
        A decorator that turns a function of one argument, the `Run`, into a `Job`.

    Raises:
        DefinitionError: an argument is wrong; the message names it and what it takes.

    Example:
        >>> from cronce import Cron, Run, job
        >>> @job("nightly", schedule=Cron("0 2 * * *", tz="Europe/Berlin"), grace="30m")
        ... def nightly(run: Run) -> None:
        ...     run.step("work", print, "working")
        >>> nightly.name
        'nightly'
    """
    _check_name(name)
    if not isinstance(schedule, Cron | Every | At):
        raise DefinitionError(
            f"job {name!r}: schedule takes Cron(...), Every(...) or At(...), not {schedule!r}"
        )
    policy = _member(name, "catch_up", CatchUp, catch_up)
    settings = {
        "name": name,
        "schedule": schedule,
        "grace": duration(f"job {name!r}: grace", grace, at_least=timedelta(minutes=1)),
        "timeout": duration(f"job {name!r}: timeout", timeout, at_least=timedelta(seconds=1)),
        "retry": _retry(name, retry),
        "concurrency": _concurrency(name, concurrency),
        "overlap": _member(name, "overlap", Overlap, overlap),
        "catch_up": policy,
        "max_lateness": _max_lateness(
            name, max_lateness, bounded=policy is CatchUp.ALL or isinstance(schedule, At)
        ),
        "catch_up_cap": _positive(name, "catch_up_cap", catch_up_cap),
        "excluded": _calendar(name, exclude),
        "ping": _ping(name, ping),
    }

    def declare(function: Callable[[Run], object]) -> Job:
        if isinstance(function, Job):
            raise DefinitionError(
                f"job {name!r}: the function is job {function.name!r} already; "
                "a second schedule wants a function of its own"
            )
        check_function(name, function)
        values: dict[str, Any] = {**settings, "function": function}
        made = Job(**values)
        tell_made(made)
        return made

    return declare


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise DefinitionError(
            f"a job's name is 1 to 63 of a-z, 0-9 and '-', not starting with '-'; not {name!r}"
        )


def _retry(name: str, retry: object) -> Retry:
    if retry is None:
        return Retry()
    if not isinstance(retry, Retry):
        raise DefinitionError(f"job {name!r}: retry takes Retry(...), not {retry!r}")
    return retry


def _member(name: str, argument: str, enum: type[E], value: str) -> E:
    try:
        return enum(value)
    except ValueError:
        choices = ", ".join(repr(member.value) for member in enum)
        raise DefinitionError(f"job {name!r}: {argument} takes one of {choices}, not {value!r}") from None


def _ping(name: str, value: object) -> Ping | None:
    if value is None:
        return None
    if isinstance(value, str) and "://" in value:  # not shown: who knows it can keep the alarm quiet
        raise DefinitionError(
            f"job {name!r}: ping takes 'healthchecks' or 'get'; the URL is kept outside the code, "
            f"under the template's parameter PingUrls: docs/pings.md"
        )
    return _member(name, "ping", Ping, value)  # type: ignore[arg-type]  # anything, an author may be wrong


def _positive(name: str, argument: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DefinitionError(f"job {name!r}: {argument} takes a whole number of 1 or more, not {value!r}")
    return value


def _concurrency(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_CONCURRENT:
        raise DefinitionError(
            f"job {name!r}: concurrency takes 1 to {MOST_CONCURRENT}, or None for no limit, not {value!r}"
        )
    return value


def _max_lateness(name: str, value: Duration | None, *, bounded: bool) -> timedelta | None:
    if value is None:
        return MAX_LATENESS if bounded else None
    lateness = duration(f"job {name!r}: max_lateness", value)
    if lateness < LEAST_LATENESS:
        raise DefinitionError(
            f"job {name!r}: max_lateness takes 120 s or more, not {lateness}: "
            "it must exceed the scheduler's own jitter"
        )
    return lateness


def _calendar(name: str, exclude: object) -> Callable[[date], bool] | None:
    if callable(exclude):
        return exclude
    if not isinstance(exclude, Iterable) or isinstance(exclude, str | bytes):
        raise DefinitionError(
            f"job {name!r}: exclude takes dates, or a callable given a date, not {exclude!r}"
        )
    dates = frozenset(exclude)
    for day in dates:
        if not isinstance(day, date) or isinstance(day, datetime):
            raise DefinitionError(f"job {name!r}: exclude takes datetime.date objects, not {day!r}")
    return dates.__contains__ if dates else None
