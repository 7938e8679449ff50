"""The write of a step's item: a new one, or one in the place of the very item that was read."""

from __future__ import annotations

from cronce.aws.attributes import Item
from cronce.aws.items_step import STEP_FORMS
from cronce.aws.writes import ABSENT, Write, put
from cronce.core.records import StepRecord

IDENTITY = ("status", "owner", "fencing_token")
"""What tells an item from every other that stood or will stand in its place."""

#   A starts the step under token 7 ... A stands still; its claim is lost, an operator resolves the step
#   A wakes and writes "done": it is not the item any more that A has started
SAME = " AND ".join(f"#{name} = :was_{name}" for name in IDENTITY)
"""The item is the one that was read."""


def step_write(table: str, item: Item, before: StepRecord | None) -> Write:
    """Put an item, if there is none yet or if it still is `before`.

    Args:
        table: the table of steps.
        item: the whole item.
        before: what it takes the place of; None = nothing.
    """
    if before is None:
        return put(table, item, ABSENT)
    was = {f":was_{name}": STEP_FORMS[name].attribute(getattr(before, name)) for name in IDENTITY}
    return put(table, item, SAME, was)
