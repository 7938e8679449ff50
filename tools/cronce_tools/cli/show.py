"""`cronce show`: one run with its attempts, its steps and what operators did to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cronce.core.acts import Act
from cronce.core.records import AttemptRecord, RunRecord, RunRef, StepStatus
from cronce.core.run_story import StepStory
from cronce.engine.inquiry import RunStory
from cronce_tools.cli import json_form
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit, UsageError
from cronce_tools.cli.logs import log_place
from cronce_tools.cli.output import BAD, GOOD, WAITS, Cell, Json, Output, Row
from cronce_tools.cli.runs import status_cell
from cronce_tools.cli.stacks import Reached
from cronce_tools.cli.times import local_text, shown, shown_for

STEP_STYLES = {
    StepStatus.DONE: GOOD,
    StepStatus.STARTED: BAD,
    StepStatus.NOT_DONE: WAITS,
    StepStatus.ASLEEP: WAITS,
}


def run_ref(text: str) -> RunRef:
    """The run that an id names.

    Raises:
        UsageError: it is no run id.
    """
    try:
        return RunRef.parse(text)
    except ValueError as error:
        raise UsageError(f"{error} (`cronce runs` lists them)") from None


def show_run(call: Call, run_id: str) -> int:
    """Show a run.

    Returns:
        The exit code.

    Raises:
        UsageError: there is no such run.
    """
    ref = run_ref(run_id)
    stack = call.reach()
    story = stack.operator.inquiry.story(ref)
    if story is None:
        stack.job(ref.job)
        raise UsageError(f"there is no run {ref.id}: `cronce did-run {ref.job} {ref.key[:20]}` says why")
    now = stack.operator.clock.now()
    if call.output.as_json:
        call.output.document({**json_form.head(stack, now), **_json(story, stack)})
        return Exit.YES
    _show(call.output, story, stack, now)
    return Exit.YES


def _show(output: Output, story: RunStory, stack: Reached, now: datetime) -> None:
    run = story.run
    status = status_cell(run, now)
    output.line(f"{run.ref.id}  {status.text}", status.style)
    output.pairs([(name, text) for name, text in _facts(run) if text])
    output.line()
    output.table(
        ("attempt", "token", "started (UTC)", "ended (UTC)", "outcome"),
        list(map(_attempt_row, _attempts(story))),
    )
    for number, error in _errors(story):
        output.line(f"error of attempt {number}: {error}", BAD)
    if story.steps:
        output.line()
        output.table(
            ("step", "status", "recorded (UTC)", "took at most", "remark"), list(map(_step_row, story.steps))
        )
    if story.acts:
        output.line()
        output.table(("operator", "what", "when (UTC)", "why"), [_act_row(act) for act in story.acts])
    if run.log_stream:
        output.line()
        output.line(f"log: {log_place(stack, run.log_stream, run.request_id)}")


def _facts(run: RunRecord) -> Iterator[tuple[str, str]]:
    yield (
        "scheduled",
        " = ".join(dict.fromkeys([local_text(run.scheduled_local), shown(run.ref.scheduled_at)])),
    )
    yield "came from", run.trigger.value
    yield (
        "attempt",
        f"{run.attempt} of {run.max_attempts}" + (f", slice {run.slice}" if run.slice > 1 else ""),
    )
    yield "created", _utc(run.created_at)
    yield "started", _utc(run.started_at)
    yield "ended", _utc(run.ended_at)
    if run.started_at and run.ended_at:
        yield "took", shown_for(run.ended_at - run.started_at)
    if not run.status.is_final:
        yield "expected by", _utc(run.expect_by)
        yield "looked at again", _utc(run.due_at)
        yield "claimed until", _utc(run.claim_until)
        yield "asked to stop", "yes" if run.cancel_requested else ""
    yield "notice", run.notice.value if run.notice else ""


def _utc(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if at else ""


def _attempts(story: RunStory) -> list[AttemptRecord | RunRecord]:
    """All attempts, the current or last one as its run."""
    earlier: list[AttemptRecord | RunRecord] = [
        past for past in story.attempts if past.number < story.run.attempt
    ]
    return [*earlier, story.run] if story.run.attempt else earlier


def _attempt_row(attempt: AttemptRecord | RunRecord) -> Row:
    if isinstance(attempt, AttemptRecord):
        outcome = Cell(attempt.outcome, BAD)
        return (
            str(attempt.number),
            str(attempt.fencing_token),
            _utc(attempt.started_at),
            _utc(attempt.ended_at),
            outcome,
        )
    ended, outcome = attempt.attempt_ended_at or attempt.ended_at, Cell(_outcome(attempt))
    started = _utc(attempt.attempt_started_at)
    return (str(attempt.attempt), str(attempt.fencing_token), started, _utc(ended), outcome)


def _outcome(run: RunRecord) -> str:
    return run.attempt_outcome.value if run.attempt_outcome else run.status.lower()


def _errors(story: RunStory) -> Iterator[tuple[int, str]]:
    """The errors of all attempts, whole where that was kept."""
    kept = {past.number: past.error for past in story.attempts if past.error}
    if story.run.error and story.run.attempt not in kept:
        kept[story.run.attempt] = story.run.error
    yield from sorted(kept.items())


def _step_row(step: StepStory) -> Row:
    took = shown_for(step.at_most) if step.at_most is not None else "-"
    return (
        step.name,
        Cell(step.status.value, STEP_STYLES[step.status]),
        _utc(step.at),
        took,
        _step_remark(step),
    )


def _step_remark(step: StepStory) -> str:
    parts = []
    if step.items is not None:
        parts.append(f"{step.items} items done")
    if step.status is StepStatus.STARTED:
        parts.append("nobody knows what came of it: `cronce resolve` says it")
    if step.status is StepStatus.ASLEEP and step.until:
        parts.append(f"until {_utc(step.until)}")
    if step.by:
        parts.append(f"resolved by {step.by}" + (f": {step.why}" if step.why else ""))
    return "; ".join(parts)


def _act_row(act: Act) -> Row:
    return (act.by, act.what.value, _utc(act.at), act.why)


def _json(story: RunStory, stack: Reached) -> Json:
    run = story.run
    return {
        **json_form.run(run),
        "error": dict(_errors(story)).get(run.attempt),
        "attempts": [json_form.attempt(each) for each in story.attempts if each.number < run.attempt],
        "steps": [json_form.step(each) for each in story.steps],
        "acts": [json_form.act(each) for each in story.acts],
        "request_id": run.request_id,
        "log_stream": run.log_stream,
        "log": log_place(stack, run.log_stream, run.request_id) if run.log_stream else None,
    }
