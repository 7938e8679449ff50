"""Alert items.

Invariants:
- two watchdogs never overwrite each other: a write is conditional on what was read;
- an alert that was closed long ago does not stand in the way of the next one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.alerts import SCHEDULER, Alert, Trouble, TroubledTime
from tests.contract.backends import Backend
from tests.contract.makers import JOB, MINUTE, NOW

OPENED = Alert(
    scope=JOB,
    since=NOW,
    times=(
        TroubledTime(scheduled_at=NOW, trouble=Trouble.MISSED, detail="not started"),
        TroubledTime(
            scheduled_at=NOW + MINUTE,
            trouble=Trouble.FAILED,
            detail="ValueError: no soup",
            job="another",
            suffix="a1",
            ended_at=NOW + 5 * MINUTE,
        ),
    ),
    count=60,
    due_at=NOW + 60 * MINUTE,
)


def test_there_is_no_alert_before_the_first(backend: Backend) -> None:
    assert backend.alerts.get(JOB) is None
    assert backend.alerts.get(SCHEDULER) is None


@pytest.mark.parametrize("scope", [JOB, SCHEDULER])
def test_an_alert_is_read_back_with_every_field(backend: Backend, scope: str) -> None:
    full = replace(
        OPENED,
        scope=scope,
        closed_at=NOW + 5 * MINUTE,
        closed_because="recovered",
        notified_at=NOW + 2 * MINUTE,
        sending_until=NOW + 3 * MINUTE,
        reminders=4,
        forget_at=NOW + timedelta(days=400),
    )

    assert backend.alerts.put(None, full)
    assert backend.alerts.get(scope) == replace(full, rev=1)


def test_alerts_of_two_jobs_and_of_the_scheduler_stay_apart(backend: Backend) -> None:
    for scope in (JOB, "another", SCHEDULER):
        assert backend.alerts.put(None, replace(OPENED, scope=scope))

    backend.alerts.put(replace(OPENED, rev=1), replace(OPENED, reminders=1))

    assert [backend.alerts.get(scope).reminders for scope in (JOB, "another", SCHEDULER)] == [1, 0, 0]  # type: ignore[union-attr]


def test_i49_the_second_of_two_watchdogs_that_open_an_alert_is_refused(backend: Backend) -> None:
    assert backend.alerts.put(None, OPENED)

    assert not backend.alerts.put(None, replace(OPENED, since=NOW + MINUTE, count=1))
    assert backend.alerts.get(JOB) == replace(OPENED, rev=1)


def test_i49_the_second_of_two_watchdogs_that_begin_to_send_is_refused(backend: Backend) -> None:
    backend.alerts.put(None, OPENED)
    seen = replace(OPENED, rev=1)

    assert backend.alerts.put(seen, replace(seen, sending_until=NOW + MINUTE))
    assert not backend.alerts.put(seen, replace(seen, sending_until=NOW + 2 * MINUTE))
    assert backend.alerts.get(JOB) == replace(OPENED, sending_until=NOW + MINUTE, rev=2)


def test_each_write_adds_one_to_the_revision(backend: Backend) -> None:
    seen: Alert | None = None
    for reminders in range(5):
        assert backend.alerts.put(seen, replace(OPENED, reminders=reminders, sending_until=None))
        seen = backend.alerts.get(JOB)
        assert seen is not None
        assert (seen.rev, seen.reminders) == (reminders + 1, reminders)


def test_an_alert_that_is_gone_is_not_recreated_by_a_late_write(backend: Backend) -> None:
    assert not backend.alerts.put(replace(OPENED, rev=1), replace(OPENED, reminders=1))
    assert backend.alerts.get(JOB) is None


def test_an_expired_alert_does_not_stand_in_the_way_of_the_next(backend: Backend) -> None:
    closed = replace(OPENED, closed_at=NOW, closed_because="recovered", due_at=None, forget_at=NOW)
    assert backend.alerts.put(None, closed)

    again = replace(OPENED, since=NOW + MINUTE)

    assert backend.alerts.put(backend.alerts.get(JOB), again)
    found = backend.alerts.get(JOB)
    assert found is not None
    assert (found.since, found.is_open) == (NOW + MINUTE, True)
