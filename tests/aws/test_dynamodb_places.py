"""Where items stand, when they are forgotten, and what they weigh.

Invariants:
- no two records share a key;
- an item is in the `due` index if somebody must look at it, and only then;
- only what is final is ever forgotten, and a run that is there finds all of its steps;
- a run record that no person touched stays under one kilobyte, the unit that its writes are paid in.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronce.aws.attributes import Item
from cronce.aws.items_alert import alert_item
from cronce.aws.items_job import (
    job_item,
    registry_item,
)
from cronce.aws.items_run import gap_item, run_item
from cronce.aws.items_step import (
    step_item,
)
from cronce.aws.limits import item_bytes
from cronce.core.acts import WHO_LIMIT, WHY_LIMIT, Act, What
from cronce.core.alerts import SCHEDULER
from cronce.core.errors import RefusedError
from cronce.core.records import INLINE_LIMIT, RunRef
from cronce.core.run import Notice, Reason, RunStatus, Trigger
from tests.support.record_samples import ALERT, GAP, JOB, NOW, REGISTRY, RETENTION, RUN, SAMPLES, SECOND, STEP

KILOBYTE = 1024


def test_two_runs_cannot_share_a_key() -> None:
    with pytest.raises(RefusedError, match=r"daily-menu.*whole seconds"):
        run_item(replace(RUN, ref=RunRef("daily-menu", NOW)), 1)
    with pytest.raises(RefusedError, match=r"daily-menu.*whole seconds"):
        gap_item(replace(GAP, first=NOW))
    with pytest.raises(RefusedError, match=r"daily-menu.*whole seconds"):
        gap_item(replace(GAP, last=NOW))


@pytest.mark.parametrize(
    "item, kind",
    [
        (run_item(replace(RUN, status=RunStatus.PENDING), 1), "pending"),
        (run_item(RUN, 1), "running"),
        (run_item(replace(RUN, status=RunStatus.WAITING, reason=Reason.BACKOFF), 1), "waiting"),
        (run_item(replace(RUN, status=RunStatus.WAITING, reason=Reason.QUEUED), 1), "queued"),
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
        (SAMPLES["named lease"].item, None),
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
        ("JOB#daily-menu", "GAP#2026-01-05T06:07:08Z#2026-01-05T07:07:08Z#catch_up_limit"),
        ("JOB#daily-menu", "ALERT"),
        ("daily-menu@2026-01-05T06:07:08Z", "STEP#send#000000025"),
        ("daily-menu@2026-01-05T06:07:08Z", "ATTEMPT#2"),
        ("daily-menu@2026-01-05T06:07:08Z", "INPUT"),
        ("daily-menu@2026-01-05T06:07:08Z", "ACT#2026-01-05T06:07:08.901Z#cancel"),
        ("SCHEDULER", "REGISTRY"),
        ("SCHEDULER", "LEASE"),
        ("LEASE#warehouse-export", "LEASE"),
        ("JOB#daily-menu", "RUN#2026-01-05T06:07:08Z#a1"),
        ("SCHEDULER", "ALERT"),
        ("daily-menu@2026-01-05T06:07:08Z", "STEP#send"),
    ]


def test_steps_attempts_and_acts_outlive_the_longest_run_and_its_record() -> None:
    longest = timedelta(days=30) + RETENTION

    for kind in ("step", "attempt", "act", "input"):
        item = SAMPLES[kind].item
        forgotten = datetime.fromtimestamp(int(item["forget_at"]["N"]), UTC)
        assert forgotten >= SECOND + longest + timedelta(days=30)


def test_only_what_is_final_is_ever_forgotten() -> None:
    assert "forget_at" not in job_item(JOB)
    assert "forget_at" not in registry_item(REGISTRY)
    assert "forget_at" not in SAMPLES["named lease"].item
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
        slice_ends_at=None,
        expect_by=None,
        dispatch=None,
        notice=Notice.PENDING,
        cancel_requested=False,
        act=None,
        request_id=uuid,
        log_stream="2026/11/29/[128]" + 32 * "0",
        error=INLINE_LIMIT * "e",
        input=None,
        input_kept=False,
        rev=999,
    )

    assert item_bytes(run_item(failed, 999)) < KILOBYTE
    act = Act(what=What.ACKNOWLEDGE, at=NOW, by=WHO_LIMIT * "b", why=WHY_LIMIT * "w")
    manual = replace(failed, trigger=Trigger.MANUAL, input='"' + "i" * 198 + '"', act=act)
    assert item_bytes(run_item(manual, 999)) < 1.6 * KILOBYTE, "what a person did to it costs a second unit"
