"""What happens to the world from outside: outages, deployments, hands; operators are told when to act."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from cronce.core.jobstate import Gap, JobState
from cronce.core.records import RunRecord
from cronce.core.run import Notice
from cronce.core.schedule import schedule_from_spec
from cronce.testing import job_key
from cronce.testing.keys import key_of
from tests.simulation.scenario import SECOND, Happening, Incident

SET_BACK = timedelta(hours=2)
RESTORE = timedelta(minutes=3)
"""What is younger is not lost: restoring a table takes longer."""

if TYPE_CHECKING:
    from tests.simulation.world import World


class Incidents:
    """Lets the incidents of a scenario happen.

    Args:
        world: to which.

    Attributes:
        on: what is happening now, to which job.
        deleted: jobs whose item somebody deleted.
        restored: jobs whose item somebody set back.
        lost: jobs of whose records some were lost, and when.
        changes: how often something began or ended.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.on: Counter[tuple[Happening, str]] = Counter()
        self.deleted: set[str] = set()
        self.restored: set[str] = set()
        self.lost: dict[str, datetime] = {}
        self.changes = 0

    def plan(self) -> None:
        """Put them on the hub."""
        scenario, hub = self._world.scenario, self._world.hub
        jobs = {"", *(plan.name for plan in scenario.jobs)}  # of a shrunk history some are gone
        for incident in (one for one in scenario.incidents if one.job in jobs):
            hub.at(incident.start, partial(self._begin, incident))
        hub.at(scenario.trouble_ends, self._calm_down)

    def _begin(self, incident: Incident) -> None:
        self._world.timeline.note("WORLD", f"{incident}")
        self._world.faults.injected[incident.what] += 1
        match incident.what:
            case Happening.CANCEL:
                self._world.operators.cancel_all(incident)
            case Happening.PAUSED:
                self._world.operators.pause(incident)
            case Happening.OPERATED:
                self._world.operators.work(incident)
            case Happening.ITEM_GONE:
                self._delete(incident.job)
            case Happening.RECORDS_LOST:
                self._lose(incident)
            case Happening.ITEM_BACK:
                self._set_back(incident.job)
            case _:
                self.on[incident.what, incident.job] += 1
                self.changes += 1
                self._apply(incident)
                self._world.hub.at(incident.end, partial(self._finish, incident))

    def _finish(self, incident: Incident) -> None:
        self.on[incident.what, incident.job] -= 1
        self.changes += 1
        self._world.timeline.note("WORLD", f"over: {incident.what} {incident.job}")
        self._apply(incident)

    def _apply(self, incident: Incident) -> None:
        match incident.what:
            case Happening.STORM:
                self._set_weather()
            case Happening.INDEX_LATE:
                late = self._world.chance.span(f"{incident}/late", 2, 150)
                self._world.store.table.index_lag = (
                    late if self._world.is_on(Happening.INDEX_LATE) else SECOND
                )
            case Happening.MAPPING_OFF:
                self._world.stream.wake()

    def _set_weather(self) -> None:
        world = self._world
        fair = world.scenario.storm if world.is_on(Happening.STORM) else world.scenario.weather
        world.weather = replace(fair, fault=0.0) if world.is_calm else fair

    def _calm_down(self) -> None:
        self._set_weather()
        self._world.timeline.note("WORLD", "trouble is over")

    def _set_back(self, job: str) -> None:
        """Somebody restores a job's item as it was two hours ago: its times since then are on record."""
        state = self._world.item(job_key(job))
        if isinstance(state, JobState) and state.due_at is not None:
            self.restored.add(job)
            before = state.planned_to - SET_BACK
            local = state.planned_local - SET_BACK
            first = schedule_from_spec(state.schedule).next_after(before)
            back = replace(state, planned_to=before, planned_local=local, next_at=first, due_at=first)
            self._world.edit("restore", back)

    def _lose(self, incident: Incident) -> None:
        """Of what has been told and is over, most is lost from some time on, and operators see to it.

        What is under way stays: it is another question what becomes of a worker whose run has vanished.
        """
        world, job = self._world, incident.job
        since = world.hub.now - world.chance.span(f"{incident}/since", 600, 6 * 3600)
        keys = []
        for item in world.store.table.partition(f"JOB#{job}"):
            over = isinstance(item, Gap) or (isinstance(item, RunRecord) and item.status.is_final)
            if not over or not isinstance(item, Gap | RunRecord) or item.notice is Notice.PENDING:
                continue
            first = item.first if isinstance(item, Gap) else item.ref.scheduled_at
            manual = isinstance(item, RunRecord) and item.ref.suffix
            first = first if first <= world.hub.now - RESTORE else since
            if first > since and not manual and world.chance.happens(f"{incident}/{first}", 0.7):
                keys.append(key_of(item))
        for key in keys:
            self.lost[job] = world.hub.now
            world.execute(None, "hand.remove", partial(world.store.remove, key))
        world.operators.recover(incident, since)

    def _delete(self, job: str) -> None:
        """Somebody deletes a job's item, deployed or not."""
        state = self._world.item(job_key(job))
        if isinstance(state, JobState):
            self.deleted.add(job)
            self._world.execute(None, "hand.remove", partial(self._world.store.remove, job_key(job)))
