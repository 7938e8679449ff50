"""The virtual world: one stack, everything that runs in it, and what happens to it.

Played by virtual time from `Scenario.start` to `Scenario.end`, or to the first violation of an invariant.
Minutes in which nothing is due are skipped: a tick would change the lease alone, which is done for it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from cronce.core.errors import StoreError
from cronce.core.run import DueKind
from cronce.engine.patrol_report import PatrolReport
from cronce.engine.scheduler import TickEnd, TickReport
from cronce.testing import LeaseItem, MemoryStore, job_key
from cronce.testing.keys import LEASE, Item, Key
from tests.simulation.accounts import Accounts
from tests.simulation.alarms import Alarms
from tests.simulation.authority import Authority
from tests.simulation.chance import Chance
from tests.simulation.faults import Faults, Weather
from tests.simulation.functions import Functions
from tests.simulation.hub import Hub
from tests.simulation.incidents import Incidents
from tests.simulation.invocations import Queue
from tests.simulation.operators import Operators
from tests.simulation.process import Process
from tests.simulation.scenario import MINUTE, SECOND, Happening, Scenario
from tests.simulation.script import Outside
from tests.simulation.stream import Stream
from tests.simulation.timeline import Timeline
from tests.simulation.watch import Change, Watch

LONGEST_SKIP = timedelta(hours=6)
"""At least so often a minute is played although nothing is due."""
HEALTHY = timedelta(minutes=2)
OUTSIDE = ("invoker.", "notifier.")
"""Calls that do not reach the store."""
_QUIET_KINDS = {DueKind.JOB, DueKind.ALERT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation(Exception):
    """An invariant does not hold.

    Attributes:
        invariant: which.
        text: what was seen.
        job: whose it is, if it is one job's.
        at: when.
    """

    invariant: str
    text: str
    job: str
    at: datetime

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}Z: {self.invariant}: {self.text}"


class _TrueTime:
    """The store's clock, which is right."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def now(self) -> datetime:
        return self._hub.now

    def monotonic(self) -> float:
        return (self._hub.now - self._hub.start).total_seconds()

    def pause(self, seconds: float) -> None:
        raise AssertionError("the store does not wait")


