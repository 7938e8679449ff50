"""Operators of the virtual world: the real commands, each given by a process of its own.

A command is an actor like every other: its calls meet the same faults, its host's clock may be wrong, two are
given at once, and one that had no answer is given again. What it may have changed is judged in `authority`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from cronce.core.acts import What
from cronce.core.errors import JobNotFoundError, OperationRefusedError
from cronce.core.jobstate import JobState
from cronce.core.records import RunRecord, RunRef, StepRecord, StepStatus
from cronce.core.run import Reason, RunStatus
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
)
"""What operators do when they act, one as likely as the other; who finds a job paused resumes it."""
PEOPLE = ("ada", "bob", "cyd")
INPUTS: tuple[object, ...] = (None, None, {"day": 7}, {"text": "x" * 500})
"""Given with a trigger: nothing, what stands on the record, what is kept beside it."""
LOOKED_AT = 6
"""The newest runs that an operator chooses from."""
AGAIN = 3
"""Times that a command without an answer is given in all."""
WORK_ADDED = 15 * MINUTE
"""Nobody asks for more runs while those that there are take longer than this."""
CARRIED_OUT, REFUSED, NO_ANSWER = "carried out", "refused", "no answer"


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
    """

    what: What
    job: str
    ref: RunRef | None = None
    step: str = ""
    text: str | None = None
    lasts: timedelta = MINUTE


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
            again = result is None and number < AGAIN and not world.is_calm
        if again:
            later = world.chance.span(f"{occasion}/{number}/again", 5, 300)
            world.hub.at(world.hub.now + later, partial(self.give, command, occasion, number + 1))

    # --- what they do -------------------------------------------------------------------------------------

    def _carried_out(self, process: Process, command: Command) -> str:
        try:
            self._given(self._operations(process), command, process)
        except (OperationRefusedError, JobNotFoundError) as error:
            process.note(f"refused: {error}")
            return REFUSED
        return CARRIED_OUT

    def _given(self, operations: Operations, command: Command, process: Process) -> None:
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
        match what:
            case What.PAUSE:
                return self._pause_or_resume(job, occasion)
            case What.CANCEL:
                return self._about_a_run(what, job, occasion, self._unfinished(job))
            case What.RETRY:
                return self._about_a_run(what, job, occasion, self._without_success(job))
            case What.RESOLVE:
                return self._resolve(job, occasion)
            case What.TRIGGER:
                return self._trigger(job, occasion)
            case _:
                return Command(what=what, job=job)

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

    def _resolve(self, job: str, occasion: str) -> Command | None:
        """A step that was started and not finished: they look whether its effect is there."""
        chance, runs = self._world.chance, self._runs(job)
        uncertain = [run for run in runs if run.reason is Reason.STEP_UNCERTAIN]
        refs = [run.ref for run in uncertain] or list(self._world.watch.unfinished[job])
        ref = chance.one_of(f"{occasion}/run", refs) if refs else None
        items = self._world.store.table.partition(ref.id) if ref else []
        step = next(
            (item for item in items if isinstance(item, StepRecord) and item.status is StepStatus.STARTED),
            None,
        )
        if ref is None or step is None:
            return None
        done = (ref.id, step.name) in self._world.outside.effects
        text = json.dumps(f"{step.name} was seen") if done else None
        return Command(what=What.RESOLVE, job=job, ref=ref, step=step.name, text=text)

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
