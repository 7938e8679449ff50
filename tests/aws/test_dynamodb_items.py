"""Records as items: what is written is read back, and nothing is guessed.

Invariants:
- every field of every record is stored, by its own name;
- an attribute that is missing, of another type or malformed is an error that names item and attribute;
- an item of a newer release is told apart from a broken one;
- an item is in the `due` index if somebody must look at it, and only then;
- a run record stays under one kilobyte, the unit that its writes are paid in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from cronce.aws.attributes import Item
from cronce.aws.errors import RefusedError
from cronce.aws.items_alert import alert_item
from cronce.aws.items_job import (
    job_item,
    read_job,
    registry_item,
)
from cronce.aws.items_run import gap_item, read_gap, read_marker, read_run, run_item
from cronce.aws.items_step import (
    read_step,
    step_item,
)
from cronce.aws.limits import item_bytes
from cronce.core.alerts import SCHEDULER
from cronce.core.errors import NewerItemError, UnreadableItemError
from cronce.core.records import INLINE_LIMIT, RunRecord, RunRef, Slots
from cronce.core.run import Notice, Reason, RunStatus, Trigger
from tests.support.record_samples import ALERT, GAP, JOB, NOW, REGISTRY, RETENTION, RUN, SAMPLES, SECOND, STEP

KILOBYTE = 1024
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
        (read_gap, "sk", {"sk": {"S": "GAP#2026-01-05T06:07:08Z#bored"}}),
        (read_gap, "sk", {"sk": {"S": "GAP#soon#late"}}),
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


def test_a_step_that_is_not_marked_as_finished_is_not_taken_for_one() -> None:
    with pytest.raises(UnreadableItemError, match=r"`status` is .*STARTED"):
        read_step({**SAMPLES["step"].item, "status": {"S": "STARTED"}})


def test_instants_are_stored_in_utc_whatever_zone_they_come_in() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))

    assert run_item(replace(RUN, created_at=there), 7) == SAMPLES["run"].item


@pytest.mark.parametrize(
    "broken, name",
    [
        (replace(RUN, timeout=timedelta(milliseconds=1500)), "timeout"),
        (replace(RUN, created_at=NOW.replace(tzinfo=None)), "created_at"),
        (replace(RUN, scheduled_local=None), "scheduled_local"),  # type: ignore[arg-type]
    ],
)
def test_a_record_that_would_not_be_read_back_is_not_stored(broken: RunRecord, name: str) -> None:
    with pytest.raises(RefusedError, match=f"RunRecord.{name} cannot be stored"):
        run_item(broken, 1)


def test_two_runs_cannot_share_a_key() -> None:
    with pytest.raises(RefusedError, match=r"daily-menu.*whole seconds"):
        run_item(replace(RUN, ref=RunRef("daily-menu", NOW)), 1)
    with pytest.raises(RefusedError, match=r"daily-menu.*whole seconds"):
        gap_item(replace(GAP, first=NOW))


@pytest.mark.parametrize(
    "item, kind",
    [
        (run_item(replace(RUN, status=RunStatus.PENDING), 1), "pending"),
        (run_item(RUN, 1), "running"),
        (run_item(replace(RUN, status=RunStatus.WAITING), 1), "waiting"),
        (run_item(replace(RUN, status=RunStatus.FAILED, notice=Notice.PENDING), 1), "notice"),
        (run_item(replace(RUN, status=RunStatus.FAILED, notice=Notice.TOLD), 1), None),
        (run_item(replace(RUN, status=RunStatus.SUCCEEDED, notice=None, due_at=None), 1), None),
        (run_item(replace(RUN, due_at=None), 1), None),
        (job_item(JOB), "job"),
        (job_item(replace(JOB, due_at=None)), None),
        (gap_item(GAP), "notice"),
        (gap_item(replace(GAP, notice=Notice.TOLD)), None),
        (gap_item(replace(GAP, notice=None)), None),
        (alert_item(ALERT, 1), "alert"),
        (alert_item(replace(ALERT, due_at=None), 1), None),
        (SAMPLES["lease"].item, None),
        (SAMPLES["registry"].item, None),
    ],
)
def test_an_item_stands_in_the_index_if_somebody_must_look_at_it(item: Item, kind: str | None) -> None:
    assert item.get("due_kind", {}).get("S") == kind
    assert kind is None or "due_at" in item


def test_items_stand_where_the_tables_say() -> None:
    manual = replace(RUN, ref=RunRef("daily-menu", SECOND, "a1"))
    scheduler = replace(ALERT, scope=SCHEDULER)

    places = [
        (item["pk"]["S"], item["sk"]["S"])
        for item in (
            *(sample.item for sample in SAMPLES.values()),
            run_item(manual, 1),
            alert_item(scheduler, 1),
            step_item(replace(STEP, chunk=None), RETENTION),
        )
    ]

    assert places == [
        ("JOB#daily-menu", "RUN#2026-01-05T06:07:08Z"),
        ("JOB#daily-menu", "JOB"),
        ("JOB#daily-menu", "GAP#2026-01-05T06:07:08Z#catch_up_limit"),
        ("JOB#daily-menu", "ALERT"),
        ("daily-menu@2026-01-05T06:07:08Z", "STEP#send#000000025"),
        ("daily-menu@2026-01-05T06:07:08Z", "ATTEMPT#2"),
        ("SCHEDULER", "REGISTRY"),
        ("SCHEDULER", "LEASE"),
        ("JOB#daily-menu", "RUN#2026-01-05T06:07:08Z#a1"),
        ("SCHEDULER", "ALERT"),
        ("daily-menu@2026-01-05T06:07:08Z", "STEP#send"),
    ]


def test_steps_and_attempts_outlive_the_longest_run_and_its_record() -> None:
    longest = timedelta(days=30) + RETENTION

    for item in (SAMPLES["step"].item, SAMPLES["attempt"].item):
        forgotten = datetime.fromtimestamp(int(item["forget_at"]["N"]), UTC)
        assert forgotten >= SECOND + longest + timedelta(days=30)


def test_only_what_is_final_is_ever_forgotten() -> None:
    assert "forget_at" not in job_item(JOB)
    assert "forget_at" not in registry_item(REGISTRY)
    assert "forget_at" not in alert_item(replace(ALERT, forget_at=None), 1)


def test_a_run_record_stays_under_a_kilobyte_with_every_text_at_its_limit() -> None:
    uuid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
    failed = replace(
        RUN,
        ref=RunRef("a-job-of-24-characters-x", SECOND),
        trigger=Trigger.SCHEDULE,
        status=RunStatus.FAILED,
        reason=Reason.STEP_UNCERTAIN,
        attempt_outcome=Reason.NO_PROGRESS,
        max_attempts=100,
        attempt=100,
        slice=99,
        owner=None,
        last_owner=uuid,
        fencing_token=1_767_593_228,
        claim_until=None,
        expect_by=None,
        dispatch=None,
        notice=Notice.PENDING,
        cancel_requested=False,
        request_id=uuid,
        log_stream="2026/11/29/[128]" + 32 * "0",
        error=INLINE_LIMIT * "e",
        input=None,
        input_kept=False,
        rev=999,
    )

    assert item_bytes(run_item(failed, 999)) < KILOBYTE
    assert (
        item_bytes(run_item(replace(failed, trigger=Trigger.MANUAL, input="i" * 200), 999)) < 1.25 * KILOBYTE
    )
