"""`cronce validate`: whether a deployment could use all jobs of the working copy, and what may surprise."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cronce.aws.clock import SystemClock
from cronce.core.job import Job
from cronce.engine.import_problem import import_problem
from cronce.engine.registry import Catalog
from cronce_tools.cli import working_copy
from cronce_tools.cli.advice import advice, invocation_of, pings_of
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit
from cronce_tools.cli.json_form import instant
from cronce_tools.cli.output import BAD, WAITS, Json, Output
from cronce_tools.cli.stack_choice import DEFAULT_ENV
from cronce_tools.cli.times import shown

LOOK_AHEAD = 10_000
"""Excluded times in a row that are passed over: a week of a job that is due each minute."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """A job that can be used.

    Attributes:
        job: as declared.
        module: where.
        next_at: the next time at which it will run; None: there is none, or none in sight.
        notes: what may surprise.
    """

    job: Job
    module: str
    next_at: datetime | None
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What a check found: jobs that can be used, and problems by module."""

    jobs: list[Checked] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)


def validate_jobs(call: Call) -> int:
    """Check all jobs.

    Returns:
        The exit code: 1 if something cannot be used.
    """
    env = call.choice.env or DEFAULT_ENV
    invocation, pings = invocation_of(call.project, env), pings_of(call.project, env)
    catalog, now = working_copy.catalog(call.project), SystemClock().now()
    found = checked(catalog, working_copy.PACKAGE, invocation, now, pings=pings)
    if call.output.as_json:
        call.output.document({"jobs": [_json(each) for each in found.jobs], "problems": found.problems})
    else:
        show(call.output, found)
    return Exit.NO if found.problems else Exit.YES


def checked(
    catalog: Catalog, package: str, invocation: timedelta, now: datetime, *, pings: bool = True
) -> Findings:
    """Judge what was found.

    Args:
        catalog: what was found.
        package: where it was looked for.
        invocation: how long one invocation of the executor may take.
        now: aware UTC.
        pings: the environment says where the jobs' ping URLs are kept.
    """
    findings = Findings(problems=dict(catalog.problems))
    for name, declared in catalog.jobs.items():
        job, next_at = declared.job, None
        try:
            with working_copy.authors_code():
                next_at = next_time(job, now)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's calendar
            problem = f"job {name!r}: exclude: {import_problem(error, package).text}"
            findings.problems[declared.module] = "; ".join(
                filter(None, [findings.problems.get(declared.module), problem])
            )
        notes = tuple(advice(job, invocation, now, pings=pings))
        findings.jobs.append(Checked(job=job, module=declared.module, next_at=next_at, notes=notes))
    return findings


def next_time(job: Job, now: datetime) -> datetime | None:
    """The next time at which the job will run; None if there is none, or none in sight.

    Args:
        job: its calendar may raise, being the author's.
        now: aware UTC.
    """
    at: datetime | None = now
    for _ in range(LOOK_AHEAD):
        at = job.schedule.next_after(at) if at else None
        if at is None or not job.is_excluded(at):
            return at
    return None


def show(output: Output, found: Findings) -> None:
    """Print jobs, notes and problems."""
    rows = []
    for each in found.jobs:
        schedule = each.job.schedule
        times = (shown(each.next_at, schedule.tz), shown(each.next_at)) if each.next_at else ("none", "none")
        rows.append((each.job.name, schedule.describe(), *times, each.module))
    if rows:
        output.table(("job", "schedule", "next (local)", "next (UTC)", "module"), rows)
    else:
        output.line("There are no jobs.")
    for each in found.jobs:
        for note in each.notes:
            output.line(f"note: {each.job.name}: {note}", WAITS)
    for module, problem in sorted(found.problems.items()):
        output.line(f"problem in {module}: {problem}", BAD)


def _json(each: Checked) -> Json:
    schedule = each.job.schedule
    return {
        "job": each.job.name,
        "module": each.module,
        "schedule": schedule.spec(),
        "schedule_in_words": schedule.describe(),
        "tz": schedule.tz,
        "next_at": instant(each.next_at),
        "next_local": schedule.local(each.next_at).isoformat() if each.next_at else None,
        "ping": each.job.ping.value if each.job.ping else None,
        "notes": list(each.notes),
    }
