"""Records as items: what is written is read back, and nothing is guessed.

Invariants:
- every field of every record is stored, by its own name; one that is added to a record is not forgotten here;
- an attribute that is missing, of another type or malformed is an error that names item and attribute;
- an item of a newer release is told apart from a broken one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta, timezone
from typing import Any

import pytest

from cronce.aws.attributes import Forms, Item
from cronce.aws.items_act import ACT_FORMS
from cronce.aws.items_alert import ALERT_FORMS, TIME_FORMS
from cronce.aws.items_job import (
    ENTRY_FORMS,
    PAUSE_FORMS,
    PLANNING_FORMS,
    REGISTRY_FORMS,
    SETTLED_FORMS,
    SLOT_FORMS,
    job_item,
    read_job,
)
from cronce.aws.items_run import GAP_FORMS, RUN_FORMS, read_gap, read_marker, read_run, run_item
from cronce.aws.items_step import ATTEMPT_FORMS, INPUT_FORMS, STEP_FORMS, read_step
from cronce.aws.named_lease_store import NAMED_LEASE_FORMS
from cronce.core.acts import Act
from cronce.core.alerts import Alert, TroubledTime
from cronce.core.errors import NewerItemError, RefusedError, UnreadableItemError
from cronce.core.jobstate import Gap, JobState, Pause, Registry, RegistryEntry, Settled
from cronce.core.named_lease import NamedLease
from cronce.core.records import AttemptRecord, RunRecord, Slots, StepRecord
from cronce.core.run import RunStatus
from cronce.core.run_input import RunInput
from tests.support.record_samples import JOB, NOW, RUN, SAMPLES

every_kind = pytest.mark.parametrize("kind", SAMPLES)
ATTRIBUTES = [(kind, name) for kind, sample in SAMPLES.items() for name in (*sample.forms, "shape")]
every_attribute = pytest.mark.parametrize("kind, name", ATTRIBUTES)
WRONG = {"S": {"N": "1"}, "N": {"N": "-1.5"}, "M": {"S": "x"}, "L": {"S": "x"}, "BOOL": {"S": "yes"}}
"""By type, a value that no form of that type takes."""


@every_kind
def test_a_record_with_everything_set_is_read_back(kind: str) -> None:
    sample = SAMPLES[kind]
    unset = [f.name for f in fields(sample.record) if getattr(sample.record, f.name) in (None, False, (), 0)]
    assert not unset, "the sample must set everything"

    assert sample.read(sample.item) == sample.record


@pytest.mark.parametrize(
    "record, forms, in_the_key",
    [
        (RunRecord, RUN_FORMS, {"ref"}),
        (Gap, GAP_FORMS, {"job", "first", "last", "reason"}),
        (JobState, PLANNING_FORMS, {"name", "slots"}),
        (Slots, SLOT_FORMS, {"held"}),
        (Pause, PAUSE_FORMS, set()),
        (Settled, SETTLED_FORMS, set()),
        (Act, ACT_FORMS, set()),
        (Registry, REGISTRY_FORMS, set()),
        (RegistryEntry, ENTRY_FORMS, set()),
        (Alert, ALERT_FORMS, {"scope"}),
        (TroubledTime, TIME_FORMS, set()),
        (StepRecord, STEP_FORMS, {"ref"}),
        (AttemptRecord, ATTEMPT_FORMS, {"ref"}),
        (RunInput, INPUT_FORMS, {"ref"}),
        (NamedLease, NAMED_LEASE_FORMS, {"name"}),
    ],
)
def test_every_field_of_a_record_has_a_form_or_is_in_the_key(
    record: Any, forms: Forms, in_the_key: set[str]
) -> None:
    assert {field.name for field in fields(record)} == {*forms, *in_the_key}


@every_kind
def test_attributes_that_a_later_release_adds_are_ignored(kind: str) -> None:
    sample = SAMPLES[kind]

    assert sample.read({**sample.item, "added_later": {"S": "x"}}) == sample.record


def test_a_run_with_nothing_optional_stores_nothing_for_it() -> None:
    born = RunRecord(
        ref=RUN.ref,
        status=RunStatus.PENDING,
        created_at=NOW,
        scheduled_local="x",
        timeout=timedelta(seconds=1),
        max_attempts=1,
    )

    item = run_item(born, 0)

    assert read_run(item) == born
    assert not {"owner", "reason", "touched", "notice", "forget_at", "due_at", "due_kind"} & set(item)


def test_an_empty_set_of_slots_is_not_stored() -> None:
    free = replace(JOB, slots=Slots(fencing_token=8))

    assert "slots" not in job_item(free)
    assert read_job(job_item(free)) == free


@every_attribute
def test_an_attribute_that_is_missing_is_named_unless_it_may_be(kind: str, name: str) -> None:
    sample = SAMPLES[kind]
    item = {key: value for key, value in sample.item.items() if key != name}
    if kind == "run" and name == "claim_until":
        item["status"] = {"S": "WAITING"}  # a RUNNING one needs it: see below

    if name == "shape" or sample.forms[name].required:
        with pytest.raises(UnreadableItemError, match=rf"{item['pk']['S']}.*`{name}` is missing"):
            sample.read(item)
    else:
        assert getattr(sample.read(item), name) == sample.forms[name].absent


@every_attribute
def test_an_attribute_that_is_malformed_is_named(kind: str, name: str) -> None:
    sample = SAMPLES[kind]
    item = {**sample.item, name: WRONG[next(iter(sample.item[name]))]}

    with pytest.raises(UnreadableItemError, match=rf"{item['sk']['S']}.*`{name}` is malformed"):
        sample.read(item)


@pytest.mark.parametrize(
    "kind, name, value",
    [
        ("run", "status", {"S": "DONE"}),
        ("run", "created_at", {"S": "2026-01-05 06:07:08"}),
        ("run", "created_at", {"S": "2026-02-30T06:07:08.901Z"}),
        ("run", "scheduled_local", {"S": ""}),
        ("run", "attempt", {"N": "1e3"}),
        ("run", "rev", {"S": "7"}),
        ("run", "touched", {"BOOL": "yes", "S": "no"}),
        ("run", "forget_at", {"N": "99999999999999999999"}),
        ("run", "timeout", {"N": "99999999999999999999"}),
        ("job", "planned_local", {"S": "2026-01-05T06:07:08+01:00"}),
        ("job", "paused", {"M": {"at": {"S": "2026-01-05T06:07:08.901Z"}, "by": {"S": "ann"}}}),
        ("job", "schedule", {"M": {"kind": {"N": "1"}}}),
        ("job", "slots", {"L": []}),
        ("job", "held", {"S": "upside_down"}),
        ("alert", "times", {"L": [{"M": {"trouble": {"S": "missed"}, "detail": {"S": ""}}}]}),
        ("alert", "times", {"L": [{"S": "06:00"}]}),
        ("registry", "jobs", {"M": {"daily-menu": {"M": {"module": {"S": "m"}}}}}),
        ("step", "keys", {"L": [{"N": "1"}]}),
        ("step", "chunk", {"N": "-1"}),
    ],
)
def test_a_value_that_a_hand_put_there_is_named_with_its_item(kind: str, name: str, value: Any) -> None:
    sample = SAMPLES[kind]

    with pytest.raises(UnreadableItemError, match=rf"{sample.item['pk']['S']} / .*`{name}` is malformed"):
        sample.read({**sample.item, name: value})


@every_kind
def test_an_item_of_a_newer_shape_says_so(kind: str) -> None:
    sample = SAMPLES[kind]

    with pytest.raises(NewerItemError, match=r"shape 2, written by a newer release"):
        sample.read({**sample.item, "shape": {"N": "2"}, "status": {"S": "INVENTED"}})


@pytest.mark.parametrize(
    "pk, sk",
    [
        ("JOB#daily-menu", "RUN#yesterday"),
        ("JOB#daily-menu", "GAP#2026-01-05T06:07:08Z"),
        ("JOB#Daily Menu", "RUN#2026-01-05T06:07:08Z"),
        ("LEASE#daily-menu", "RUN#2026-01-05T06:07:08Z"),
    ],
)
def test_a_run_under_a_key_that_names_no_run_is_unreadable(pk: str, sk: str) -> None:
    with pytest.raises(UnreadableItemError, match="`sk` is malformed"):
        read_run({**SAMPLES["run"].item, "pk": {"S": pk}, "sk": {"S": sk}})


@pytest.mark.parametrize(
    "read, name, key",
    [
        (read_gap, "sk", {"sk": {"S": "GAP#2026-01-05T06:07:08Z#2026-01-05T07:07:08Z#bored"}}),
        (read_gap, "sk", {"sk": {"S": "GAP#2026-01-05T06:07:08Z#soon#late"}}),
        (read_gap, "sk", {"sk": {"S": "GAP#2026-01-05T06:07:08Z#late"}}),
        (read_marker, "sk", {"sk": {"S": "QUEUE#soon"}}),
        (read_job, "pk", {"pk": {"S": "SCHEDULER"}}),
        (read_step, "pk", {"pk": {"S": "no run id"}}),
    ],
)
def test_any_other_item_under_a_key_that_names_nothing_is_unreadable(
    read: Callable[[Any], Any], name: str, key: Item
) -> None:
    kind = read.__name__.removeprefix("read_").replace("marker", "gap")

    with pytest.raises(UnreadableItemError, match=f"`{name}` is malformed"):
        read({**SAMPLES[kind].item, **key})


def test_a_running_record_without_the_end_of_its_claim_is_unreadable() -> None:
    item = {name: value for name, value in SAMPLES["run"].item.items() if name != "claim_until"}

    with pytest.raises(UnreadableItemError, match="`claim_until` is missing"):
        read_run(item)


def test_a_step_of_an_unknown_status_is_not_taken_for_a_finished_one() -> None:
    with pytest.raises(UnreadableItemError, match=r"`status` is malformed: .*RESTED"):
        read_step({**SAMPLES["step"].item, "status": {"S": "RESTED"}})


@pytest.mark.parametrize("status", ["STARTED", "ASLEEP"])
def test_a_step_that_says_nothing_without_its_instant_needs_it(status: str) -> None:
    item = {**SAMPLES["step"].item, "status": {"S": status}}
    assert read_step(item).status == status
    del item["until"]
    with pytest.raises(UnreadableItemError, match=f"`until` is missing, and the step is {status}"):
        read_step(item)


def test_an_operator_may_pause_without_a_word() -> None:
    paused = replace(JOB, paused=Pause(at=NOW, by="", why=""))

    assert read_job(job_item(paused)) == paused


def test_instants_are_stored_in_utc_whatever_zone_they_come_in() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))

    assert run_item(replace(RUN, created_at=there), 7) == SAMPLES["run"].item


@pytest.mark.parametrize(
    "broken, name",
    [
        (replace(RUN, timeout=timedelta(milliseconds=1500)), "timeout"),
        (replace(RUN, created_at=NOW.replace(tzinfo=None)), "created_at"),
        (replace(RUN, scheduled_local=None), "scheduled_local"),  # type: ignore[arg-type]
        (replace(RUN, scheduled_local=""), "scheduled_local"),
    ],
)
def test_a_record_that_would_not_be_read_back_is_not_stored(broken: RunRecord, name: str) -> None:
    with pytest.raises(RefusedError, match=f"RunRecord.{name} cannot be stored"):
        run_item(broken, 1)
