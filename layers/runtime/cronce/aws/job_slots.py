"""The slots on a job item, compared and set."""

from __future__ import annotations

from cronce.aws.attributes import Item
from cronce.aws.items_job import slots_item
from cronce.aws.keys import job_key
from cronce.aws.writes import Changes, Write, update
from cronce.core.changes import SlotsChange
from cronce.core.records import Slots

#   F reads the slots: {F}, nobody queued ... Q reads them too: {F}, full ... Q queues: queued = 1
#   F frees its slot on the condition that nobody is queued: refused, it reads again, and wakes Q
SLOTS_HELD = "#slots = :was_slots"
"""The same runs hold slots as were read."""
SLOTS_FREE = "attribute_not_exists(#slots)"
"""Nobody holds a slot, as was read: an empty set is not stored."""
SLOTS_COUNTS = "#queued = :was_queued AND #fencing_token = :was_fencing_token"
"""As many are queued, and the last token is the one, that was read."""


def slots_as_read(slots: Slots) -> tuple[str, Item]:
    """The condition that a job's slots are as they were read, and its values."""
    values = {f":was_{name}": value for name, value in slots_item(slots).items()}
    return f"{SLOTS_HELD if slots.held else SLOTS_FREE} AND {SLOTS_COUNTS}", values


def slots_write(table: str, job: str, change: SlotsChange) -> Write:
    """Set a job's slots on the condition that they are as read."""
    changes = Changes.between(slots_item(change.before), slots_item(change.after))
    condition, values = slots_as_read(change.before)
    return update(table, job_key(job), changes, condition, values)
