"""What operators did: what, when, who and why.

The newest act stands on the item that it changed (a run, a job, an alert), so that every read shows it. An
act that makes way for another one is kept beside the steps, in the very transaction that displaces it.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from cronce.core.errors import OperationRefusedError
from cronce.core.values import dataclass

WHO_LIMIT = 64
"""Bytes of who did it: a name, an address, the end of a role's ARN."""
WHY_LIMIT = 200
"""Bytes of why: a sentence and a ticket's number. It stands on the item, which every reader pays for."""


class What(StrEnum):
    """What an operator did."""

    TRIGGER = "trigger"
    """Asked for a run outside the schedule."""
    BACKFILL = "backfill"
    """Asked for the run of an occurrence that has none."""
    RETRY = "retry"
    """Brought a run back that had ended without success."""
    CANCEL = "cancel"
    """Ended a run, or asked its worker to."""
    RESOLVE = "resolve"
    """Said what came of a step whose outcome was unknown."""
    PAUSE = "pause"
    """Stopped the planning of a job."""
    RESUME = "resume"
    """Let it go on."""
    REWIND = "rewind"
    """Set a job back, to be planned again."""
    ACKNOWLEDGE = "acknowledge"
    """Closed an alert."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Act:
    """What an operator did, when, who it was and why."""

    what: What
    at: datetime
    by: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PastAct:
    """An act that another one has displaced.

    Attributes:
        of: the id of a run, or `JOB#<name>`.
        act: what was done.
    """

    of: str
    act: Act


def signed(what: What, by: str, why: str, at: datetime) -> Act:
    """An act, if its texts can be kept.

    Args:
        what: was done.
        by: who did it.
        why: may be empty.
        at: when; kept in whole milliseconds.

    Raises:
        OperationRefusedError: nobody did it, or one of the texts is too long or no single line.
    """
    if not by.strip():
        raise OperationRefusedError("say who does it: it is kept with what is done")
    for name, text, limit in (("who", by, WHO_LIMIT), ("why", why, WHY_LIMIT)):
        size = len(text.encode(errors="replace"))
        if size > limit:
            raise OperationRefusedError(f"{name} takes at most {limit} bytes, not {size}: say it shorter")
        if not text.isprintable():
            raise OperationRefusedError(f"{name} is one line of printable text, not {text[:WHO_LIMIT]!r}")
    return Act(what=what, at=at.replace(microsecond=at.microsecond // 1000 * 1000), by=by, why=why)


def displaced(of: str, before: Act | None, after: Act | None) -> PastAct | None:
    """What is kept of the former act when another takes its place.

    Args:
        of: the id of a run, or `JOB#<name>`.
        before: the act on the item as it was read.
        after: the one that stands on it from now on.
    """
    return PastAct(of=of, act=before) if before is not None and before != after else None
