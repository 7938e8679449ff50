"""What a manual run is given: JSON text, on its record if it is short, else in an item beside its steps.

An item of its own is put in the transaction in which the run is born, so no run without its input is ever
claimed. It is written once and never changed, and outlives its run as steps do. The run's record stays small,
and nobody who lists runs reads inputs.
"""

from __future__ import annotations

import json
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn

from cronce.core.json_text import NumberError, read_json
from cronce.core.values import dataclass

if TYPE_CHECKING:
    from cronce.core.records import RunRef

INPUT_LIMIT = 256 * 1024
"""Bytes of an input, as of a step's result: an item takes 400 KB."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunInput:
    """An input that is too long for its run's record.

    Attributes:
        ref: the run.
        text: JSON. Never in a log line, nor in what Python prints of this record.
        at: when it was given.
    """

    ref: RunRef
    text: str = field(repr=False)
    at: datetime


def given_input(text: str) -> str:
    """The input of a run that is to be born, if any reader of JSON can take it.

    Of what is kept already less is asked (`checked_input`): a record that was once written can be read.

    Raises:
        ValueError: it is too large, it is not JSON, or one of its numbers is Infinity to Python or takes more
            digits than Python reads. The message does not show it.
    """
    try:
        read_json(text)
    except NumberError as error:
        raise ValueError(f"the input of a run cannot be kept: {error}") from None
    except (ValueError, RecursionError):
        pass  # the check of what is kept says it
    return checked_input(text)


def checked_input(text: str, limit: int = INPUT_LIMIT) -> str:
    """The input of a run, if it is JSON of so many bytes.

    Raises:
        ValueError: it is too large, or it is not JSON. The message does not show it.
    """
    size = input_size(text)
    if size > limit:
        raise ValueError(
            f"the input of a run takes at most {limit} bytes of JSON here, not {size}: "
            "store it elsewhere and say where it is"
        )
    try:
        text.encode()
        json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        raise ValueError("the input of a run is JSON text, and this is not") from None
    return text


def input_size(text: str) -> int:
    """Bytes of an input, whatever it is."""
    return len(text.encode(errors="replace"))


def _no_json(constant: str) -> NoReturn:
    """Python reads NaN and Infinity, others do not."""
    raise ValueError(constant)
