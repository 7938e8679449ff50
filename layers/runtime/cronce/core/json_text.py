"""JSON that a person writes, read so that nothing of it becomes something else.

Python reads NaN and Infinity, which are no JSON; a number beyond the range of its floats as Infinity; and no
integer of more than 4,300 digits. Whoever gave such a number learns it here, not when the value is used.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


class NumberError(ValueError):
    """A number that is JSON, and that Python does not read as it is meant. The message does not show it."""


def read_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        NumberError: a number in it is too large.
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_float=_finite, parse_int=_readable, parse_constant=_no_json)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NumberError("it holds a number beyond 1.8e308, which is Infinity to Python: give it as text")
    return number


def _readable(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        digits = len(text.lstrip("-"))
        raise NumberError(
            f"it holds a number of {digits} digits, more than Python reads: give it as text"
        ) from None


def _no_json(constant: str) -> NoReturn:
    """Python reads NaN and Infinity, others do not."""
    raise ValueError(f"{constant} is no JSON")
