"""Where to look and what to do about an alert, as commands that name job, run and stack.

Only what helps with the newest trouble is named: a person at night copies one line and does not choose among
ten. Every command is one of `cronce`, as it is typed; a test gives each of them to a stack.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from cronce.core.alerting import ref_of
from cronce.core.alerts import SCHEDULER, Alert, Trouble
from cronce.core.instants import to_key
from cronce.core.jobstate import Gap
from cronce.core.records import RunRecord, RunRef, StepStatus
from cronce.core.run import Reason, RunStatus
from cronce.core.run_story import StepStory

_SILENT = (
    "The scheduler's log has the last error (a job module that kills the process is one cause). Is its rule "
    "enabled, and is the account's Lambda concurrency used up?"
)
_NEVER_PLANNED = (
    "What was never planned needs nothing done by hand: once a tick plans it, it is started late or recorded "
    "as skipped, by the job's own policy. `held` in `cronce list`: its module does not import; deploy a fix."
)
_NEVER_STARTED = (
    "The dispatcher did not ask for an executor, or no executor answers: it crashes before it claims, or is "
    "throttled. Once one does, the run starts by itself."
)


def remedies(
    alert: Alert,
    stack: str,
    runs: Mapping[RunRef, RunRecord],
    steps: Sequence[StepStory],
    gap: Gap | None,
) -> list[str]:
    """The part of a notice that says where to look and what to do.

    Args:
        alert: an open one.
        stack: its stack's name.
        runs: of the times that it lists.
        steps: of the run of its newest time.
        gap: the stretch of skipped times that begins with its newest time.
    """
    if alert.scope == SCHEDULER:
        return ["Look:", *_commands(stack, "doctor", "list"), _SILENT]
    ref = ref_of(alert.newest, alert.scope)
    run = runs.get(ref)
    lines = ["Look:", *_commands(stack, *_looks(alert, ref, run))]
    acts = list(_acts(ref, run, steps, gap))
    if acts:
        lines += ["Act:", *_commands(stack, *acts)]
    lines += list(_hints(alert, run))
    return [*lines, "Known already? This ends the reminders:", *_commands(stack, f"ack {alert.scope}")]


def _commands(stack: str, *commands: str) -> list[str]:
    return [f"  cronce {command} --stack {stack}" for command in commands]


def _looks(alert: Alert, ref: RunRef, run: RunRecord | None) -> Iterator[str]:
    """Commands that only ask."""
    if run is not None:
        yield f"show {_id(ref)}"
    else:
        yield f"did-run {ref.job} {to_key(ref.scheduled_at)}"
    if alert.newest.trouble is Trouble.OVERLAP:
        yield f"runs {ref.job} --status running"
    elif _never_started(alert, run):
        yield "doctor"


def _acts(ref: RunRef, run: RunRecord | None, steps: Sequence[StepStory], gap: Gap | None) -> Iterator[str]:
    """Commands that put it right, the likeliest first."""
    if run is None:
        if gap is not None:
            stretch = f"--from {to_key(gap.first)} --to {to_key(gap.last)} --gaps"
            yield f"backfill {ref.job} {stretch}"
    elif run.status is RunStatus.FAILED and run.reason is Reason.STEP_UNCERTAIN:
        doubtful = next((step.name for step in steps if step.status is StepStatus.STARTED), "STEP")
        yield f"resolve {_id(ref)} {shlex.quote(doubtful)} --done null"
        yield f"resolve {_id(ref)} {shlex.quote(doubtful)} --redo"
    elif run.status in {RunStatus.FAILED, RunStatus.SKIPPED}:
        yield f"retry {_id(ref)}"
    elif run.status is RunStatus.RUNNING:
        yield f"cancel {_id(ref)}"


def _hints(alert: Alert, run: RunRecord | None) -> Iterator[str]:
    trouble = alert.newest.trouble
    if trouble is Trouble.MISSED and _never_started(alert, run):
        yield _NEVER_PLANNED if run is None else _NEVER_STARTED
    elif trouble is Trouble.MISSED and run is not None and run.status is RunStatus.RUNNING:
        yield "Only if it hangs: it stops at its next step. The job's timeout ends it in any case."
    elif run is not None and run.reason is Reason.STEP_UNCERTAIN:
        yield "Find out whether it was done: the first if it was (with its value as JSON), else the second."
    elif trouble is Trouble.FAILED:
        yield "Mend the cause first: it goes on at the step that failed. The next success closes this alert."
    elif trouble is Trouble.OVERLAP:
        yield "Does a run of this job hang, or does it take longer than its interval?"
    elif trouble in {Trouble.LATE, Trouble.CATCH_UP_LIMIT}:
        yield "Only if the work is still wanted: these times do not run by themselves any more."


def _never_started(alert: Alert, run: RunRecord | None) -> bool:
    """Whether the newest time waits for the stack, not for its job."""
    waits = alert.newest.trouble is Trouble.MISSED
    return waits and (run is None or (run.attempt == 0 and run.status is RunStatus.PENDING))


def _id(ref: RunRef) -> str:
    return shlex.quote(ref.id)
