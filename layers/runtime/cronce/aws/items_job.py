"""The scheduler's own items: job, registry and lease, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cronce.aws.attributes import (
    COUNT,
    FREE_TEXT,
    INSTANT,
    SECONDS,
    TEXT,
    TEXT_MAP,
    TEXT_SET,
    WALL_TIME,
    Form,
    Forms,
    Item,
    decode,
    encode,
    member,
    optional,
    read_attribute,
    read_map,
    unreadable,
)
from cronce.aws.items_act import ACT
from cronce.aws.items_run import due_place
from cronce.aws.keys import SHAPED, job_key, registry_key
from cronce.core.jobstate import Held, JobState, Pause, Registry, RegistryEntry, Settled
from cronce.core.records import Slots
from cronce.core.run import DueKind
from cronce.core.values import dataclass

PAUSE_FORMS: Forms = {"at": INSTANT, "by": FREE_TEXT, "why": FREE_TEXT}
ENTRY_FORMS: Forms = {"module": TEXT, "schedule_hash": TEXT, "grace": SECONDS}
PAUSE = Form(
    tag="M",
    write=lambda pause: encode(PAUSE_FORMS, pause),
    read=lambda values: Pause(**read_map(PAUSE_FORMS, values)),
)
SETTLED_FORMS: Forms = {"first": INSTANT, "last": INSTANT}
SETTLED = Form(
    tag="L",
    write=lambda stretches: [{"M": encode(SETTLED_FORMS, stretch)} for stretch in stretches],
    read=lambda values: tuple(Settled(**read_map(SETTLED_FORMS, value["M"])) for value in values),
    required=False,
    absent=(),
)
ENTRIES = Form(
    tag="M",
    write=lambda jobs: {name: {"M": encode(ENTRY_FORMS, entry)} for name, entry in jobs.items()},
    read=lambda jobs: {
        name: RegistryEntry(**read_map(ENTRY_FORMS, entry["M"])) for name, entry in jobs.items()
    },
)
PLANNING_FORMS: Forms = {
    "module": TEXT,
    "schedule": TEXT_MAP,
    "schedule_hash": TEXT,
    "grace": SECONDS,
    "zone_data": optional(TEXT),
    "planned_to": INSTANT,
    "planned_local": WALL_TIME,
    "next_at": optional(INSTANT),
    "expect_by": optional(INSTANT),
    "due_at": optional(INSTANT),
    "paused": optional(PAUSE),
    "resumed_at": optional(INSTANT),
    "held": optional(member(Held)),
    "removed_at": optional(INSTANT),
    "began_at": optional(INSTANT),
    "settled": SETTLED,
    "act": optional(ACT),
}
"""Every field of `JobState` but its name, which is the key, and its slots."""
SLOT_FORMS: Forms = {"queued": COUNT, "fencing_token": COUNT}
"""What runs share; their ids stand in the string set `slots`, which is absent while nobody holds one."""
REGISTRY_FORMS: Forms = {"jobs": ENTRIES, "zone_data": TEXT, "fingerprint": TEXT}
LEASE_FORMS: Forms = {
    "owner": optional(TEXT),
    "fencing_token": COUNT,
    "lease_until": INSTANT,
    "completed_at": optional(INSTANT),
    "fingerprint": optional(TEXT),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseItem:
    """The lease as stored: the lease and, beside it, the registry's fingerprint."""

    owner: str | None
    fencing_token: int
    lease_until: datetime
    completed_at: datetime | None
    fingerprint: str | None


def planning_item(job: JobState) -> Item:
    """The part of a job item that planning writes."""
    item = encode(PLANNING_FORMS, job)
    return {**item, **due_place(DueKind.JOB, item.get("due_at"))}


def slots_item(slots: Slots) -> Item:
    """The part of a job item that its runs share."""
    item = encode(SLOT_FORMS, slots)
    return {**item, "slots": TEXT_SET.attribute(slots.held)} if slots.held else item


def job_item(job: JobState) -> Item:
    """A whole job item."""
    return {**job_key(job.name), **SHAPED, **planning_item(job), **slots_item(job.slots)}


def read_job(item: Mapping[str, Any]) -> JobState:
    """A job.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    values = decode(PLANNING_FORMS, item)
    held = read_attribute(item, "slots", TEXT_SET)
    pk = read_attribute(item, "pk", TEXT)
    if not pk.startswith("JOB#"):
        raise unreadable(item, "pk", "is malformed: it does not begin with JOB#")
    return JobState(
        name=pk.removeprefix("JOB#"), slots=Slots(held=held, **decode(SLOT_FORMS, item)), **values
    )


def registry_item(registry: Registry) -> Item:
    """The registry as it is stored."""
    return {**registry_key(), **SHAPED, **encode(REGISTRY_FORMS, registry)}


def read_registry(item: Mapping[str, Any]) -> Registry:
    """The registry.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    return Registry(**decode(REGISTRY_FORMS, item))


def read_lease(item: Mapping[str, Any]) -> LeaseItem:
    """The lease.

    Raises:
        UnreadableItemError: an attribute is missing or malformed.
    """
    return LeaseItem(**decode(LEASE_FORMS, item))
