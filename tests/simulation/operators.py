"""Operators of the virtual world: the real commands, each given by a process of its own.

A command is an actor like every other: its calls meet the same faults, its host's clock may be wrong, two are
given at once, and one that had no answer is given again. What it may have changed is judged in `authority`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from cronce.core.acts import What
from cronce.core.errors import JobNotFoundError, OperationRefusedError
from cronce.core.jobstate import JobState
from cronce.core.records import RunRecord, RunRef, StepRecord, StepStatus
from cronce.core.run import RunStatus
from cronce.engine.operations import Operations
from cronce.testing import job_key
from tests.simulation.process import Process
from tests.simulation.scenario import MINUTE, SECOND, Incident, JobPlan, Part

if TYPE_CHECKING:
    from tests.simulation.world import World

COMMANDS = (
    What.PAUSE,
    What.CANCEL,
    What.CANCEL,
    What.TRIGGER,
    What.RETRY,
    What.RETRY,
    What.RESOLVE,
    What.ACKNOWLEDGE,
    What.BACKFILL,
    What.BACKFILL,
    What.REWIND,
)
"""What operators do when they act, one as likely as the other; who finds a job paused resumes it."""
PEOPLE = ("ada", "bob", "cyd")
INPUTS: tuple[object, ...] = (None, None, {"day": 7}, {"text": "x" * 500})
"""Given with a trigger: nothing, what stands on the record, what is kept beside it."""
LOOKED_AT = 6
"""The newest runs that an operator chooses from."""
AGAIN = 3
"""Times that a command without an answer is given in all."""
LONG_BEFORE = timedelta(days=2)
"""A backfill may go back to before the job was there, so far."""
HOUR = timedelta(hours=1)
WORK_ADDED = 15 * MINUTE
"""Nobody asks for more runs while those that there are take longer than this."""
FILLED = 5
"""Times that one backfill asks for, at most."""
CARRIED_OUT, REFUSED, BROKEN_OFF, NO_ANSWER = "carried out", "refused", "broken off", "no answer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """What an operator asks for.

    Attributes:
        what: to do.
        job: with which job.
        ref: with which run of it.
        step: of that run.
        text: JSON: the input of a trigger, the value of a step that was done.
        lasts: how long a pause is wanted.
        since: of a backfill, the first instant; of a rewind, where the job is set back to.
        until: of a backfill, the last instant.
        gaps: times in gaps too.
        breaks_off: of a backfill: it is left after so many times; 0 = it is not.
    """

    what: What
    job: str
    ref: RunRef | None = None
    step: str = ""
    text: str | None = None
    lasts: timedelta = MINUTE
    since: datetime | None = None
    until: datetime | None = None
    gaps: bool = False
    breaks_off: int = 0


class Operators:
    """Lets operators act.

    Args:
        world: in which.

    Attributes:
        outcomes: how often each command was carried out, refused, or had no answer.
        inputs: by run, what was given with its trigger.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._plans = {plan.name: plan for plan in world.scenario.jobs}
        self.outcomes: Counter[str] = Counter()
        self.inputs: dict[str, object] = {}

    # --- when they act ------------------------------------------------------------------------------------

    def act(self, occasion: str, job: str = "") -> None:
        """An operator does something at this very instant, and now and then two do."""
        chance = self._world.chance
        job = job or chance.one_of(f"{occasion}/job", sorted(self._plans))
        for number in range(1 + chance.happens(f"{occasion}/two at once", 0.2)):
            command = self._drawn(job, f"{occasion}/{number}")
            if command is not None:
                self.give(command, f"{occasion}/{number}")

    def work(self, incident: Incident) -> None:
        """Operators are busy with a job for a while."""
        world, occasion = self._world, f"{incident}"
        for number in range(world.chance.number(f"{occasion}/commands", 3, 8)):
            later = incident.lasts * world.chance.fraction(f"{occasion}/{number}/at")
            world.hub.at(world.hub.now + later, partial(self.act, f"{occasion}/{number}", incident.job))

    def pause(self, incident: Incident) -> None:
        """A job is paused for a while."""
        self.give(Command(what=What.PAUSE, job=incident.job, lasts=incident.lasts), f"{incident}")

    def cancel_all(self, incident: Incident) -> None:
        """Every run of a job is to end."""
        for ref in sorted(self._world.watch.unfinished[incident.job]):
            self.give(Command(what=What.CANCEL, job=incident.job, ref=ref), f"{incident}/{ref.key}")

    def recover(self, incident: Incident, since: datetime) -> None:
        """Records since then were lost: the job is set back, or what is missing is backfilled."""
        world, job, occasion = self._world, incident.job, f"{incident}/recovery"
        gaps = world.chance.happens(f"{occasion}/gaps", 0.4)
        command = Command(what=What.REWIND, job=job, since=since, gaps=gaps)
        if world.chance.happens(f"{occasion}/backfill", 0.3):
            command = Command(what=What.BACKFILL, job=job, since=since, until=world.hub.now, gaps=True)
        soon = world.hub.now + world.chance.span(f"{occasion}/soon", 1, 1200)
        for number in range(1 + world.chance.happens(f"{occasion}/two at once", 0.3)):
            world.hub.at(soon, partial(self._if_room, command, f"{occasion}/{number}"))

    def _if_room(self, command: Command, occasion: str) -> None:
        if self._has_room(command.job, FILLED):
            self.give(command, occasion)

    def paused(self, command: Command) -> None:
        """A pause was written: it ends one day, and before the history does."""
        now, trouble_ends = self._world.hub.now, self._world.scenario.trouble_ends
        until = min(now + command.lasts, trouble_ends + SECOND) if now < trouble_ends else now + MINUTE
        resume = Command(what=What.RESUME, job=command.job)
        self._world.hub.at(until, partial(self.give, resume, f"pause of {now:%d %H:%M:%S.%f}"))

    def triggered(self, ref: RunRef, command: Command | None) -> None:
        """A run was born of a trigger: its function must find what was given."""
        self.inputs[ref.id] = json.loads(command.text) if command and command.text else None

    def give(self, command: Command, occasion: str, number: int = 1) -> None:
        """The command is given, now."""
        world = self._world
        name = f"{command.what} {command.job} {occasion} {number}"

        def begin() -> None:
            process = world.functions.operator(name, command)
            process.ends_told = partial(self._ended, command, occasion, number)
            process.start(lambda: self._carried_out(process, command))

        world.hub.at(world.hub.now, begin)

    def _ended(self, command: Command, occasion: str, number: int, result: object) -> None:
        """How a command ended: None = it died, or the store did not answer."""
        world = self._world
        self.outcomes[f"{command.what} {result or NO_ANSWER}"] += 1
        state = world.item(job_key(command.job))
        if command.what is What.RESUME:
            again = isinstance(state, JobState) and state.paused is not None
        else:
            unfinished = result in (None, BROKEN_OFF)
            again = unfinished and number < AGAIN and not world.is_calm
        if again:
            command = replace(command, breaks_off=0)
            later = world.chance.span(f"{occasion}/{number}/again", 5, 300)
            world.hub.at(world.hub.now + later, partial(self.give, command, occasion, number + 1))

    # --- what they do -------------------------------------------------------------------------------------

    def _carried_out(self, process: Process, command: Command) -> str:
        try:
            return self._given(self._operations(process), command, process) or CARRIED_OUT
        except (OperationRefusedError, JobNotFoundError) as error:
            process.note(f"refused: {error}")
            if command.what is not What.BACKFILL:  # it may be refused half-way
                process.says_changed(False)
            return REFUSED

    def _given(self, operations: Operations, command: Command, process: Process) -> str | None:
        """Give the command; returns how it ended, if not well."""
        job, ref = command.job, command.ref or RunRef(command.job, self._world.hub.start)
        by = self._world.chance.one_of(f"{process.name}/by", PEOPLE)
        why = process.name[-100:]
        match command.what:
            case What.PAUSE:
                process.says_changed(operations.pause(job, by=by, why=why).changed)
            case What.RESUME:
                process.says_changed(operations.resume(job, by=by, why=why).changed)
            case What.CANCEL:
                process.says_changed(operations.cancel(ref, by=by, why=why).changed)
            case What.RETRY:
                operations.retry(ref, by=by, why=why)
                process.says_changed(True)
            case What.TRIGGER:
                operations.trigger(job, command.text, by=by, why=why)
                process.says_changed(True)
            case What.RESOLVE:
                operations.resolve(ref, command.step, command.text, by=by, why=why)
                process.says_changed(True)
            case What.ACKNOWLEDGE:
                process.says_changed(operations.acknowledge(job, by=by, why=why))
            case What.REWIND:
                assert command.since is not None
                operations.rewind(job, command.since, replan_gaps=command.gaps, by=by, why=why)
                process.says_changed(True)
            case What.BACKFILL:
                return self._filled(operations, command, process, (by, why))
        return None

    def _filled(
        self, operations: Operations, command: Command, process: Process, signature: tuple[str, str]
    ) -> str | None:
        assert command.since is not None
        assert command.until is not None
        by, why = signature
        plan = operations.preview(command.job, command.since, command.until, gaps=command.gaps)
        created = 0
        for filled in operations.backfill(plan, by=by, why=why):
            created += filled.created
            if not self._world.accounts.accounts_for(command.job, filled.at):
                text = f"{filled.at:%Y-%m-%d %H:%M} by {process.name}"
                self._world.violated("what was backfilled is on record", text, command.job)
            if filled.number == command.breaks_off:
                return BROKEN_OFF
        process.says_changed(created > 0)
        return None

    def _operations(self, process: Process) -> Operations:
        world, store = self._world, self._world.store
        catalog = world.functions.catalog(process)
        jobs = {} if world.chance.happens(f"{process.name}/without the code", 0.2) else catalog.jobs
        return Operations(
            ledger=world.functions.ledger(process),
            steps=process.port("steps", store.steps),
            alerts=process.port("alerts", store.alerts),
            store_clock=world.functions.store_clock(process),
            job_of=lambda name: jobs[name].job if name in jobs else None,
            suffix=lambda: f"{world.chance.bits(f'{process.name}/{process.calls}/suffix'):016x}"[:8],
        )

    # --- what they choose ---------------------------------------------------------------------------------

    def _drawn(self, job: str, occasion: str) -> Command | None:
        """A command that there is some reason for."""
        what = self._world.chance.one_of(f"{occasion}/what", COMMANDS)
        if what in (What.RETRY, What.ACKNOWLEDGE) and (resolve := self._resolve(job, occasion)):
            return resolve  # it is what the alert asks for
        if what is What.CANCEL:
            return self._about_a_run(what, job, occasion, self._unfinished(job))
        if what is What.RETRY:
            return self._about_a_run(what, job, occasion, self._without_success(job))
        choose = {
            What.PAUSE: self._pause_or_resume,
            What.RESOLVE: self._resolve,
            What.TRIGGER: self._trigger,
            What.BACKFILL: self._backfill,
            What.REWIND: self._rewind,
        }.get(what)
        return choose(job, occasion) if choose else Command(what=what, job=job)

    def _pause_or_resume(self, job: str, occasion: str) -> Command:
        state = self._world.item(job_key(job))
        if isinstance(state, JobState) and state.paused is not None:
            return Command(what=What.RESUME, job=job)
        return Command(what=What.PAUSE, job=job, lasts=self._world.chance.span(f"{occasion}/lasts", 60, 7200))

    def _about_a_run(self, what: What, job: str, occasion: str, runs: Sequence[RunRecord]) -> Command | None:
        """About one of those that are meant; now and then about any, which may be refused."""
        chance = self._world.chance
        if not runs or chance.happens(f"{occasion}/any", 0.1):
            runs = self._runs(job)[-LOOKED_AT:]
        if not runs or (what is What.RETRY and not self._has_room(job)):
            return None
        return Command(what=what, job=job, ref=chance.one_of(f"{occasion}/run", runs).ref)

    def _trigger(self, job: str, occasion: str) -> Command | None:
        given = self._world.chance.one_of(f"{occasion}/input", INPUTS)
        text = None if given is None else json.dumps(given)
        return Command(what=What.TRIGGER, job=job, text=text) if self._has_room(job) else None

    def _backfill(self, job: str, occasion: str) -> Command | None:
        """A few times in a row: of a gap, or any, with what is still to come now and then."""
        world, chance = self._world, self._world.chance
        state, now = world.item(job_key(job)), world.hub.now
        if not isinstance(state, JobState) or not self._has_room(job, FILLED):
            return None
        first = max(now - chance.span(f"{occasion}/since", 60, 2 * 86400), world.scenario.start - LONG_BEFORE)
        gaps = world.accounts.gaps_of(job)
        if gaps and chance.happens(f"{occasion}/of a gap", 0.5):
            first = chance.one_of(f"{occasion}/gap", gaps).first - SECOND
        times = world.accounts.oracle.between(state.schedule, first, now + HOUR)[:FILLED]
        return Command(
            what=What.BACKFILL,
            job=job,
            since=times[0] if times else first,
            until=times[-1] if times else now,
            gaps=chance.happens(f"{occasion}/gaps", 0.6),
            breaks_off=chance.one_of(f"{occasion}/breaks off", (0, 0, 1, 2)),
        )

    def _rewind(self, job: str, occasion: str) -> Command | None:
        chance = self._world.chance
        to = self._world.hub.now - chance.span(f"{occasion}/to", 30, 6 * 3600)
        gaps, known = chance.happens(f"{occasion}/gaps", 0.6), self._world.accounts.gaps_of(job)
        if known and chance.happens(f"{occasion}/to a gap", 0.7):
            to = known[-1].first - SECOND
        command = Command(what=What.REWIND, job=job, since=to, gaps=gaps)
        return command if self._has_room(job, FILLED) else None

    def _resolve(self, job: str, occasion: str) -> Command | None:
        """A step that was started and not finished: they look whether its effect is there."""
        if not any(piece.part is Part.ONCE for piece in self._plans[job].pieces):
            return None
        runs = [*self._unfinished(job), *self._without_success(job)]
        items = [item for run in runs for item in self._world.store.table.partition(run.ref.id)]
        started = [
            item for item in items if isinstance(item, StepRecord) and item.status is StepStatus.STARTED
        ]
        if not started:
            return None
        step = self._world.chance.one_of(f"{occasion}/step", started)
        done = (step.ref.id, step.name) in self._world.outside.effects
        text = json.dumps(f"{step.name} was seen") if done else None
        return Command(what=What.RESOLVE, job=job, ref=step.ref, step=step.name, text=text)

    def _runs(self, job: str) -> list[RunRecord]:
        items = self._world.store.table.partition(f"JOB#{job}")
        return [item for item in items if isinstance(item, RunRecord)]

    def _unfinished(self, job: str) -> list[RunRecord]:
        return sorted(self._world.watch.unfinished[job].values(), key=lambda run: run.ref)

    def _without_success(self, job: str) -> list[RunRecord]:
        good = RunStatus.SUCCEEDED
        found = [run for run in self._runs(job) if run.status.is_final and run.status is not good]
        return found[-LOOKED_AT:]

    def _has_room(self, job: str, more: int = 1) -> bool:
        """Whether what waits of a job, and so many more, ends soon even if one waits for the other."""
        waiting = len(self._world.watch.unfinished[job]) + more
        return waiting * _longest(self._plans[job]) <= WORK_ADDED


def _longest(plan: JobPlan) -> timedelta:
    """How long a run of a job takes when nothing goes wrong any more: it sleeps as long as ever."""
    sleeps = sum(30 + piece.seconds for piece in plan.pieces if piece.part is Part.SLEEP)
    return timedelta(seconds=30 + sleeps)
