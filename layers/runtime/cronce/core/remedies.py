"""Where to look and what to do about an alert, as commands that name job, run and stack.

Only what helps with the newest trouble is named: a person at night copies one line and does not choose among
ten. An alert keeps what went wrong; what helps follows from what the run is by now, since it may have been
retried, or have succeeded, meanwhile. Every command is one of `cronce`, as it is typed; a test gives each of
them to a stack.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cronce.core.alerting import ref_of
from cronce.core.alerts import SCHEDULER, Alert, Trouble
from cronce.core.background import Background
from cronce.core.instants import to_key
from cronce.core.records import RunRecord, RunRef, StepStatus
from cronce.core.run import Reason, RunStatus

_SILENT = (
    "The scheduler's log has the last error (a job module that kills the process is one cause). Is its rule "
    "enabled, and is the account's Lambda concurrency used up?"
)
_NEVER_PLANNED = (
    "What was never planned needs nothing done by hand: once a tick plans it, it is started late or recorded "
    "as skipped, by the job's own policy. `held` in `cronce list`: its module does not import; deploy a fix."
)
_NOT_KNOWN = (
    "What became of it could not be read, or its record is gone. `cronce doctor` names items that cannot be "
    "read: mend those first."
)
_NEVER_STARTED = (
    "The dispatcher did not ask for an executor, or no executor answers: it crashes before it claims, or is "
    "throttled. Once one does, the run starts by itself."
)
_NO_MODULE = (
    "No executor finds its job: the module is not in the deployment, or does not import. Deploy it within a "
    "quarter of an hour, and the run starts by itself; later it is FAILED."
)
_WAITS = {
    Reason.QUEUED: "Other runs of this job hold its places: does one of them hang? It starts after them.",
    Reason.BACKOFF: "Its next attempt starts by itself: mend the cause before, unless it passes.",
    Reason.SLEEP: "It sleeps because its code asked for it, and goes on by itself.",
}
_GOES_ON = "It waits for an executor to go on with it. Once one answers, it does so by itself."
_HANGS = "Only if it hangs: it stops at its next step. The job's timeout ends it in any case."
_AGAIN = "It was brought back since then and has not ended: wait for it. Its success closes this alert."
_GOOD = "It has succeeded since then: nothing is to be done about it."
_CANCELLED = "It was cancelled since then: nothing is to be done about it."
_WANTED = "Only if the work is still wanted: these times do not run by themselves any more."
_OVERLAP = "Does a run of this job hang, or does it take longer than its interval?"
_UNCERTAIN = "Find out whether it was done: the first if it was (with its value as JSON), else the second."
_MEND = "Mend the cause first: it goes on at the step that failed. The next success closes this alert."
_FAILED = {
    Reason.STEP_UNCERTAIN: _UNCERTAIN,
    Reason.LOST: (
        "Its worker died without a word: out of memory is one cause; the executor's log has its last line. "
        "Mend that first: a retry goes on after the steps that are finished."
    ),
    Reason.TIMEOUT: (
        "Mend what took so long, or raise the job's timeout, first: a retry goes on after the steps that are "
        "finished, with the timeout that the job has then."
    ),
    Reason.NO_PROGRESS: (
        "A step takes longer than an invocation lasts: cut it into smaller ones first. A retry goes on after "
        "the steps that are finished."
    ),
    Reason.UNKNOWN_JOB: (
        "No executor found its job: deploy it first. `held` in `cronce list`: its module does not import."
    ),
    Reason.EXPIRED: (
        "It was not final thirty days after its creation and is not brought back. If its work is still "
        "wanted, `cronce trigger` starts a new run."
    ),
}
"""What to do first, by why a run failed; of any other reason `_MEND`."""


def remedies(alert: Alert, known: Background) -> list[str]:
    """The part of a notice that says where to look and what to do.

    Args:
        alert: an open one.
        known: what is known beside it.
    """
    stack = known.stack
    if alert.scope == SCHEDULER:
        return ["Look:", _command(stack, "doctor"), _command(stack, "list"), _SILENT]
    looks = [_command(stack, text) for text in _looks(alert, known)]
    acts = list(_acts(alert, known))
    lines = ["Look:", *looks, *(["Act:", *acts] if acts else [])]
    known_already = "Known already? This ends the reminders:"
    return [*lines, _hint(alert, known), known_already, _command(stack, f"ack {alert.scope}")]


def _command(stack: str, text: str, *last: str) -> str:
    """A command of a stack; what may begin with a dash comes last, where it is no option."""
    ends = ["--", *(shlex.quote(word) for word in last)] if last else []
    return " ".join(["  cronce", text, "--stack", stack, *ends])


def _looks(alert: Alert, known: Background) -> Iterator[str]:
    """Commands that only ask."""
    ref, run = ref_of(alert.newest, alert.scope), known.newest_run(alert)
    if run is None:
        yield f"did-run {ref.job} {to_key(ref.scheduled_at)}"
        if known.gap is None:
            yield "doctor"
        return
    yield f"show {_id(ref)}"
    if run.is_queued or (run.status is RunStatus.SKIPPED and run.reason is Reason.OVERLAP):
        yield f"runs {ref.job} --status running"
    elif run.reason is Reason.UNKNOWN_JOB or _waits_for_module(run):
        yield "list"
    elif run.status is RunStatus.PENDING:
        yield "doctor"


def _acts(alert: Alert, known: Background) -> Iterator[str]:
    """Commands that put it right, the likeliest first."""
    stack, ref, run = known.stack, ref_of(alert.newest, alert.scope), known.newest_run(alert)
    if run is None:
        if known.gap is not None:
            stretch = f"--from {to_key(known.gap.first)} --to {to_key(known.gap.last)} --gaps"
            yield _command(stack, f"backfill {ref.job} {stretch}")
    elif run.status is RunStatus.FAILED and run.reason is Reason.STEP_UNCERTAIN:
        doubtful = next((step.name for step in known.steps if step.status is StepStatus.STARTED), "STEP")
        yield _command(stack, f"resolve {_id(ref)} --done null", doubtful)
        yield _command(stack, f"resolve {_id(ref)} --redo", doubtful)
    elif run.status in {RunStatus.FAILED, RunStatus.SKIPPED} and run.reason is not Reason.EXPIRED:
        yield _command(stack, f"retry {_id(ref)}")
    elif run.status is RunStatus.RUNNING and alert.newest.trouble is Trouble.MISSED:
        yield _command(stack, f"cancel {_id(ref)}")


def _hint(alert: Alert, known: Background) -> str:
    """What to know before acting, or why there is nothing to do."""
    run = known.newest_run(alert)
    if run is None:
        if known.gap is not None:
            return _WANTED
        return _NEVER_PLANNED if known.never_planned(alert) else _NOT_KNOWN
    if run.status is RunStatus.FAILED:
        return _FAILED.get(run.reason, _MEND) if run.reason else _MEND
    if run.status is RunStatus.SKIPPED:
        return _OVERLAP if run.reason is Reason.OVERLAP else _WANTED
    if run.status.is_final:
        return _GOOD if run.status is RunStatus.SUCCEEDED else _CANCELLED
    return _hint_on_unfinished(run) if alert.newest.trouble is Trouble.MISSED else _AGAIN


def _hint_on_unfinished(run: RunRecord) -> str:
    if _waits_for_module(run):
        return _NO_MODULE
    if run.status is RunStatus.WAITING and run.reason in _WAITS:
        return _WAITS[run.reason]
    if run.status is RunStatus.PENDING:
        return _GOES_ON if run.attempt else _NEVER_STARTED
    return _HANGS


def _waits_for_module(run: RunRecord) -> bool:
    return run.status is RunStatus.WAITING and run.reason is Reason.BACKOFF and run.unknown_since is not None


def _id(ref: RunRef) -> str:
    return shlex.quote(ref.id)
