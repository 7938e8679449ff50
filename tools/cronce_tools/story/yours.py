"""The fork's own jobs: the scheduler plans the next time of each. Nothing of them is executed."""

from __future__ import annotations

from datetime import datetime

from cronce import Job
from cronce.core.records import RunRef
from cronce.engine.registry import discover
from cronce_tools.local.stack import AFTER_THE_MINUTE, LocalStack, event
from cronce_tools.story.cast import SAMPLES
from cronce_tools.story.scene import Figure, Scene, shown
from cronce_tools.story.world import World

MOST = 50
"""So many jobs are shown: each takes a tick."""


def your_jobs() -> list[Job]:
    """The jobs in functions/jobs that are no samples, the first `MOST` by name."""
    found = sorted(discover("jobs").jobs.items())
    return [each.job for _, each in found if each.job.module.removeprefix("jobs.") not in SAMPLES][:MOST]


def scene(jobs: list[Job]) -> Scene:
    """The scene in which these jobs are planned."""
    return Scene(
        "Your own jobs are scheduled (nothing of them is executed here)", lambda world: _planned(world, jobs)
    )


def _planned(world: World, jobs: list[Job]) -> list[Figure]:
    began = world.now
    _tick(world.stack, began)
    times = [(job.schedule.next_after(began), job) for job in jobs]
    coming = sorted((at, job.name) for at, job in times if at is not None)
    never = [shown(job.name, f"has no time after {began:%Y-%m-%d %H:%M}Z") for at, job in times if at is None]
    return [_figure(world.stack, at, name) for at, name in coming] + never


def _figure(stack: LocalStack, at: datetime, name: str) -> Figure:
    _tick(stack, at)
    run = stack.store.runs.get(RunRef(name, at))
    return shown(f"{name}, {at:%Y-%m-%d %H:%M}Z", run.status if run else "no record", kept=run is not None)


def _tick(stack: LocalStack, minute: datetime) -> None:
    stack.clock.set(max(minute.replace(second=0) + AFTER_THE_MINUTE, stack.clock.now()))
    stack.invoke("scheduler", event("scheduler"))
