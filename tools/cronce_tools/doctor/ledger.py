"""The scheduler by what it left in the ledger: its lease, its clock, its zone data and its jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce.core.errors import DefinitionError
from cronce.core.health import is_silent
from cronce.core.lease import BELIEF_MARGIN, CLOCK_SKEW, LEASE_TTL, Lease
from cronce.core.schedule import schedule_hash
from cronce.core.zones import MINIMUM_ZONE_DATA, release_order, zone_data_version
from cronce_tools.cli import working_copy
from cronce_tools.cli.times import shown, shown_for
from cronce_tools.doctor.expected import Expected
from cronce_tools.doctor.finding import Finding, Level
from cronce_tools.doctor.place import Check, Place
from cronce_tools.doctor.words import some
from cronce_tools.emulator.local_note import DEMO_JOBS

NOT_GIVEN_BACK = timedelta(minutes=1)
"""The next tick takes over a lease that its holder left behind; after a minute there was none."""
SCHEDULER_LOG = "look at the scheduler's log (SchedulerLogGroupName in the stack's outputs)"


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseFacts:
    """The right to schedule, as it is.

    Attributes:
        lease: as stored; None: no tick ever came.
        skew: the store's clock less that of this machine.
        now: by this machine's clock.
    """

    lease: Lease | None
    skew: timedelta
    now: datetime


def look_at_lease(place: Place) -> LeaseFacts:
    """Read the lease, and the store's clock off the answer."""
    lease = place.operator.lease.read()
    return LeaseFacts(lease=lease, skew=place.operator.store_clock.skew(), now=place.operator.clock.now())


def judge_lease(_: Expected, facts: LeaseFacts) -> Iterator[Finding]:
    """A tick must have completed lately, and the clocks must agree."""
    now, lease = facts.now + facts.skew, facts.lease
    if lease is None or lease.completed_at is None:
        yield Finding(
            what="no tick of the scheduler has completed yet",
            why="nothing is planned before the first",
            remedy=f"wait two minutes after a first deployment, then {SCHEDULER_LOG}",
        )
    elif is_silent(lease, now):
        yield Finding(
            what=f"the last tick completed {shown_for(now - lease.completed_at)} ago, "
            f"at {shown(lease.completed_at)}",
            why="nothing is planned, and what waits is not woken",
            remedy=SCHEDULER_LOG,
        )
    if lease is not None and lease.owner is not None:
        yield from _of_holder(lease, now)
    if abs(facts.skew) > CLOCK_SKEW:
        ahead = "behind" if facts.skew > timedelta(0) else "ahead of"
        yield Finding(
            what=f"the clock of this machine is {shown_for(abs(facts.skew))} {ahead} that of the store",
            why="what this command calls late, or writes, is by this clock",
            remedy="set it by the network (`timedatectl set-ntp true`)",
        )


def _of_holder(lease: Lease, now: datetime) -> Iterator[Finding]:
    if lease.lease_until > now + LEASE_TTL + BELIEF_MARGIN:
        yield Finding(
            what=f"the lease of the scheduler reaches until {shown(lease.lease_until)}",
            why="it was taken by a host whose clock is wrong; the others do not believe it",
            remedy=SCHEDULER_LOG,
        )
    elif lease.lease_until < now - NOT_GIVEN_BACK:
        yield Finding(
            what=f"the lease of the scheduler ended {shown_for(now - lease.lease_until)} ago and was never "
            "given back",
            why="its tick died, and none has come since",
            remedy=SCHEDULER_LOG,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ZoneFacts:
    """Versions of the zone data.

    Attributes:
        deployed: by which the scheduler plans; None: it has not planned yet.
        here: of the working copy.
        minimum: the oldest that the working copy accepts.
    """

    deployed: str | None
    here: str
    minimum: str = MINIMUM_ZONE_DATA


def look_at_zones(place: Place) -> ZoneFacts:
    """Read the registry."""
    registry = place.operator.inquiry.registry.read()
    return ZoneFacts(deployed=registry.zone_data if registry else None, here=zone_data_version())


def judge_zones(_: Expected, facts: ZoneFacts) -> Iterator[Finding]:
    """Compare them."""
    if facts.deployed is None or facts.deployed == facts.here:
        return
    old = _is_older(facts.deployed, facts.minimum)
    yield Finding(
        what=f"the stack plans by the zone data {facts.deployed}, this working copy has {facts.here}"
        + (f" and accepts none before {facts.minimum}" if old else ""),
        why="where clock changes were decided since, times are planned wrong"
        if old
        else "`cronce next --code` and the stack may name other times",
        remedy="deploy: `make deploy`; for newer data raise `tzdata` in layers/runtime/requirements.txt",
        level=Level.WRONG if old else Level.HINT,
    )


def _is_older(version: str, minimum: str) -> bool:
    """What is no version at all was written by hand, and counts as old."""
    try:
        return release_order(version) < release_order(minimum)
    except DefinitionError:
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class JobsHereFacts:
    """The jobs that are deployed and those of the working copy: name -> hash of its schedule.

    Attributes:
        deployed: by the registry; None: nothing was planned yet.
        here: declared in the working copy; None: it has no folder of jobs.
    """

    deployed: Mapping[str, str] | None
    here: Mapping[str, str] | None


def look_at_jobs_here(place: Place) -> JobsHereFacts:
    """Read the registry, and import the jobs of the working copy."""
    registry = place.operator.inquiry.registry.read()
    deployed = {name: entry.schedule_hash for name, entry in registry.jobs.items()} if registry else None
    if deployed is not None and place.is_local:
        deployed = {name: schedule for name, schedule in deployed.items() if name not in DEMO_JOBS}
    if not (place.project / "functions" / working_copy.PACKAGE).is_dir():
        return JobsHereFacts(deployed=deployed, here=None)
    jobs = working_copy.catalog(place.project).jobs
    return JobsHereFacts(
        deployed=deployed, here={name: schedule_hash(each.job.schedule) for name, each in jobs.items()}
    )


def judge_jobs_here(_: Expected, facts: JobsHereFacts) -> Iterator[Finding]:
    """A hint only: who looks may stand on another branch."""
    deployed, here = facts.deployed, facts.here
    if deployed is None or here is None:
        return
    parts = {
        "deployed and not here": sorted(deployed.keys() - here.keys()),
        "here and not deployed": sorted(here.keys() - deployed.keys()),
        "with another schedule": sorted(
            name for name in deployed.keys() & here.keys() if deployed[name] != here[name]
        ),
    }
    said = [f"{words}: {some(names)}" for words, names in parts.items() if names]
    if said:
        yield Finding(
            what=f"the stack has other jobs than this working copy ({'; '.join(said)})",
            why="what `cronce validate` and `cronce next --code` say is not what runs",
            remedy="check out what is deployed, or `make deploy`",
            level=Level.HINT,
        )


LEASE = Check(name="scheduler", look=look_at_lease, judge=judge_lease, why="it plans everything")
ZONES = Check(name="zone data", look=look_at_zones, judge=judge_zones, why="times are planned by it")
JOBS_HERE = Check(
    name="jobs here", look=look_at_jobs_here, judge=judge_jobs_here, why="another release may run"
)
