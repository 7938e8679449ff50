"""What a person says of a step whose outcome is unknown, and what becomes of its run.

A step that was started at most once and not finished is settled in one of two ways:

* `done`: it was done. Its value is the one given; the run goes on behind it.
* `redo`: it was surely not done. The run goes on with it.

`redo` is refused while the invocation that started the step could still be at it. A worker may have fallen
asleep within the call, a moment before its effect, and nothing stops it when it wakes: the store refuses its
writes, not its effects. Lambda ends every invocation at its deadline, so after that (and `REDO_AFTER`) nobody
acts any more.

    A starts the step at 02:00, its invocation lasts until 02:15, and A stands still
    B finds it started: FAILED(step_uncertain)
    02:05 redo: refused      02:16 redo: the step is free; A is gone

A run that has ended is brought back by the same write; see `core.operator_moves`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from cronce.core.acts import Act
from cronce.core.changes import Guard, RunChange, StepChange
from cronce.core.errors import OperationRefusedError, StepError
from cronce.core.json_text import read_json
from cronce.core.operator_moves import brought_back
from cronce.core.records import RunRecord, StepRecord, StepStatus
from cronce.core.run import RunStatus
from cronce.core.steps import to_json
from cronce.core.values import dataclass

REDO_AFTER = timedelta(minutes=1)
"""After the end of the invocation: clocks of two hosts differ by seconds, and a packet may be under way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a person says.

    Attributes:
        done: JSON of the step's value if it was done; None: it was not, and is to be done again.
        act: who says it, when, and how it is known.
    """

    done: str | None
    act: Act


def resolved(run: RunRecord, step: StepRecord | None, verdict: Verdict) -> RunChange:
    """The change that a verdict makes.

    Args:
        run: as read.
        step: its item as read; None: there is none.
        verdict: what a person says.

    Raises:
        OperationRefusedError: there is nothing to say, or not yet.
    """
    if step is None or step.status is not StepStatus.STARTED:
        found = "was never started" if step is None else f"is {step.status}"
        raise OperationRefusedError(f"run {run.ref.id}: the step {found}: there is nothing to resolve")
    if run.status is RunStatus.RUNNING:
        raise OperationRefusedError(
            f"run {run.ref.id} is RUNNING: its worker may be at step {step.name!r} now; wait for its end"
        )
    over = (step.until or step.at) + REDO_AFTER
    if verdict.done is None and verdict.act.at < over:
        raise OperationRefusedError(
            f"run {run.ref.id}: step {step.name!r} may still be under way: its worker could wake up and do "
            f"it until {over:%Y-%m-%d %H:%M:%S}Z; say redo after that"
        )
    settled = replace(
        step,
        status=StepStatus.NOT_DONE if verdict.done is None else StepStatus.DONE,
        result="null" if verdict.done is None else _value(run, step.name, verdict.done),
        until=None,
        owner=f"operator {verdict.act.by}",
        at=verdict.act.at,
        why=verdict.act.why,
    )
    back = brought_back(run, verdict.act.at) if run.status.is_final else replace(run, touched=True)
    return RunChange(
        before=run,
        after=replace(back, act=verdict.act),
        guard=Guard.SEEN,
        step=StepChange(before=step, after=settled),
    )


def _value(run: RunRecord, step: str, text: str) -> str:
    """The value as a worker would have recorded it."""
    try:
        return to_json(run.ref.id, step, read_json(text))
    except (ValueError, RecursionError, StepError) as error:
        raise OperationRefusedError(
            f"run {run.ref.id}: the value of step {step!r} is no JSON that can be kept: {error}"
        ) from error
