"""What each function is told by its environment. No other module reads the environment.

All problems of a function are reported in one error, each with the variable's name, what it holds and what
it takes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta

from cronce.core.errors import SettingsError
from cronce.core.values import dataclass

RETENTION_DAYS = 400
"""Days that a finished run is kept if nothing is said: a year, and time to look back at it."""
LEAST_RETENTION_DAYS = 7
"""A run may take days and an operator may be away for the week-end; less would forget what is still asked
about."""
MOST_RETENTION_DAYS = 3650
"""Ten years: longer is a typing error."""
VALUE_SHOWN = 100
"""Characters of a wrong value that its message shows."""

_STACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,127}")
_TABLE = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_FUNCTION = re.compile(
    r"(?:arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[A-Za-z0-9_-]{1,140}(?::[A-Za-z0-9$_-]{1,128})?"
)
_JOB_METRICS = re.compile("none|all")
_PARAMETER = re.compile(r"(?=.{2,80}$)(?:/[A-Za-z0-9_.-]+)+")
_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}")

Environment = Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreSettings:
    """Where records are kept and for how long.

    Attributes:
        runs_table: name of the table with jobs and runs.
        steps_table: name of the table with steps.
        retention: how long a finished run is kept.
    """

    runs_table: str
    steps_table: str
    retention: timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulerSettings:
    """Settings of the scheduler.

    Attributes:
        stack: name of the stack: dimension of every metric.
        store: where records are kept.
        executor: name or ARN of the executor, with its alias.
    """

    stack: str
    store: StoreSettings
    executor: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DispatcherSettings:
    """Settings of the dispatcher.

    Attributes:
        stack: name of the stack.
        executor: name or ARN of the executor, with its alias.
    """

    stack: str
    executor: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecutorSettings:
    """Settings of the executor.

    Attributes:
        stack: name of the stack.
        store: where records are kept.
        idempotency_prefix: what every idempotency key begins with: the stack's name, or the name of another
            stack that this one replaces, so that what was done under the other's keys is recognised.
        ping_urls: path in SSM's Parameter Store under which the jobs' ping URLs are; empty: nobody is pinged.
    """

    stack: str
    store: StoreSettings
    idempotency_prefix: str
    ping_urls: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchdogSettings:
    """Settings of the watchdog.

    Attributes:
        stack: name of the stack.
        store: where records are kept.
        topic_arn: the SNS topic that people subscribe to.
        job_metrics: whether every job has a metric of its own.
        heartbeat_url: parameter in SSM's Parameter Store with the heartbeat's URL; empty: there is none.
    """

    stack: str
    store: StoreSettings
    topic_arn: str
    job_metrics: bool = False
    heartbeat_url: str = ""


def scheduler_settings(environment: Environment | None = None) -> SchedulerSettings:
    """Read the scheduler's settings.

    Args:
        environment: the variables; the process's own by default.

    Raises:
        SettingsError: a variable is missing or malformed.
    """
    reader = _Reader("scheduler", environment)
    settings = SchedulerSettings(stack=reader.stack(), store=reader.store(), executor=reader.executor())
    reader.check()
    return settings


def dispatcher_settings(environment: Environment | None = None) -> DispatcherSettings:
    """Read the dispatcher's settings; see `scheduler_settings`."""
    reader = _Reader("dispatcher", environment)
    settings = DispatcherSettings(stack=reader.stack(), executor=reader.executor())
    reader.check()
    return settings


def executor_settings(environment: Environment | None = None) -> ExecutorSettings:
    """Read the executor's settings; see `scheduler_settings`."""
    reader = _Reader("executor", environment)
    stack, store = reader.stack(), reader.store()
    settings = ExecutorSettings(
        stack=stack,
        store=store,
        idempotency_prefix=reader.prefix() or stack,
        ping_urls=reader.parameter("CRONCE_PING_URLS"),
    )
    reader.check()
    return settings


