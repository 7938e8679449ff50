"""The correct path: looks at every run that somebody has to look at, by the `due` index.

Needs no leader: every write is conditional on what was judged, so two sweeps at once do each thing once. The
index is a hint; each run is read before it is judged.

* `running`: a live claim is looked at again when it ends; an expired one means a lost attempt.
* `waiting`: what has waited long enough becomes PENDING.
* `queued`: the first of a queue becomes PENDING if a slot is free.
* `pending`: an executor is asked for directly, not through the stream.

In that order, each with its own bound, oldest first, so that ten thousand pending or queued runs delay no
lost claim. Whatever is looked at leaves the head of the index in the same write, items that cannot be read
or written included, so nothing at the head hides what lies behind it: not even two hundred runs about which
the store never answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from functools import partial

from cronce.core import moves
from cronce.core.answers import Applied, DueEntry
from cronce.core.changes import Guard, RunChange
from cronce.core.claim import TAKE_OVER_AFTER, is_expired
from cronce.core.errors import NewerItemError, RefusedError, StoreError, UnreadableItemError
from cronce.core.job import Job
from cronce.core.ports import DueIndex
from cronce.core.records import RunRecord
from cronce.core.run import Dispatch, DueKind
from cronce.core.slots import RunPolicy
from cronce.core.values import dataclass
from cronce.engine.aside import ASIDE_AT_LEAST, ASIDE_AT_MOST
from cronce.engine.claims import Claims
from cronce.engine.dispatcher import Dispatcher
from cronce.engine.ledger import Ledger
from cronce.engine.metrics import ITEMS_UNREADABLE, STARTS_BY_SWEEP

PER_KIND = 200
"""Lines of one kind and tick: what one tick can do in time, writes included."""
BATCH = 50
"""Runs dispatched between two looks at the clock."""
UNANSWERED_AGAIN = timedelta(minutes=2)
"""A run about which the store does not answer is most likely healthy: soon again, but behind the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepReport:
    """What one sweep did.

    Attributes:
        dispatched: executors that were asked for.
        refused: requests that were not accepted.
        woken: waiting runs that became PENDING.
        lost: attempts whose worker was declared lost.
        ended: runs that ended without an attempt: expired, or cancelled.
        looked_at: live claims, and queued runs without a place.
        unreadable: items that were set aside.
        unanswered: runs about which the store did not answer; they are looked at again in two minutes.
        complete: everything due (up to the bound of each kind) was looked at in time.
    """

    dispatched: int = 0
    refused: int = 0
    woken: int = 0
    lost: int = 0
    ended: int = 0
    looked_at: int = 0
    unreadable: int = 0
    unanswered: int = 0
    complete: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweep:
    """Sweeps the partitions of runs.

    Attributes:
        index: where to look.
        claims: for queued runs, and the ledger behind it.
        dispatcher: asks for executors.
        job_of: the code of a job, as far as this process has it.
    """

    index: DueIndex
    claims: Claims
    dispatcher: Dispatcher
    job_of: Callable[[str], Job | None]

    def sweep(self, now: datetime, until: datetime) -> SweepReport:
        """Look at what is due.

        Args:
            now: of the tick.
            until: stop by then.

        Raises:
            StoreError: the store did not answer.
        """
        one = _Pass(sweep=self, now=now, until=until)
        looks = (
            (DueKind.RUNNING, one.running),
            (DueKind.WAITING, one.waiting),
            (DueKind.QUEUED, one.queued),
        )
        for kind, look in looks:
            for entry, run in one.due(kind):
                one.guarded(entry, partial(look, run))
        one.pending()
        return SweepReport(**one.tally, complete=one.complete)


