"""What would be run or skipped, without a write.

Invariant: it is what the next ticks then write, tick for tick, for every policy.
"""

from __future__ import annotations

from datetime import date

import pytest

from cronce.core.catch_up_preview import Forecast, preview
from cronce.core.jobstate import GapReason, Held
from cronce.core.run import Reason, RunStatus
from cronce.core.schedule import Cron
from tests.core.planned_job import MINUTE, Planned, at, declare, moment

HOURLY = Cron("0 * * * *")
SEEN = at("2026-01-05 05:30:04")
LATE = at("2026-01-05 10:20:00")


def said(menu: Planned, now: object = LATE) -> list[str]:
    found = preview(menu.declared, menu.state, moment(now))  # type: ignore[arg-type]
    return [_line(time) for time in found.times]


def _line(time: Forecast) -> str:
    return f"{time.first:%H:%M}-{time.last:%H:%M} {time.count} {time.reason or 'runs'}"


def written(menu: Planned) -> list[str]:
    """What the next ticks write."""
    lines: list[Forecast] = []
    while True:
        window = menu.tick(LATE)
        lines += [
            Forecast(
                first=run.ref.scheduled_at,
                last=run.ref.scheduled_at,
                count=1,
                reason=run.reason if run.status is RunStatus.SKIPPED else None,
            )
            for run in window.runs
        ]
        for gap in window.gaps:
            lines.append(Forecast(first=gap.first, last=gap.last, count=gap.count, reason=gap.reason))
        if menu.state.held is not Held.BEHIND:
            return [_line(time) for time in sorted(lines, key=lambda time: time.first)]


@pytest.mark.parametrize("minutes", [1, 15, 60])
@pytest.mark.parametrize("policy", ["latest", "all", "skip"])
@pytest.mark.parametrize("paused", [False, True])
def test_it_is_what_the_next_ticks_write(minutes: int, policy: str, paused: bool) -> None:
    schedule = {1: Cron("* * * * *"), 15: Cron("*/15 * * * *"), 60: HOURLY}[minutes]
    menu = Planned(declare(schedule, catch_up=policy, catch_up_cap=150), SEEN)
    menu.tick(SEEN)
    if paused:
        menu.pause(SEEN)
    before = menu.state

    lines = said(menu)

    assert menu.state == before
    if paused:
        menu.resume(LATE)
    assert lines == written(menu)
    assert lines != []


def test_each_policy_in_words() -> None:
    def of(policy: str, **more: object) -> list[str]:
        return said(Planned(declare(HOURLY, catch_up=policy, **more), SEEN))  # type: ignore[arg-type]

    assert of("latest") == ["06:00-09:00 4 superseded", "10:00-10:00 1 runs"]
    newest = ["09:00-09:00 1 runs", "10:00-10:00 1 runs"]
    assert of("all", catch_up_cap=2) == ["06:00-08:00 3 catch_up_limit", *newest]
    assert of("skip") == ["06:00-10:00 5 late"]
    assert of("latest", exclude=[date(2026, 1, 5)]) == ["06:00-10:00 5 excluded"]


def test_with_nothing_due_it_is_empty_and_a_single_skip_has_its_reason() -> None:
    menu = Planned(declare(HOURLY, catch_up="skip"), SEEN)
    assert said(menu, SEEN + MINUTE) == []
    (one,) = preview(menu.declared, menu.state, moment(at("2026-01-05 06:20:00"))).times
    assert (one.count, one.reason) == (1, Reason.LATE)


def test_more_than_it_looks_at_is_said() -> None:
    endless = declare(Cron("* * * * *"), catch_up="all", catch_up_cap=100_000, max_lateness="300d")
    menu = Planned(endless, SEEN)

    found = preview(menu.declared, menu.state, moment(at("2026-01-09 06:00:00")))

    assert found.more
    assert {time.reason for time in found.times} == {None}
    assert not preview(menu.declared, menu.state, moment(LATE)).more
    assert GapReason.CATCH_UP_LIMIT not in {time.reason for time in found.times}
