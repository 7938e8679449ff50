"""What becomes of each job when the deployment is not what was planned last. Pure, one job at a time.

A job is looked at if the deployment or the registry knows it, and has an item:

* the deployment has it: `plan` decides, about schedule, grace, zone data, held and removed alike;
* the deployment does not have it, and some module does not import: it may be that module's. It is
  `unavailable`, and keeps its place in the index, so that the watchdog alarms;
* the deployment does not have it, and all modules import: it was removed. It leaves the index at once, and
  its history stays.

If the deployment has a job that has no item, it is created and begins now. A paused job stays paused in all
of this: only an operator ends a pause.

Every decision can be made again: what was done already asks for no write. So a tick that dies half-way is
made up for by the next one, and the registry, written last, says that all was done.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from cronce.core.jobstate import Held, JobState, JobWindow, Registry, RegistryEntry
from cronce.core.planning import Moment, first_sight, plan
from cronce.core.schedule import schedule_hash
from cronce.engine.registry import Catalog, Declared

_HASH_DIGITS = 32
INCOMPLETE = "incomplete"
"""Fingerprint of a registry while some job moved or met a conflict: equal to none, so the next tick tries."""


def present(declared: Declared, state: JobState | None, moment: Moment) -> JobWindow | None:
    """The window of a job that the deployment has, or None.

    Args:
        declared: the job and where it is.
        state: its item; None = there is none.
        moment: of the tick.
    """
    if state is None:
        return first_sight(declared.job, declared.module, moment)
    window = plan(declared.job, state, moment)
    if window is None and state.module == declared.module:
        return None
    window = window or JobWindow(before=state, after=state)
    return replace(window, after=replace(window.after, module=declared.module))


def missing(state: JobState, catalog: Catalog, now: datetime) -> JobWindow | None:
    """The window of a job that the deployment does not have, or None."""
    if state.removed_at is not None:
        return None
    if not catalog.problems:
        gone = replace(state, removed_at=now, held=None, due_at=None, expect_by=None)
        return JobWindow(before=state, after=gone)
    if state.held is Held.UNAVAILABLE:
        return None
    return JobWindow(before=state, after=replace(state, held=Held.UNAVAILABLE))


def fingerprint(catalog: Catalog, zone_data: str) -> str:
    """Hash over what reconciliation depends on. If the stored one equals it there is nothing to do."""
    jobs = [
        [name, declared.module, schedule_hash(declared.job.schedule), int(declared.job.grace.total_seconds())]
        for name, declared in sorted(catalog.jobs.items())
    ]
    text = json.dumps([jobs, sorted(catalog.problems), zone_data], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]


def unfinished(code: str) -> str:
    """Fingerprint of a registry while something of this code waits for a person.

    An item that cannot be read, a job that raises: the next tick would find the same, and would read every
    job to find it. So it says which code was tried: another one is tried at once, this one every few minutes.
    """
    return f"{INCOMPLETE} {code}"


def registry_of(
    catalog: Catalog, stored: Registry | None, zone_data: str, unreconciled: Collection[str], mark: str
) -> Registry:
    """The registry to write once the jobs are reconciled.

    Jobs that are missing stay in it while a module does not import, and as long as they could not be marked
    as removed.

    Args:
        catalog: of this deployment.
        stored: the registry as read.
        zone_data: version in use.
        unreconciled: jobs that could not be reconciled.
        mark: the fingerprint to keep: of the code, or what says that it is not done.
    """
    jobs = {
        name: RegistryEntry(
            module=declared.module,
            schedule_hash=schedule_hash(declared.job.schedule),
            grace=declared.job.grace,
        )
        for name, declared in catalog.jobs.items()
    }
    for name, entry in (stored.jobs if stored else {}).items():
        if name not in jobs and (catalog.problems or name in unreconciled):
            jobs[name] = entry
    return Registry(jobs=jobs, zone_data=zone_data, fingerprint=mark)
