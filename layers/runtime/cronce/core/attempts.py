"""What is kept of an attempt: an item of its own, and its error in so many bytes.

The run's record shows the last error, in `INLINE_LIMIT` bytes. A longer one, and one that makes way for
another text, goes to the attempt's item at once; any other attempt is kept by the claim of the next one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from cronce.core.records import ERROR_LIMIT, INLINE_LIMIT, AttemptRecord, RunRecord
from cronce.core.run import Reason, RunStatus

_CUT = "…"
# Ends a text that was cut, so that nobody takes it for the whole.


def clipped(text: str, limit: int) -> str:
    """The text in so many bytes, never cut within a character; if it was cut, it ends with `…`.

    Args:
        text: any.
        limit: bytes, at least those of the mark.
    """
    whole = text.encode(errors="replace")
    if len(whole) <= limit:
        return whole.decode()
    return whole[: limit - len(_CUT.encode())].decode(errors="ignore") + _CUT


def past_attempt(run: RunRecord) -> AttemptRecord | None:
    """What the claim of a new attempt keeps of the one before; None: nothing, or it was kept already."""
    if run.slice or not run.attempt or run.error_kept or run.attempt_ended_at is None:
        return None
    return _attempt(run, run.error, run.attempt_ended_at)


def displaced_attempt(before: RunRecord, after: RunRecord) -> AttemptRecord | None:
    """What is kept of the last attempt when its error made way on the record for another text."""
    displaced = after.error_kept and not before.error_kept and before.status is not RunStatus.RUNNING
    return past_attempt(before) if displaced else None


def long_error(run: RunRecord, text: str) -> AttemptRecord | None:
    """What is kept at once of an attempt that just failed with more text than its run's record takes."""
    if not run.error_kept or run.attempt_ended_at is None:
        return None
    return _attempt(run, clipped(text, ERROR_LIMIT), run.attempt_ended_at)


def _attempt(run: RunRecord, error: str | None, ended_at: datetime) -> AttemptRecord:
    return AttemptRecord(
        ref=run.ref,
        number=run.attempt,
        fencing_token=run.fencing_token,
        started_at=run.attempt_started_at,
        ended_at=ended_at,
        outcome=(run.attempt_outcome or Reason.ERROR).value,
        error=error,
        request_id=run.request_id,
        log_stream=run.log_stream,
    )


def with_error(run: RunRecord, text: str) -> RunRecord:
    """The start of the text on the record; `error_kept`: there is more, with the attempt's own item."""
    long = len(text.encode(errors="replace")) > INLINE_LIMIT
    return replace(run, error=clipped(text, INLINE_LIMIT), error_kept=long)


def noted(run: RunRecord, text: str) -> RunRecord:
    """A text that is no attempt's error; the last attempt's, if there is one, goes to an item of its own."""
    kept = run.error_kept or past_attempt(run) is not None
    return replace(run, error=clipped(text, INLINE_LIMIT), error_kept=kept)