@dataclass(kw_only=True, slots=True)
class _Pass:
    """One sweep under way."""

    sweep: Sweep
    now: datetime
    until: datetime
    tally: Counter[str] = field(default_factory=Counter)
    full: set[str] = field(default_factory=set)
    complete: bool = True

    @property
    def ledger(self) -> Ledger:
        return self.sweep.claims.ledger

    def policy(self, run: RunRecord) -> RunPolicy:
        return RunPolicy.of(self.sweep.job_of(run.ref.job))

    def due(self, kind: DueKind) -> Iterator[tuple[DueEntry, RunRecord]]:
        """The runs of one kind that are due indeed, as long as there is time."""
        entries = self.sweep.index.due(kind, self.now, PER_KIND)
        if not entries:
            return
        found = self.ledger.runs.get_many([entry.run for entry in entries if entry.run])
        for entry in entries:
            if self.sweep.claims.now() is None or self.ledger.clock.now() >= self.until:
                self.complete = False
                return
            run = (found.get(entry.run) if entry.run else None) or self._read(entry)
            if run is None:
                continue
            if run.due_kind is kind and run.due_at is not None and run.due_at <= self.now:
                yield entry, run
            else:
                # If the index is late, this does nothing. An item edited by hand would stay here for ever.
                self._set_aside(entry, ASIDE_AT_LEAST, "its place in the index is not that of its state")

    def guarded(self, entry: DueEntry, look: Callable[[], None]) -> None:
        """Look at one run: it holds up nobody.

        What the store will never take is set aside, like an item that cannot be read. So is a run about which
        it does not answer, for less long: most of those pass, and those that never do must not stay in front.
        """
        try:
            look()
        except (RefusedError, UnreadableItemError) as error:
            self._set_aside(entry, self._pause(entry), str(error))
        except StoreError as error:
            self._unanswered(entry, str(error))

    def running(self, run: RunRecord) -> None:
        """RUNNING: is its worker alive?

        Asked by a clock that the store's answers confirm: one that was set back meanwhile would take every
        live claim for one from the future.
        """
        read_at = self.sweep.claims.now()
        if read_at is None:
            self.complete = False
        elif is_expired(run, min(self.now, read_at), read_at):
            if self.ledger.lose(run, self.policy(run), self.now) is Applied.DONE:
                self.tally["lost"] += 1
        elif run.claim_until is not None:
            over = run.claim_until if run.claim_until > self.now else run.claim_until + TAKE_OVER_AFTER
            self._look_again(run, over)

    def waiting(self, run: RunRecord) -> None:
        """WAITING for its next attempt: has it waited long enough?"""
        end = self._end_of(run)
        if end is not None:
            self._move(run, end, "ended")
        else:
            self._move(run, moves.to_dispatch(run, self.now), "woken")

    def queued(self, run: RunRecord) -> None:
        """WAITING for a slot: is one free?"""
        end = self._end_of(run)
        if end is not None:
            self._move(run, end, "ended")
        else:
            self._wake_first(run)

    def pending(self) -> None:
        """PENDING: ask for executors, then look again after a while, and after a longer while."""
        ready: dict[DueEntry, RunRecord] = {}
        for entry, run in self.due(DueKind.PENDING):
            end = self._end_of(run)
            if end is not None:
                self.guarded(entry, partial(self._move, run, end, "ended"))
            else:
                ready[entry] = run
            if len(ready) >= BATCH:
                self._dispatch(ready)
                ready = {}
        self._dispatch(ready)

    def _dispatch(self, ready: Mapping[DueEntry, RunRecord]) -> None:
        for_the_first_time = sum(run.dispatch is not Dispatch.SWEEP for run in ready.values())
        if for_the_first_time:
            self.ledger.telemetry.count(STARTS_BY_SWEEP, for_the_first_time)
        refused = set(self.sweep.dispatcher.dispatch([(run.ref.id, run.ref) for run in ready.values()]))
        for entry, run in ready.items():
            self.guarded(entry, partial(self._dispatched, run, accepted=run.ref.id not in refused))

    def _dispatched(self, run: RunRecord, *, accepted: bool) -> None:
        self.tally["dispatched" if accepted else "refused"] += 1
        self.ledger.telemetry.warn("run.started_by_sweep", run=run.ref.id, accepted=accepted)
        after = moves.redispatched(run, self.now, accepted=accepted)
        self.ledger.apply(RunChange(before=run, after=after, guard=Guard.SEEN))

    def _end_of(self, run: RunRecord) -> RunRecord | None:
        """The record after its end, if a run that is not RUNNING has to end now."""
        retention = self.ledger.retention
        if run.created_at + moves.EXPIRY <= self.now:
            return moves.expired(run, self.now, retention)
        return moves.cancelled(run, self.now, retention) if run.cancel_requested else None

    def _wake_first(self, run: RunRecord) -> None:
        """Wake the first of the queue if a slot is free; slots that were full just now are full."""
        job = run.ref.job
        woken = None if job in self.full else self.sweep.claims.wake(run, self.policy(run), self.now)
        if woken is None:
            self.full.add(job)
        else:
            self.tally["woken"] += 1
        if woken is None or woken.ref != run.ref:
            self._look_again(run, self.now + moves.QUEUE_FALLBACK)

    def _move(self, run: RunRecord, after: RunRecord, what: str) -> None:
        change = RunChange(before=run, after=after, guard=Guard.SEEN)
        if self.ledger.move(change, self.policy(run)) is Applied.DONE:
            self.tally[what] += 1

    def _look_again(self, run: RunRecord, due_at: datetime) -> None:
        if self.ledger.look_again(run, due_at):
            self.tally["looked_at"] += 1

    def _read(self, entry: DueEntry) -> RunRecord | None:
        """A run that was not found among the readable ones: gone, or set aside."""
        if entry.run is None:
            self._set_aside(entry, ASIDE_AT_MOST, "its key names no run")
            return None
        try:
            return self.ledger.runs.get(entry.run)
        except NewerItemError:
            self._step_aside(entry, moves.NEWER_AGAIN)
        except UnreadableItemError as error:
            self._set_aside(entry, self._pause(entry), str(error))
        except StoreError as error:
            self._unanswered(entry, str(error))
        return None

    def _pause(self, entry: DueEntry) -> timedelta:
        """As long as the occurrence is old: looked at after 10 minutes, 20, 40, ..., then daily."""
        age = self.now - entry.run.scheduled_at if entry.run else ASIDE_AT_MOST
        return min(max(age, ASIDE_AT_LEAST), ASIDE_AT_MOST)

    def _unanswered(self, entry: DueEntry, problem: str) -> None:
        telemetry = self.ledger.telemetry
        telemetry.warn("sweep.no_answer", pk=entry.pk, sk=entry.sk, problem=problem)
        if self._step_aside(entry, UNANSWERED_AGAIN):
            self.tally["unanswered"] += 1
            telemetry.count(ITEMS_UNREADABLE)

    def _set_aside(self, entry: DueEntry, pause: timedelta, problem: str) -> None:
        if self._step_aside(entry, pause):
            self.tally["unreadable"] += 1
            telemetry = self.ledger.telemetry
            telemetry.warn("item.set_aside", pk=entry.pk, sk=entry.sk, pause=str(pause), problem=problem)
            telemetry.count(ITEMS_UNREADABLE)

    def _step_aside(self, entry: DueEntry, pause: timedelta) -> bool:
        """Move an entry to a later place. False: it has moved by itself, or somebody else has looked at it.

        One that cannot be moved stays at the head, until it can, and is counted as if it had been.
        """
        try:
            return self.ledger.runs.set_aside(entry, self.now + pause)
        except StoreError as error:
            self.ledger.telemetry.warn("sweep.no_answer", pk=entry.pk, sk=entry.sk, problem=str(error))
            return True
