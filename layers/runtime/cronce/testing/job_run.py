"""`run_job`: what comes of one run of a job, and of one whose worker dies somewhere."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cronce.core import steps
from cronce.core.alerts import NoticeText
from cronce.core.durations import Duration, duration
from cronce.core.job import Job
from cronce.core.records import RunRecord, StepRecord, StepStatus
from cronce.core.run import Reason, RunStatus
from cronce.testing.birth import born
from cronce.testing.effects import LoggedEvent, RecordingTelemetry
from cronce.testing.one_run import OneRun
from cronce.testing.outside import Function, Outside
from cronce.testing.watch import Call, Moment, Place, Watch


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """What came of a run.

    Attributes:
        run: its record at the end.
        steps: the value of each finished step by its name, as the run got it: of an `each` the values by the
            items' keys, of a sleep the instant until which it was.
        calls: every call of a step's function by the step's name, in order. What was looked up instead of
            called is not among them.
        raised: what the job's function raised, attempt by attempt; stop signals are no failures.
        outside: what was done outside steps, by its place in the job's code.
        notices: what people would have been told.
        log: the lines that the job wrote with `run.log`; `name` is the message.
        invocations: how often an executor worked on it.
    """

    run: RunRecord
    steps: Mapping[str, Any]
    calls: Mapping[str, Sequence[Call]]
    raised: Sequence[Exception]
    outside: Mapping[str, str]
    notices: Sequence[NoticeText]
    log: Sequence[LoggedEvent]
    invocations: int

    @property
    def status(self) -> RunStatus:
        """How it ended: `SUCCEEDED`, `FAILED`, `SKIPPED` or `CANCELLED`."""
        return self.run.status

    @property
    def reason(self) -> Reason | None:
        """Why it did not succeed."""
        return self.run.reason

    @property
    def error(self) -> str | None:
        """Short text of the last error."""
        return self.run.error

    @property
    def attempts(self) -> int:
        """How many attempts it took."""
        return self.run.attempt

    @property
    def duration(self) -> timedelta:
        """From its birth to its end, on the virtual clock."""
        return (self.run.ended_at or self.run.created_at) - self.run.created_at


def run_job(  # noqa: PLR0913 - the author's API
    job: Job,
    /,
    *,
    at: datetime | None = None,
    input: object = None,  # noqa: A002 - as it is called in a run
    crash_after: str | None = None,
    crash_before_recording: str | None = None,
    takes: Mapping[str, Duration] | None = None,
    effects: Iterable[Function] = (),
    reads: Iterable[Function] = (),
) -> RunResult:
    """Execute one run of a job until it has ended, with all its attempts, sleeps and invocations.

    What goes wrong with the job is in the result, as in production; nothing of it is raised.

    Args:
        job: what `@job` made.
        at: an occurrence of its schedule; the first one of 2026 by default. With an input, any instant.
        input: of a manual trigger, as JSON carries it; None: the run is a scheduled one.
        crash_after: the worker dies after this step is recorded ("build"), or after the 600th item of an
            `each` ("send:600"), when the next one would begin: full chunks are recorded, what lies behind
            the last checkpoint is not. Another worker goes on when the claim has run out.
        crash_before_recording: the worker dies when the function of this step (or item) has returned, and
            nothing of that is recorded.
        takes: how long the functions of steps (of an `each`: for one item) work on the virtual clock, by the
            step's name.
        effects: functions each call of which outside a step is noted in `outside`.
        reads: functions within which nothing is noted.

    Raises:
        TypeError: an argument is not of its kind.
        ValueError: `at` is no occurrence, the input is not for a run, or the run never came to where its
            worker was to die, or to a step that was to take so long.

    Example:
        >>> from cronce import Cron, Run, job
        >>> @job("nightly", schedule=Cron("0 2 * * *"))
        ... def nightly(run: Run) -> None:
        ...     run.each("send", ["a", "b", "c", "d"], len, key=str, checkpoint_every=2)
        >>> result = run_job(nightly, crash_after="send:3")
        >>> result.status.value, result.attempts, [call.item for call in result.calls["send"]]
        ('SUCCEEDED', 2, ['a', 'b', 'c', 'c', 'd'])
    """
    place = _place({Moment.RECORDED: crash_after, Moment.DONE: crash_before_recording})
    watch = Watch(Outside(effects, reads), place, _durations(takes))
    result = played(job, watch, at, input)
    unknown = [
        f"takes[{step!r}]"
        for step in watch.takes
        if step not in result.calls and step not in watch.asked.kinds
    ]
    missed = [str(place)] if place is not None and watch.crash is None else []
    if missed or (unknown and result.status is RunStatus.SUCCEEDED):
        called = ", ".join(f"{step} ({_counted(len(calls))})" for step, calls in result.calls.items())
        raise ValueError(
            f"job {job.name!r}: no worker came to {', '.join([*missed, *unknown])}. The run ended "
            f"{result.status}; called were the functions of {called or 'no step'}"
        )
    return result


def played(job: object, watch: Watch, at: datetime | None, given: object) -> RunResult:
    """Let a run live, and look at what came of it.

    Args:
        job: what `@job` made.
        watch: sees what its function does.
        at: the occurrence; None: the first one.
        given: the input of a manual trigger; None: there is none.

    Raises:
        TypeError: it is no job.
        ValueError: there is no such occurrence, or the input is not for a run.
    """
    if not isinstance(job, Job):
        raise TypeError(f"the kit runs what @job has made, not {job!r}")
    life = OneRun(job, watch, born(job, at, given))
    life.play()
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in watch.calls:
        calls[call.step].append(call)
    run = life.record
    return RunResult(
        run=run,
        steps=_values(life.around.store.steps.load(run.ref)),
        calls=dict(calls),
        raised=tuple(watch.raised),
        outside=dict(watch.outside.found),
        notices=tuple(life.around.notifier.notices),
        log=tuple(_lines(life.around.telemetry)),
        invocations=life.invocations,
    )


def _place(given: Mapping[Moment, object]) -> Place | None:
    """Where the worker dies; None: nowhere.

    Raises:
        TypeError: it is no text.
        ValueError: there are two, or it is empty.
    """
    places = [Place(moment, _step(moment, step)) for moment, step in given.items() if step is not None]
    if len(places) > 1:
        raise ValueError("a worker dies once: give crash_after or crash_before_recording, not both")
    return places[0] if places else None


def _step(moment: Moment, step: object) -> str:
    if not isinstance(step, str):
        raise TypeError(f'{moment} takes the name of a step, such as "build" or "send:600", not {step!r}')
    if not step:
        raise ValueError(f'{moment} is empty; it takes the name of a step, such as "build" or "send:600"')
    return step


def _durations(takes: object) -> dict[str, timedelta]:
    """How long steps work.

    Raises:
        TypeError: it is no dict.
        DefinitionError: one of them is no duration.
    """
    if not isinstance(takes, Mapping | None):
        raise TypeError(f'takes takes a dict of durations by step, such as {{"send": "2s"}}, not {takes!r}')
    return {step: _duration(f"takes[{step!r}]", took) for step, took in (takes or {}).items()}


def _duration(what: str, took: object) -> timedelta:
    if isinstance(took, timedelta) and took >= timedelta(0):
        return took  # a part of a second too
    return duration(what, took)


def _counted(calls: int) -> str:
    """`1 call`, `2 calls`."""
    return "1 call" if calls == 1 else f"{calls} calls"


def _values(records: Sequence[StepRecord]) -> dict[str, Any]:
    """The values of finished steps by name."""
    values: dict[str, Any] = {}
    for record in records:
        if record.chunk is not None:
            items = ((key, None if one is steps.NO_VALUE else one) for key, one in steps.values_of(record))
            values.setdefault(record.name, {}).update(items)
        elif record.status is StepStatus.DONE:
            values[record.name] = json.loads(record.result)
        elif record.status is StepStatus.ASLEEP:
            values[record.name] = record.until
    return values


def _lines(telemetry: RecordingTelemetry) -> list[LoggedEvent]:
    """What the job wrote."""
    return [
        LoggedEvent(name=str(line.fields["message"]), fields=_fields(line), warning=line.warning)
        for line in telemetry.named("job.log")
    ]


def _fields(line: LoggedEvent) -> dict[str, object]:
    fields = line.fields["fields"]
    return dict(fields) if isinstance(fields, dict) else {}
