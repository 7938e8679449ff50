"""Names, keys and results of steps: what may be stored, and the clear error for what may not.

A step's result is kept as JSON and given back as JSON, the first time too, so that a job cannot come to
depend on something that a retry would not see (a tuple, a key that was a number, one object in two places).
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cronce.core.errors import StepError, StepResultNotSerializableError, StepResultTooLargeError

if TYPE_CHECKING:
    from cronce.core.records import StepRecord

RESULT_LIMIT = 256 * 1024
"""Bytes of one result: an item takes 400 KB, keys and names included."""
NAME_LIMIT = 200
"""Characters of a step's name or an item's key: services bound the idempotency keys made of them."""
SHOWN = 40
"""Characters of a wrong text that its message shows."""
CONCURRENCY_LIMIT = 100
"""Items of an `each` at once: threads of one process, which share one processor or a few."""
WITHOUT_VALUES = "null"
"""The result of a chunk whose values are not kept."""
NO_VALUE = object()
"""In the place of the value of an item that was done without keeping it."""
FORBIDDEN = "#/"
"""Separators of sort keys and of idempotency keys."""


def shown(value: object) -> str:
    """What a message says of a wrong value: short texts and numbers, of anything else only the type.

    A step given the result of a call instead of the function, or an item as its own key, would put data into
    logs and notices.
    """
    if isinstance(value, str):
        return repr(value) if len(value) <= SHOWN else f"{value[:SHOWN]!r}..."
    if value is None or isinstance(value, int | float):
        return repr(value)
    return f"a {type(value).__name__}"


def check_name(run_id: str, name: object) -> None:
    """Check a step's name.

    Raises:
        StepError: it is no text, empty, too long, or holds a separator or a control character.
    """
    if not _is_printable(name) or any(char in str(name) for char in FORBIDDEN):
        raise StepError(
            f"run {run_id}: a step's name is 1 to {NAME_LIMIT} printable characters without '#' and '/', "
            f"not {shown(name)}"
        )


def check_every(run_id: str, step: str, every: object) -> None:
    """Check the number of items between two checkpoints.

    Raises:
        StepError: it is no whole number of 1 or more.
    """
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise StepError(
            f"run {run_id}: step {step!r}: checkpoint_every takes a whole number of 1 or more, "
            f"not {shown(every)}"
        )


def check_concurrency(run_id: str, step: str, concurrency: object) -> None:
    """Check how many items are done at once.

    Raises:
        StepError: it is no whole number from 1 to `CONCURRENCY_LIMIT`.
    """
    whole = isinstance(concurrency, int) and not isinstance(concurrency, bool)
    if not whole or not 1 <= int(str(concurrency)) <= CONCURRENCY_LIMIT:
        raise StepError(
            f"run {run_id}: step {step!r}: concurrency takes a whole number from 1 to {CONCURRENCY_LIMIT}, "
            f"not {concurrency!r}"
        )


def check_items(run_id: str, step: str, items: object, key: object) -> None:
    """Check what an `each` goes through.

    Raises:
        StepError: the items are not several, or the key is no function of an item.
    """
    try:
        iter(items)  # type: ignore[call-overload]  # sequences of the old kind too: the call itself decides
    except TypeError:
        raise StepError(
            f"run {run_id}: step {step!r}: items takes a list or another iterable, not {type(items).__name__}"
        ) from None
    if key is not None and not callable(key):
        raise StepError(
            f"run {run_id}: step {step!r}: key takes a function of an item, such as "
            f'`lambda item: item["id"]`, not {shown(key)}'
        )


def _is_printable(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= NAME_LIMIT and text.isprintable()


def item_key(run_id: str, step: str, key: object) -> str:
    """Check an item's key within an `each`; whole numbers are taken as their digits.

    Raises:
        StepError: it is neither text nor a whole number, empty, too long, or holds a control character.
    """
    text = str(key) if isinstance(key, int) and not isinstance(key, bool) else key
    if not _is_printable(text):
        raise StepError(
            f"run {run_id}: step {step!r}: an item's key is 1 to {NAME_LIMIT} printable characters, "
            f"not {shown(key)}"
        )
    return str(text)


def refuse_coroutine(run_id: str, step: str, value: object) -> None:
    """Refuse what an `async def` returns.

    Raises:
        StepError: it is a coroutine: nothing was done.
    """
    if inspect.iscoroutine(value):
        value.close()  # or Python warns that nobody awaited it, somewhere else
        raise StepError(
            f"run {run_id}: step {step!r} takes an ordinary function, not an `async def`: nobody awaits it"
        )


def to_json(run_id: str, step: str, value: object) -> str:
    """A result as it is stored.

    Raises:
        StepError: it is a coroutine: nothing was done.
        StepResultNotSerializableError: JSON cannot carry it.
        StepResultTooLargeError: it takes more than `RESULT_LIMIT`.
    """
    refuse_coroutine(run_id, step, value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise StepResultNotSerializableError(
            f"run {run_id}: step {step!r} returned {type(value).__name__}: return text, numbers, true, "
            f"false, None, and lists and dicts of these; JSON cannot hold it ({error})"
        ) from error
    if size > RESULT_LIMIT:
        raise StepResultTooLargeError(
            f"run {run_id}: step {step!r} returned {size} bytes of JSON: store it elsewhere and return where "
            f"it is; {RESULT_LIMIT} bytes are kept"
        )
    return text


def values_of(chunk: StepRecord) -> Iterable[tuple[str, Any]]:
    """The item keys of a chunk, each with its value, or with `NO_VALUE`."""
    if chunk.result == WITHOUT_VALUES:
        return ((key, NO_VALUE) for key in chunk.keys)
    return zip(chunk.keys, json.loads(chunk.result), strict=True)


def uncertain_text(step: str, cause: str | None) -> str:
    """What is kept as the error of a run whose at-most-once step has an unknown outcome.

    Args:
        step: its name.
        cause: what its function raised; None: its worker was lost.
    """
    came = f"it raised {cause}" if cause else "its worker was lost"
    return f"step {step!r} was started and nobody knows whether it was done: {came}. Find out, and resolve it"


def idempotency_key(prefix: str, run_id: str, step: str, key: str | None = None) -> str:
    """`<prefix>/<run id>/<step>[/<key>]`: the same for every attempt, so a repeated call is recognised."""
    return f"{prefix}/{run_id}/{step}" + ("" if key is None else f"/{key}")