def watchdog_settings(environment: Environment | None = None) -> WatchdogSettings:
    """Read the watchdog's settings; see `scheduler_settings`."""
    reader = _Reader("watchdog", environment)
    settings = WatchdogSettings(
        stack=reader.stack(),
        store=reader.store(),
        topic_arn=reader.topic(),
        heartbeat_url=reader.parameter("CRONCE_HEARTBEAT_URL"),
        job_metrics=reader.job_metrics(),
    )
    reader.check()
    return settings


class _Reader:
    """Reads variables and collects what is wrong about them; `check` says it all at once."""

    def __init__(self, function: str, environment: Environment | None) -> None:
        self._function = function
        self._environment: Environment = os.environ if environment is None else environment
        self._problems: list[str] = []

    def stack(self) -> str:
        return self._text("CRONCE_STACK", _STACK, "the stack's name: letters, digits and '-', at most 128")

    def store(self) -> StoreSettings:
        runs, steps = self._table("CRONCE_RUNS_TABLE"), self._table("CRONCE_STEPS_TABLE")
        if runs and runs == steps:
            self._problems.append(
                f"CRONCE_RUNS_TABLE and CRONCE_STEPS_TABLE are both {_shown(runs)}; they take two tables"
            )
        return StoreSettings(
            runs_table=runs, steps_table=steps, retention=self._days("CRONCE_RETENTION_DAYS")
        )

    def prefix(self) -> str:
        """Empty unless it is set: an empty parameter of the template is an empty variable."""
        name = "CRONCE_IDEMPOTENCY_PREFIX"
        takes = "letters, digits and '-', at most 128, like a stack's name (empty: the stack's name)"
        return self._text(name, _STACK, takes) if self._environment.get(name) else ""

    def executor(self) -> str:
        takes = "the name or ARN of a Lambda function, with its alias"
        return self._text("CRONCE_EXECUTOR", _FUNCTION, takes)

    def topic(self) -> str:
        return self._text("CRONCE_TOPIC_ARN", _TOPIC, "the ARN of a standard SNS topic")

    def job_metrics(self) -> bool:
        """False unless it is set."""
        name = "CRONCE_JOB_METRICS"
        return bool(self._environment.get(name)) and self._text(name, _JOB_METRICS, "none or all") == "all"

    def parameter(self, name: str) -> str:
        """Empty unless it is set. A wrong value is not shown: somebody may have put the URL itself there."""
        value = self._environment.get(name, "")
        if value and not _PARAMETER.fullmatch(value):
            takes = "a name in SSM's Parameter Store that begins with '/', at most 80 characters"
            self._problems.append(f"{name} takes {takes}: the URL is kept there, and is not given here")
        return value

    def check(self) -> None:
        if self._problems:
            raise SettingsError(f"settings of the {self._function}: " + "; ".join(self._problems))

    def _table(self, name: str) -> str:
        return self._text(name, _TABLE, "the name of a DynamoDB table")

    def _text(self, name: str, form: re.Pattern[str], takes: str) -> str:
        value = self._environment.get(name, "")
        if not value:
            state = "empty" if name in self._environment else "not set"
            self._problems.append(f"{name} is {state}; it takes {takes}")
        elif not form.fullmatch(value):
            self._problems.append(f"{name} is {_shown(value)}; it takes {takes}")
        return value

    def _days(self, name: str) -> timedelta:
        value = self._environment.get(name, str(RETENTION_DAYS))
        days = int(value) if re.fullmatch(r"[0-9]{1,5}", value) else 0
        if not LEAST_RETENTION_DAYS <= days <= MOST_RETENTION_DAYS:
            takes = f"a whole number of days, {LEAST_RETENTION_DAYS} to {MOST_RETENTION_DAYS}"
            self._problems.append(f"{name} is {_shown(value)}; it takes {takes} (not set: {RETENTION_DAYS})")
        return timedelta(days=days)


def _shown(value: str) -> str:
    return repr(value) if len(value) <= VALUE_SHOWN else f"{value[:VALUE_SHOWN]!r}..."
