"""`cronce pause`, `resume` and `ack`: what operators do to a job."""

from __future__ import annotations

from cronce.engine.inquiry import in_force
from cronce.engine.operations import JobAnswer
from cronce_tools.cli import json_form
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit
from cronce_tools.cli.output import GOOD
from cronce_tools.cli.signature import caller
from cronce_tools.cli.stacks import Reached
from cronce_tools.cli.times import shown


def pause(call: Call, name: str, reason: str) -> int:
    """Stop planning a job.

    Returns:
        The exit code; 0 also if it was paused already.
    """
    stack = _with_job(call, name)
    answer = stack.operator.operations.pause(name, by=caller(stack, call.by), why=reason)
    held = answer.state.paused
    by = f"by {held.by} since {shown(held.at)}{f': {held.why}' if held.why else ''}" if held else ""
    if answer.changed:
        text = (
            f"paused {name} in {stack.place}: nothing is planned until it is resumed; runs that exist go on"
        )
    else:
        text = f"{name} in {stack.place} was paused already {by}".rstrip()
    _told(call, stack, answer, reason, text)
    return Exit.YES


def resume(call: Call, name: str, reason: str) -> int:
    """Let a paused job go on.

    Returns:
        The exit code; 0 also if it was not paused.
    """
    stack = _with_job(call, name)
    answer = stack.operator.operations.resume(name, by=caller(stack, call.by), why=reason)
    if answer.changed:
        text = f"resumed {name} in {stack.place}: the next tick judges what came due meanwhile"
    else:
        text = f"{name} in {stack.place} was not paused"
    _told(call, stack, answer, reason, text)
    return Exit.YES


def acknowledge(call: Call, name: str, reason: str) -> int:
    """Close the alert of a job.

    Returns:
        The exit code; 0 also if there was none.

    Raises:
        JobNotFoundError: there is neither an alert nor a job of that name.
    """
    stack = call.reach()
    changed = stack.operator.operations.acknowledge(name, by=caller(stack, call.by), why=reason)
    if not changed:
        stack.job(name)
    done = f"closed the alert of {name} in {stack.place}: what it lists is not told again"
    text = done if changed else f"nothing is open about {name} in {stack.place}"
    if call.output.as_json:
        head = json_form.head(stack, stack.operator.clock.now())
        call.output.document({**head, "job": name, "changed": changed})
    else:
        call.output.line(text, GOOD if changed else "")
    note_unkept(call, reason, changed=changed)
    return Exit.YES


def _with_job(call: Call, name: str) -> Reached:
    """The stack, which has the job."""
    stack = call.reach()
    stack.job(name)
    return stack


def note_unkept(call: Call, reason: str, *, changed: bool) -> None:
    """Say that a reason is not kept: it stands beside what was done, and nothing was."""
    if reason and not changed:
        call.output.note("nothing has changed, so the reason that was given is not kept")


def _told(call: Call, stack: Reached, answer: JobAnswer, reason: str, text: str) -> None:
    state, changed = answer.state, answer.changed
    note_unkept(call, reason, changed=changed)
    if not call.output.as_json:
        call.output.line(text, GOOD if changed else "")
        return
    schedule = in_force(state)
    words, zone = (schedule.describe(), schedule.tz) if schedule else ("", "UTC")
    head = json_form.head(stack, stack.operator.clock.now())
    call.output.document({**head, "job": state.name, "changed": changed, **json_form.job(state, words, zone)})
