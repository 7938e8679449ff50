"""What is logged, kept and told of a job's exception: bounded, and without the run's input.

A run's input may hold what must not be in a log. cronce writes it nowhere, but exceptions quote it: a failed
validation shows the value that it refused. So every text of the input is masked in them. Texts shorter than
`LEAST_MASKED` stay, or `1` and `yes` would be masked all over; and so does what a job logs itself: its author
chose it.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from typing import Any

from cronce.core.attempts import clipped

LEAST_MASKED = 6
"""Characters; less is no secret."""
MASK = "[input]"
TEXT_LIMIT = 16 * 1024
"""Bytes of an error's text in a log line; its record keeps a part of it."""
TRACE_LIMIT = 64 * 1024
"""Bytes of a traceback in a log line: CloudWatch takes 256 KB, and each costs."""


def error_text(error: BaseException, run_input: str | None = None) -> str:
    """`ValueError: what it says`; safe with exceptions that cannot say it.

    Args:
        error: of a job.
        run_input: the run's input, JSON text, whose values are masked.
    """
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - the author's own `__str__`
        said = "(it cannot be printed)"
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return clipped(masked(text, run_input), TEXT_LIMIT)


def error_trace(error: BaseException, run_input: str | None = None) -> str:
    """The traceback with everything that led to it; see `error_text`. If it is long, its end is kept."""
    text = masked("".join(traceback.format_exception(error)), run_input)
    whole = text.encode(errors="replace")
    return whole[-TRACE_LIMIT:].decode(errors="ignore")


def masked(text: str, run_input: str | None) -> str:
    """The text with every value of the input masked, however Python or JSON quotes it."""
    if run_input is None:
        return text
    for value in sorted(_forms(run_input), key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def _forms(run_input: str) -> set[str]:
    values = {run_input, *_texts(json.loads(run_input))}
    quoted = {form for value in values for form in (value, repr(value)[1:-1], json.dumps(value)[1:-1])}
    return {form for form in quoted if len(form) >= LEAST_MASKED}


def _texts(value: Any) -> Iterator[str]:
    """All texts and numbers of a JSON value, however deep it is."""
    left = [value]
    while left:
        match left.pop():
            case str(text):
                yield text
            case dict(parts):
                left += parts.values()
            case list(parts):
                left += parts
            case int(number) | float(number):
                yield str(number)
