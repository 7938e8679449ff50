"""One record of each kind with everything set, as it is stored, and how it is read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cronce.aws.attributes import Form, Item
from cronce.aws.items_act import ACT_FORMS
from cronce.aws.items_alert import ALERT_FORMS, alert_item, read_alert
from cronce.aws.items_job import (
    LEASE_FORMS,
    PLANNING_FORMS,
    REGISTRY_FORMS,
    SLOT_FORMS,
    LeaseItem,
    job_item,
    read_job,
    read_lease,
    read_registry,
    registry_item,
)
from cronce.aws.items_run import GAP_FORMS, RUN_FORMS, gap_item, read_gap, read_run, run_item
from cronce.aws.items_step import (
    ATTEMPT_FORMS,
    INPUT_FORMS,
    STEP_FORMS,
    act_item,
    attempt_item,
    input_item,
    read_act,
    read_attempt,
    read_input,
    read_step,
    step_item,
)
from cronce.aws.named_lease_store import NAMED_LEASE_FORMS, named_lease_item, read_named_lease
from cronce.core.acts import Act, PastAct, What
from cronce.core.alerts import Alert, Trouble, TroubledTime
from cronce.core.jobstate import Gap, GapReason, Held, JobState, Pause, Registry, RegistryEntry, Settled
from cronce.core.named_lease import NamedLease
from cronce.core.records import AttemptRecord, RunRecord, RunRef, Slots, StepRecord, StepStatus
from cronce.core.run import Dispatch, Notice, Reason, RunStatus, Trigger
from cronce.core.run_input import RunInput

NOW = datetime(2026, 1, 5, 6, 7, 8, 901_000, tzinfo=UTC)
SECOND = NOW.replace(microsecond=0)
REF = RunRef("daily-menu", SECOND)
RETENTION = timedelta(days=400)
ACT = Act(what=What.CANCEL, at=NOW, by="ann", why="not today")
RUN = RunRecord(
    ref=REF,
    trigger=Trigger.BACKFILL,
    status=RunStatus.RUNNING,
    reason=Reason.OPERATOR,
    created_at=NOW,
    scheduled_local="2026-01-05T01:07:08-05:00",
    timeout=timedelta(minutes=15),
    max_attempts=3,
    attempt=2,
    slice=4,
    started_at=NOW,
    attempt_started_at=NOW,
    slice_started_at=NOW,
    slice_ends_at=NOW,
    attempt_ended_at=NOW,
    attempt_outcome=Reason.LOST,
    ended_at=NOW,
    executed=timedelta(milliseconds=12_345),
    owner="worker-a",
    last_owner="worker-b",
    fencing_token=9,
    claim_until=NOW,
    due_at=NOW,
    expect_by=NOW,
    dispatch=Dispatch.SWEEP,
    dispatches=5,
    notice=Notice.TOLD,
    touched=True,
    cancel_requested=True,
    act=ACT,
    unknown_since=NOW,
    request_id="request-1",
    log_stream="2026/01/05/[1]abc",
    error="ValueError: no soup",
    error_kept=True,
    input='{"day": "today"}',
    input_kept=True,
    forget_at=SECOND,
    rev=7,
)
JOB = JobState(
    name="daily-menu",
    module="jobs.daily_menu",
    schedule={"kind": "cron", "expression": "0 6 * * *", "tz": "America/New_York"},
    schedule_hash="hash",
    grace=timedelta(minutes=15),
    zone_data="2026f",
    planned_to=NOW,
    planned_local=NOW.replace(tzinfo=None),
    next_at=SECOND,
    expect_by=SECOND,
    due_at=SECOND,
    paused=Pause(at=NOW, by="ann", why="holidays"),
    resumed_at=NOW,
    held=Held.BEHIND,
    removed_at=NOW,
    began_at=SECOND,
    settled=(Settled(first=SECOND, last=NOW), Settled(first=NOW, last=NOW)),
    act=ACT,
    slots=Slots(held=frozenset({"daily-menu@2026-01-05T06:00:00Z", REF.id}), queued=3, fencing_token=8),
)
GAP = Gap(
    job="daily-menu",
    first=SECOND,
    last=SECOND + timedelta(hours=1),
    count=5,
    reason=GapReason.CATCH_UP_LIMIT,
    created_at=NOW,
    notice=Notice.PENDING,
    forget_at=SECOND,
)
ALERT = Alert(
    scope="daily-menu",
    since=NOW,
    times=(
        TroubledTime(
            scheduled_at=SECOND, trouble=Trouble.MISSED, detail="not started", job="daily-menu", suffix="a1"
        ),
        TroubledTime(scheduled_at=NOW, trouble=Trouble.FAILED, detail="", ended_at=NOW),
    ),
    count=2,
    closed_at=NOW,
    closed_because="acknowledged",
    act=ACT,
    notified_at=NOW,
    sending_until=NOW,
    reminders=4,
    due_at=NOW,
    forget_at=SECOND,
    rev=6,
)
STEP = StepRecord(
    ref=REF,
    name="send",
    chunk=25,
    status=StepStatus.DONE,
    result="[1, 2]",
    keys=("a", "", "ü"),
    until=NOW,
    owner="me",
    fencing_token=7,
    at=NOW,
    why="the bank says so",
)
ATTEMPT = AttemptRecord(
    ref=REF,
    number=2,
    fencing_token=7,
    started_at=NOW,
    ended_at=NOW,
    outcome="error",
    error="E" * 4096,
    request_id="request-1",
    log_stream="stream",
)
INPUT = RunInput(ref=REF, text='"' + 300 * "i" + '"', at=NOW)
REGISTRY = Registry(
    jobs={"daily-menu": RegistryEntry(module="m", schedule_hash="h", grace=timedelta(minutes=1))},
    zone_data="2026f",
    fingerprint="f",
)
NAMED_LEASE = NamedLease(
    name="warehouse-export",
    owner="worker-a/1",
    holder=REF.id,
    fencing_token=5,
    renewed_at=NOW,
    until=NOW + timedelta(minutes=10),
)
LEASE: Item = {
    "pk": {"S": "SCHEDULER"},
    "sk": {"S": "LEASE"},
    "shape": {"N": "1"},
    "owner": {"S": "scheduler-1"},
    "fencing_token": {"N": "12"},
    "lease_until": {"S": "2026-01-05T06:07:58.901Z"},
    "completed_at": {"S": "2026-01-05T06:06:08.901Z"},
    "fingerprint": {"S": "f"},
}


@dataclass(frozen=True)
class Sample:
    """A record with everything set, as it is stored, and how it is read."""

    record: Any
    item: Item
    read: Callable[[Mapping[str, Any]], Any]
    forms: Mapping[str, Form]


SAMPLES = {
    "run": Sample(RUN, run_item(RUN, 7), read_run, RUN_FORMS),
    "job": Sample(JOB, job_item(JOB), read_job, {**PLANNING_FORMS, **SLOT_FORMS}),
    "gap": Sample(GAP, gap_item(GAP), read_gap, GAP_FORMS),
    "alert": Sample(ALERT, alert_item(ALERT, 6), read_alert, ALERT_FORMS),
    "step": Sample(STEP, step_item(STEP, RETENTION), read_step, STEP_FORMS),
    "attempt": Sample(ATTEMPT, attempt_item(ATTEMPT, RETENTION), read_attempt, ATTEMPT_FORMS),
    "input": Sample(INPUT, input_item(INPUT, RETENTION), read_input, INPUT_FORMS),
    "act": Sample(ACT, act_item(PastAct(of=REF.id, act=ACT), RETENTION), read_act, ACT_FORMS),
    "registry": Sample(REGISTRY, registry_item(REGISTRY), read_registry, REGISTRY_FORMS),
    "lease": Sample(
        LeaseItem(
            owner="scheduler-1",
            fencing_token=12,
            lease_until=NOW + timedelta(seconds=50),
            completed_at=NOW - timedelta(minutes=1),
            fingerprint="f",
        ),
        LEASE,
        read_lease,
        LEASE_FORMS,
    ),
    "named lease": Sample(NAMED_LEASE, named_lease_item(NAMED_LEASE), read_named_lease, NAMED_LEASE_FORMS),
}
