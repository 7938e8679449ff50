"""The lives without a fault, to which all others are compared, are the right ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from cronce.core.instants import to_key
from cronce.core.run import RunStatus
from cronce.core.schedule import Cron
from tests.contract import makers
from tests.crashes.lives import live, undisturbed
from tests.crashes.planning_scenarios import BACK
from tests.crashes.stack import Stack
from tests.crashes.test_every_place import SCENARIOS

NAMED = {scenario.name: scenario for scenario in SCENARIOS}
ENDS: Mapping[str, Mapping[str, str]] = {
    "zone-data": {"here 06:00": "SUCCEEDED", "there 06:00": "SUCCEEDED"},
    "no-stream": {"swept 06:00": "SUCCEEDED"},
    "late": {"late 06:00": "SKIPPED late"},
    "spoiled": {"fine 06:00": "SUCCEEDED"},
    "expired": {"old 00:00": "FAILED expired", "old 06:00": "PENDING"},
    "alert": {"alarming 06:00": "FAILED error", "alarming 06:30": "SUCCEEDED"},
    "claim": {"small 06:00": "SUCCEEDED"},
    "steps": {"steps 06:00": "SUCCEEDED"},
    "lease": {"exclusive 06:00": "SUCCEEDED"},
    "retry": {"retried 06:00": "SUCCEEDED"},
    "lost": {"dying 06:00": "SUCCEEDED"},
    "slices": {"sliced 06:00": "SUCCEEDED"},
    "once": {"paying 06:00": "SUCCEEDED"},
    "sleep": {"sleepy 06:00": "SUCCEEDED"},
    "timeout": {"endless 06:00": "FAILED timeout"},
    "cancel": {"cancelled 06:00": "CANCELLED operator"},
    "unknown": {"unknown 06:00": "FAILED unknown_job"},
    "queue": {f"queued 0{hour}:00": "SUCCEEDED" for hour in (6, 7, 8)},
    "no-slots": {f"free 0{hour}:00": "SUCCEEDED" for hour in (6, 7)},
    "behind": {"busy 05:00": "SUCCEEDED", "busy 06:00": "SUCCEEDED"},
    "brought-back": {"brought-back 06:00": "SUCCEEDED"},
    "cancel-first": {
        "queued 06:00": "CANCELLED operator",
        "queued 07:00": "SUCCEEDED",
        "queued 08:00": "SUCCEEDED",
    },
    "rewind": {"lost 05:00": "SUCCEEDED", "lost 06:00": "SUCCEEDED"},
    "backfill": {f"filled 0{hour}:00": "SUCCEEDED" for hour in (2, 3, 4)},
    "trigger": {"manual #asked": "SUCCEEDED"},
    "pause": {"paused 06:00": "SUCCEEDED", "paused 07:00": "SUCCEEDED"},
    "holder": {"busy 05:00": "SUCCEEDED", "busy 06:00": "SUCCEEDED"},
}
TOLD = {
    "late": [("opened", "late")],
    "spoiled": [],
    "expired": [("opened", "old")],
    "patrol": [
        ("closed", makers.JOB),
        ("opened", makers.JOB),
        ("opened", "fails"),
        ("opened", "gaps"),
        ("opened", "hangs"),
        ("opened", "unplanned"),
        ("reminder", "stands"),
    ],
    "alert": [("closed", "alarming"), ("opened", "alarming")],
    "timeout": [("opened", "endless")],
    "unknown": [("opened", "unknown")],
}
ATTEMPTS = {"retry": 2, "brought-back": 2, "lost": 2, "slices": 1, "once": 1, "sleep": 1, "timeout": 1}


def test_every_scenario_is_looked_at() -> None:
    assert {*NAMED} == {*ENDS, "outage", "patrol"}
    assert len(NAMED) == len(SCENARIOS)


@pytest.mark.parametrize("name", ENDS)
def test_every_run_ends_as_it_should(name: str) -> None:
    ends = {}
    for run_id, (status, reason, _) in undisturbed(NAMED[name]).story.runs.items():
        job, _, key = run_id.partition("@")
        ends[f"{job} {key[11:16] or key}"] = f"{status} {reason or ''}".rstrip()

    assert ends == ENDS[name]


@pytest.mark.parametrize("name", NAMED)
def test_people_are_told_what_they_must_know_and_nothing_else(name: str) -> None:
    assert list(undisturbed(NAMED[name]).story.told) == TOLD.get(name, [])


@pytest.mark.parametrize("name", ATTEMPTS)
def test_as_many_attempts_are_made_as_the_scenario_is_about(name: str) -> None:
    assert [*undisturbed(NAMED[name]).attempts.values()] == [ATTEMPTS[name]]


def test_after_an_outage_the_ledger_is_what_the_policies_say() -> None:
    stacks: list[Stack] = []
    life = live(NAMED["outage"], begin=stacks.append)
    (stack,) = stacks
    ran: dict[str, list[str]] = {}
    for run in stack.runs():
        if run.status is not RunStatus.SKIPPED:
            ran.setdefault(run.ref.job, []).append(to_key(run.ref.scheduled_at)[11:16])
    gaps = [f"{gap.job} {gap.first:%H:%M}-{gap.last:%H:%M}: {gap.count} {gap.reason}" for gap in stack.gaps()]

    assert list(life.problems) == []
    assert ran["latest"] == ["05:00", "09:00"]
    assert ran["all"] == ran["resumed"] == [f"0{hour}:00" for hour in range(5, 10)]
    assert ran["skip"] == ran["paused"] == ["05:00"]
    assert ran["queue"] == ["04:00", *ran["all"]]
    assert stack.job("queue").slots.queued == 4
    assert len(ran["long"]) == 24
    assert (ran["changed"], ran["one-off"]) == (["07:30"], ["08:00"])
    assert gaps == [
        "changed 05:30-06:30: 2 superseded",
        "excluded 05:30-09:00: 8 excluded",
        "latest 06:00-08:00: 3 superseded",
        "skip 06:00-09:00: 4 late",
    ]
    assert stack.job("changed").schedule == Cron("15 9 * * *").spec()
    assert stack.job("gone").removed_at is not None
    assert stack.job("paused").due_at is None
    assert stack.job("lost").slots.fencing_token == int(BACK.timestamp() * 1000)
    assert life.places.count("plans.commit") >= 2
    assert stack.clock.now() - BACK < timedelta(minutes=5)