class World:
    """One history.

    Args:
        scenario: what it is made of.
        trace: whether a timeline is kept.
    """

    def __init__(self, scenario: Scenario, *, trace: bool = False) -> None:
        self.scenario = scenario
        self.chance = Chance(scenario.seed)
        self.hub = Hub(scenario.start)
        self.timeline = Timeline(self.hub, wanted=trace)
        self.store = MemoryStore(_TrueTime(self.hub))
        self.store.table.watcher = self._wrote
        self.faults = Faults(self)
        self.weather: Weather = scenario.weather
        self.violation: Violation | None = None
        self.current: Process | None = None
        self.alive: set[Process] = set()
        self.counts: Counter[str] = Counter()
        self.waits_since: dict[str, datetime] = {}
        self._changes: list[Change] = []
        self._wrote_at = self._ticked_at = self._looked_at = scenario.start
        self.incidents = Incidents(self)
        self.watch = Watch(self)
        self.authority = Authority(self)
        self.operators = Operators(self)
        self.accounts = Accounts(self)
        self.alarms = Alarms(self)
        self.outside = Outside(self)
        self.queue = Queue(self)
        self.stream = Stream(self)
        self.functions = Functions(self)

    # --- play ---------------------------------------------------------------------------------------------

    def play(self) -> Violation | None:
        """The whole history; returns the first violation, if there is one."""
        state = random.getstate()
        random.seed(self.scenario.seed)
        try:
            with self.functions.seams():
                self.incidents.plan()
                self.hub.at(self.scenario.start, self._minute)
                self.hub.run_until(self.scenario.end)
                if self.violation is None:
                    self.accounts.settle()
                    self.alarms.settle()
                self._bury()
        finally:
            random.setstate(state)
        return self.violation

    def violated(self, invariant: str, text: str, job: str = "") -> None:
        """An invariant does not hold: the history ends here.

        Raises:
            Killed: if a process is at work.
        """
        if self.violation is None:
            self.violation = Violation(invariant=invariant, text=text, job=job, at=self.hub.now)
            self.timeline.note("VIOLATED", f"{invariant}: {text}")
        self.hub.stopped = True

    def _bury(self) -> None:
        """End every coroutine, so that none is left to the garbage collector."""
        self.hub.stopped = True
        for process in sorted(self.alive, key=lambda one: one.name):
            process.bury()

    @property
    def is_calm(self) -> bool:
        """Whether trouble is over."""
        return self.hub.now >= self.scenario.trouble_ends

    @property
    def process(self) -> Process:
        """The process whose turn it is."""
        assert self.current is not None, "no process is at work"
        return self.current

    def process_ended(self, process: Process, result: object) -> None:
        """A process has come to its end, one way or the other."""
        self.alive.discard(process)
        if isinstance(result, PatrolReport):
            self.alarms.patrolled(process, result)
        if isinstance(result, PatrolReport) and result.complete and result.in_time:
            self._looked_at = max(self._looked_at, process.began)
        if isinstance(result, TickReport) and result.end is TickEnd.COMPLETED:
            self._ticked_at = max(self._ticked_at, process.began)
        if process.ends_told:
            self.hub.at(self.hub.now, partial(process.ends_told, result))

    # --- the store ----------------------------------------------------------------------------------------

    def item(self, key: Key) -> Item | None:
        """What is stored."""
        row = self.store.table.row(key)
        return row.item if row else None

    def execute(self, process: Process | None, name: str, proceed: Callable[[], Any]) -> Any:
        """A call reaches its other side, at this instant."""
        of_store = not name.startswith(OUTSIDE)
        if of_store and process is not None and self.is_on(Happening.STORE_DOWN):
            raise StoreError(f"{name}: the store is down")
        self.counts["calls"] += 1
        result = proceed()
        if process is not None and of_store:
            process.seen_skew = -process.skew
        if self._changes:
            self._written(process, name)
        if name == "runs.apply" and process is not None:
            process.refusals = 0 if result == "done" else process.refusals + 1
        return result

    def edit(self, name: str, *items: Item) -> None:
        """Somebody's hand."""
        self.execute(None, name, partial(self.store.place, *items))

    def _wrote(self, key: Key, before: Item | None, after: Item | None) -> None:
        self._changes.append((key, before, after))

    def _written(self, process: Process | None, name: str) -> None:
        changes, self._changes = self._changes, []
        if any(key != LEASE for key, _, _ in changes):
            self._wrote_at = self.hub.now
        self.timeline.write(process.name if process else "hand", name, changes)
        self.watch.transaction(process, name, changes)
        self.authority.transaction(process, name, changes)
        self.accounts.transaction(process, changes)
        self.alarms.transaction(changes)
        self.stream.put(self.store.table.drain_stream())

    # --- incidents ----------------------------------------------------------------------------------------

    def is_on(self, what: Happening, job: str = "") -> bool:
        """Whether something is happening now."""
        return self.incidents.on.get((what, job), 0) > 0

    def item_was_deleted(self, job: str) -> bool:
        """Whether somebody deleted the job's item: its slots and queue are forgotten then."""
        return job in self.incidents.deleted

    def code_is_missing(self, job: str) -> bool:
        """Whether some process does not have the job's code now."""
        return any(self.is_on(what, job) for what in (Happening.GONE, Happening.BROKEN))

    # --- minutes ------------------------------------------------------------------------------------------

    def _minute(self) -> None:
        """What the rules deliver in this minute, then the next one in which anything is due."""
        self.counts["minutes"] += 1
        self.functions.minute()
        following = self.hub.now + MINUTE
        self.hub.at(following, self._next)

    def _next(self) -> None:
        """Play this minute, or skip to the one in which something is due."""
        until = self._quiet_until()
        if until is None or until <= self.hub.now + MINUTE:
            self._minute()
            return
        self.hub.at(until, self._minute)
        lease = self.item(LEASE)
        assert isinstance(lease, LeaseItem)
        kept = until - MINUTE + 3 * SECOND
        beat = replace(lease, completed_at=kept, fencing_token=lease.fencing_token + 1)
        self.hub.at(kept, partial(self.edit, "quiet", beat))

    def _quiet_until(self) -> datetime | None:
        """The minute up to which nothing is due; None: something is going on."""
        lease, now = self.item(LEASE), self.hub.now
        sound = (
            isinstance(lease, LeaseItem)
            and lease.owner is None
            and lease.completed_at is not None
            and lease.completed_at >= now - HEALTHY
            and not (lease.fingerprint or "incomplete").startswith("incomplete")
        )
        loud = (Happening.ALTERNATE, Happening.STORM, Happening.INDEX_LATE, Happening.STORE_DOWN)
        whole = all(self.item(job_key(plan.name)) for plan in self.scenario.jobs)
        seen = whole and min(self._ticked_at, self._looked_at) > self._wrote_at + self.store.table.index_lag
        if not sound or not seen or self.alive or self.stream.is_busy or any(map(self.is_on, loud)):
            return None
        soonest = min(now + LONGEST_SKIP, self.scenario.end)
        for entry in self.store.table.places():
            if entry.kind not in _QUIET_KINDS:
                return None
            if entry.kind is DueKind.JOB or entry.due_at > self._looked_at:
                soonest = min(soonest, entry.due_at)
        if self.hub.next_at is not None:
            soonest = min(soonest, self.hub.next_at)
        return soonest.replace(second=0, microsecond=0)
