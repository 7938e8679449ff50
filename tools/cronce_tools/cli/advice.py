"""What an author may not have meant: jobs that are valid, and will surprise."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from cronce.core.job import CatchUp, Job
from cronce_tools.cli.exits import UsageError
from cronce_tools.cli.times import shown_for
from cronce_tools.local.template import Template, TemplateError

TIMEOUT = "ExecutorTimeout"
PING_URLS = "PingUrls"


def advice(job: Job, invocation: timedelta, now: datetime, *, pings: bool = True) -> Iterator[str]:
    """Notes on a job, each one sentence.

    Args:
        job: as declared.
        invocation: how long one invocation of the executor may take.
        now: aware UTC; outages that end now are looked at.
        pings: the environment says where the jobs' ping URLs are kept.
    """
    yield from job.schedule.warnings()
    if job.ping and not pings:
        yield (
            f"it asks for pings ({job.ping.value}), and {PING_URLS} is not set: unless the stack has it "
            "from elsewhere, nobody is pinged (docs/pings.md)"
        )
    if job.timeout > invocation:
        yield (
            f"its timeout of {shown_for(job.timeout)} is longer than an invocation ({TIMEOUT}: "
            f"{shown_for(invocation)}): the run goes on in a new one between two steps, "
            "but no single step may take longer"
        )
    if job.catch_up is CatchUp.ALL and job.max_lateness is not None:
        yield from _of_catch_up(job, job.max_lateness, now)


def _of_catch_up(job: Job, lateness: timedelta, now: datetime) -> Iterator[str]:
    missed = len(job.schedule.between(now - lateness, now))
    runs = min(missed, job.catch_up_cap)
    if missed > runs:
        yield (
            f"after an outage of {shown_for(lateness)} the newest {runs} of {missed} times would be caught "
            "up, the others would be a gap (catch_up_cap)"
        )
    longest = job.timeout * runs / job.concurrency if job.concurrency else timedelta(0)
    if longest > lateness:
        yield (
            f"to catch up {runs} runs may take {shown_for(longest)} (timeout by concurrency), longer than "
            f"max_lateness ({shown_for(lateness)}): the last of them would be too late by then"
        )


def invocation_of(project: Path, env: str) -> timedelta:
    """How long an invocation of the executor may take in an environment.

    Args:
        project: the working copy.
        env: `parameters/<env>.yaml` outranks the template's default.

    Raises:
        UsageError: template or parameters cannot be read.
    """
    try:
        return timedelta(seconds=float(_given(project, env, TIMEOUT)))
    except (TypeError, ArithmeticError, ValueError) as error:
        raise UsageError(f"{TIMEOUT} cannot be read: {error}") from None


def pings_of(project: Path, env: str) -> bool:
    """Whether an environment says where the jobs' ping URLs are kept; see `invocation_of`."""
    return bool(_given(project, env, PING_URLS))


def _given(project: Path, env: str, parameter: str) -> Any:
    try:
        value: Any = Template.load(project / "template.yaml").parameters[parameter]["Default"]
        file = project / f"parameters/{env}.yaml"
        given = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else None
        return given.get(parameter, value) if isinstance(given, dict) else value
    except (TemplateError, yaml.YAMLError, KeyError, TypeError, ValueError, OSError) as error:
        raise UsageError(f"{parameter} cannot be read: {error}") from None
