"""`cronce trigger`, `retry`, `cancel` and `resolve`: what operators do to a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cronce.core.records import RunRecord
from cronce.core.run import RunStatus
from cronce_tools.cli import json_form
from cronce_tools.cli.asking import agreed
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit, UsageError
from cronce_tools.cli.job_commands import note_unkept
from cronce_tools.cli.output import GOOD
from cronce_tools.cli.show import run_ref
from cronce_tools.cli.signature import caller
from cronce_tools.cli.stacks import Reached
from cronce_tools.cli.waiting import wait_for_end


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """What came of a step.

    Attributes:
        step: its name.
        done: JSON of its value; None: it was not done.
        redo: it is to be done again.
    """

    step: str
    done: str | None
    redo: bool


def trigger(call: Call, job: str, given: str | None, reason: str, *, wait: bool) -> int:
    """Run a job now.

    Args:
        call: of the command.
        job: its name.
        given: JSON, or `@file` that holds it.
        reason: why.
        wait: until the run ends.

    Returns:
        The exit code; waited for, 0 only if it succeeded.
    """
    text = _input(given)
    stack = call.reach()
    stack.job(job)
    run = stack.operator.operations.trigger(job, text, by=caller(stack, call.by), why=reason)
    return _started(call, stack, run, wait=wait)


def retry(call: Call, run_id: str, reason: str, *, wait: bool) -> int:
    """Let a run that ended without success go on.

    Returns:
        The exit code; waited for, 0 only if it succeeded.
    """
    stack = call.reach()
    ref = _existing(stack, run_id).ref
    run = stack.operator.operations.retry(ref, by=caller(stack, call.by), why=reason)
    return _started(call, stack, run, wait=wait)


def cancel(call: Call, run_id: str, reason: str, *, yes: bool) -> int:
    """End a run.

    Returns:
        The exit code; 0 also if it was cancelled already.
    """
    stack = call.reach()
    run = _existing(stack, run_id)
    ref = run.ref
    if not agreed(f"this ends {ref.id} in {stack.place}, which is {run.status.value}", yes=yes):
        return Exit.NO
    answer = stack.operator.operations.cancel(ref, by=caller(stack, call.by), why=reason)
    if answer.run.status is RunStatus.RUNNING:
        text = f"asked the worker of {ref.id} to stop at its next step; `cronce show '{ref.id}'` tells when"
    else:
        text = f"cancelled {ref.id}" if answer.changed else f"{ref.id} was cancelled already"
    note_unkept(call, reason, changed=answer.changed)
    _told(call, stack, answer.run, text, changed=answer.changed)
    return Exit.YES


def resolve(call: Call, run_id: str, settlement: Settlement, reason: str, *, yes: bool) -> int:
    """Say what came of a step that was begun at most once.

    Returns:
        The exit code.

    Raises:
        UsageError: neither or both were said.
    """
    if (settlement.done is None) is not settlement.redo:
        raise UsageError("say what came of it: --done with its value as JSON (null for none), or --redo")
    stack = call.reach()
    ref = _existing(stack, run_id).ref
    settles = "is taken as done" if settlement.done is not None else "is done again"
    question = f"step {settlement.step!r} of {ref.id} in {stack.place} {settles}, and the run goes on"
    if not agreed(question, yes=yes):
        return Exit.NO
    by = caller(stack, call.by)
    run = stack.operator.operations.resolve(ref, settlement.step, settlement.done, by=by, why=reason)
    _told(
        call, stack, run, f"step {settlement.step!r} {settles}; {ref.id} is {run.status.value}", changed=True
    )
    return Exit.YES


def _existing(stack: Reached, run_id: str) -> RunRecord:
    """The run.

    Raises:
        UsageError: there is none.
        JobNotFoundError: there is no such job.
    """
    ref = run_ref(run_id)
    run = stack.operator.inquiry.runs.get(ref)
    if run is None:
        stack.job(ref.job)
        raise UsageError(f"there is no run {ref.id}: `cronce runs {ref.job}` lists them")
    return run


def _input(given: str | None) -> str | None:
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"the input {given[1:]!r} cannot be read: {error}") from None


def _started(call: Call, stack: Reached, run: RunRecord, *, wait: bool) -> int:
    """Say that a run will start; if asked, wait for what comes of it."""
    if not wait:
        look = f"`cronce show '{run.ref.id}'` tells how it goes"
        text = f"{run.ref.id} in {stack.place} starts in a moment; {look}"
        _told(call, stack, run, text, changed=True)
        return Exit.YES
    call.output.note(f"{run.ref.id} in {stack.place}: Ctrl-C stops the waiting, not the run")
    ended = wait_for_end(stack, run)
    reason = f"({ended.reason.value})" if ended.reason else ""
    error = f": {' '.join(ended.error.split())}" if ended.error else ""
    text = f"{ended.ref.id} {ended.status.value}{reason}{error}"
    _told(call, stack, ended, text, changed=True)
    return Exit.YES if ended.status is RunStatus.SUCCEEDED else Exit.NO


def _told(call: Call, stack: Reached, run: RunRecord, text: str, *, changed: bool) -> None:
    if call.output.as_json:
        head = json_form.head(stack, stack.operator.clock.now())
        call.output.document({**head, "changed": changed, **json_form.run(run)})
    else:
        good = changed and run.status not in {RunStatus.FAILED, RunStatus.SKIPPED}
        call.output.line(text, GOOD if good else "")
