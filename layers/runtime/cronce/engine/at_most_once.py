"""A step that is never repeated by itself.

Guaranteed: however a worker ends, the function of an at-most-once step is called again only if it is certain
    that it did nothing. Before the call the store holds, under the worker's claim, that the step was started.
    A later attempt that finds this, and no end, does not call it: its run ends FAILED(step_uncertain), and a
    person says what happened.

    write STARTED (LIVE) -> still trusted? -> call -> write DONE (LIVE)

Failure cases:

* the worker dies anywhere after the first write, or loses its claim: the step stays STARTED;
* the reply to the first write takes so long that the claim is no longer trusted: the function is not called,
  for another worker may already have found STARTED and asked a person;
* the function raises: its outcome is unknown, unless it raises `NotDone`;
* it returns what cannot be recorded: it was done, and its value is lost: a person has to give one;
* the worker stands still *within* the function for hours and goes on: nothing can stop it. So a person's
  `redo` is refused until the invocation that started the step is over (`core.resolution`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cronce.core.errors import NotDone, StopSignal
from cronce.core.steps import to_json

if TYPE_CHECKING:
    from cronce.engine.held_claim import HeldClaim
    from cronce.engine.step_log import StepLog


def at_most_once(log: StepLog, claim: HeldClaim, name: str, call: Callable[[], object]) -> str:
    """Do it, unless it is done. Returns the JSON of its value.

    Raises:
        NotDone: the function said that it did nothing.
        StepUncertainError: it was started, now or earlier, and nobody knows what came of it.
        StopSignal: this worker has to stop; the function was not called, or its claim was lost meanwhile.
    """
    finished = log.finished(name)
    if finished is not None:
        return finished.result
    claim.check()  # the look-up may have taken long
    log.start(name)
    try:
        claim.check()  # the write may have taken long
    except StopSignal:
        log.not_done(name)
        raise
    try:
        text = to_json(claim.record.ref.id, name, call())
    except NotDone:
        log.not_done(name)
        raise
    except BaseException as error:
        log.uncertain(name, error)
        raise
    log.record(name, text)
    return text
