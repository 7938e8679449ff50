"""The manual clock, and the outside worlds that remember.

Invariants:
- time passes only when it is told to, in whole milliseconds, and never backwards on the monotonic clock;
- what failed is kept apart from what was accepted.
"""

from __future__ import annotations

import doctest
import importlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest

from cronce.core.alerts import NoticeText
from cronce.core.errors import DispatchError, NotifyError
from cronce.core.records import RunRef
from cronce.testing import LoggedEvent, ManualClock, MemoryInvoker, MemoryNotifier, RecordingTelemetry

START = datetime(2026, 3, 8, 6, 59, 30, tzinfo=UTC)
RUN = RunRef("daily-menu", START)
NOTICE = NoticeText(
    id="1",
    subject="missed",
    body="daily-menu",
    scope="daily-menu",
    kind="opened",
    stack="shop",
    trouble="missed",
)


def test_a_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(START)

    assert [clock.now(), clock.now()] == [START, START]
    clock.advance(timedelta(seconds=90))
    assert (clock.now(), clock.monotonic()) == (START + timedelta(seconds=90), 90.0)


def test_the_present_is_in_utc_and_cut_to_whole_milliseconds() -> None:
    clock = ManualClock(START.astimezone(timezone(timedelta(hours=-5))))
    clock.advance(timedelta(microseconds=1999))

    assert clock.now() == START + timedelta(milliseconds=1)
    assert clock.now().tzinfo is UTC
    clock.advance(timedelta(microseconds=1))
    assert clock.now() == START + timedelta(milliseconds=2)


def test_a_pause_lets_time_pass_and_is_remembered() -> None:
    clock = ManualClock(START)
    clock.pause(0.25)

    assert (clock.now(), clock.monotonic()) == (START + timedelta(milliseconds=250), 0.25)
    assert clock.pauses == [0.25]


def test_setting_the_clock_forward_lets_time_pass_and_back_moves_the_wall_clock_alone() -> None:
    clock = ManualClock(START)
    clock.set(START + timedelta(hours=1))
    assert clock.monotonic() == 3600.0

    clock.set(START)
    assert (clock.now(), clock.monotonic()) == (START, 3600.0)


def test_a_jump_is_not_seen_by_the_monotonic_clock() -> None:
    clock = ManualClock(START)
    clock.jump(timedelta(hours=1))
    clock.jump(timedelta(hours=-2))

    assert (clock.now(), clock.monotonic()) == (START - timedelta(hours=1), 0.0)


def test_time_does_not_pass_backwards() -> None:
    with pytest.raises(ValueError, match="jump"):
        ManualClock(START).advance(timedelta(seconds=-1))
    with pytest.raises(ValueError, match="backwards"):
        ManualClock(START).pause(-1)


def test_a_naive_instant_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        ManualClock(START.replace(tzinfo=None))
    with pytest.raises(ValueError, match="aware"):
        ManualClock(START).set(START.replace(tzinfo=None))


def test_many_threads_may_move_one_clock() -> None:
    clock = ManualClock(START)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: clock.advance(timedelta(seconds=1)), range(400)))

    assert clock.monotonic() == 400.0


def test_an_invoker_remembers_what_it_accepted_and_what_it_refused() -> None:
    invoker = MemoryInvoker()
    invoker.failures = 1

    with pytest.raises(DispatchError, match=RUN.id):
        invoker.invoke(RUN)
    invoker.invoke(RUN)
    invoker.invoke(RUN)

    assert (invoker.refs, invoker.refused) == ([RUN, RUN], [RUN])
    assert invoker.drain() == [RUN, RUN]
    assert invoker.drain() == []


def test_an_invoker_that_is_down_refuses_until_it_is_up_again() -> None:
    invoker = MemoryInvoker()
    invoker.down = True
    for _ in range(3):
        with pytest.raises(DispatchError):
            invoker.invoke(RUN)

    invoker.down = False
    invoker.invoke(RUN)
    assert (len(invoker.refused), invoker.refs) == (3, [RUN])


def test_a_notifier_remembers_what_it_accepted_and_what_it_refused() -> None:
    notifier = MemoryNotifier()
    notifier.failures = 1

    with pytest.raises(NotifyError, match="notice 1"):
        notifier.publish(NOTICE)
    notifier.publish(NOTICE)
    notifier.down = True
    with pytest.raises(NotifyError):
        notifier.publish(NOTICE)

    assert (notifier.notices, notifier.refused) == ([NOTICE], [NOTICE, NOTICE])


def test_telemetry_remembers_lines_and_adds_up_metrics() -> None:
    telemetry = RecordingTelemetry()
    telemetry.event("tick", planned=3)
    telemetry.warn("job held", job="daily-menu")
    telemetry.count("TickCompleted")
    telemetry.count("TickCompleted", 2)
    telemetry.count("JobsMissed", 0)

    assert telemetry.events == [
        LoggedEvent(name="tick", fields={"planned": 3}),
        LoggedEvent(name="job held", fields={"job": "daily-menu"}, warning=True),
    ]
    assert [line.name for line in telemetry.warnings] == ["job held"]
    assert telemetry.named("tick") == [telemetry.events[0]]
    assert telemetry.metrics == {"TickCompleted": 3, "JobsMissed": 0}


@pytest.mark.parametrize("module", ["clock", "memory"])
def test_the_examples_in_the_documentation_run(module: str) -> None:
    loaded = importlib.import_module(f"cronce.testing.{module}")
    names = {"timedelta": timedelta, "ManualClock": ManualClock}

    outcome = doctest.testmod(loaded, extraglobs=names)

    assert outcome.attempted > 0
    assert outcome.failed == 0
