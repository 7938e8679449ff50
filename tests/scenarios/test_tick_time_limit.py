"""The limit on author code.

Invariants:
- code that takes too long is interrupted, in the main thread;
- the alarm that was set before is as it was before, at its time;
- a shielded block is never interrupted; the interruption that came due meanwhile is raised right after it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from time import perf_counter
from types import FrameType

import pytest

from cronce.engine.time_limit import AGAIN, TimeLimitExceeded, shielded, time_limit


@pytest.fixture
def rung() -> Iterator[list[int]]:
    """Somebody else's alarm handler."""
    rung: list[int] = []

    def ring(number: int, frame: FrameType | None) -> None:
        rung.append(number)

    before = signal.signal(signal.SIGALRM, ring)
    yield rung
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def busy(seconds: float) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass


def test_an_alarm_that_was_set_before_goes_off_at_its_time(rung: list[int]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.15)
    with time_limit(5, "a short task"):
        busy(0.05)
    assert rung == []
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] < 0.11

    busy(0.15)

    assert rung == [signal.SIGALRM]


def test_an_alarm_that_came_due_meanwhile_goes_off_at_once(rung: list[int]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    with time_limit(5, "a task"):
        busy(0.05)

    busy(0.01)

    assert rung == [signal.SIGALRM]


def test_without_an_alarm_before_there_is_none_after(rung: list[int]) -> None:
    with (
        pytest.raises(TimeLimitExceeded, match="a task took longer"),
        time_limit(0.02, "a task"),
    ):
        busy(1)

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert rung == []


def test_a_limit_within_a_limit_ends_its_own_part_only(rung: list[int]) -> None:
    with time_limit(5, "all"):
        with pytest.raises(TimeLimitExceeded, match="a part"), time_limit(0.02, "a part"):
            busy(1)
        left = signal.getitimer(signal.ITIMER_REAL)[0]

    assert 4 < left < 5


def stubborn(swallowed: list[TimeLimitExceeded]) -> None:
    with time_limit(0.05, "a stubborn task"):
        try:
            busy(30)
        except TimeLimitExceeded as interruption:
            swallowed.append(interruption)
        busy(30)


def test_code_that_swallows_the_interruption_is_interrupted_again() -> None:
    swallowed: list[TimeLimitExceeded] = []
    with pytest.raises(TimeLimitExceeded, match="a stubborn task took longer"):
        stubborn(swallowed)
    assert len(swallowed) == 1


def shielded_twice(reached: list[str]) -> None:
    with time_limit(0.02, "a task"):
        with shielded():
            with shielded():
                busy(0.02 + 2 * AGAIN)
                reached.append("inner")
            reached.append("outer")
        reached.append("behind")


def test_a_shielded_block_is_not_interrupted_and_what_comes_after_it_is() -> None:
    reached: list[str] = []
    with pytest.raises(TimeLimitExceeded, match="a task"):
        shielded_twice(reached)
    assert reached == ["inner", "outer"]


def test_what_was_shielded_from_one_limit_is_not_raised_in_another() -> None:
    with pytest.raises(TimeLimitExceeded), time_limit(0.02, "a task"), shielded():
        busy(0.05)
    with time_limit(5, "another task"):
        with shielded():
            pass
        busy(2 * AGAIN)


def fails_late() -> None:
    with time_limit(0.02, "a task"), shielded():
        busy(0.05)
        raise ValueError("no eggs")


def test_a_shielded_block_that_fails_after_its_time_is_interrupted_with_its_failure_behind_it() -> None:
    with pytest.raises(TimeLimitExceeded) as raised:
        fails_late()
    assert isinstance(raised.value.__context__, ValueError)


def test_a_shield_in_another_thread_shields_nothing_here() -> None:
    opened, done = threading.Event(), threading.Event()

    def other() -> None:
        with shielded():
            opened.set()
            done.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert opened.wait(30)
        with pytest.raises(TimeLimitExceeded), time_limit(0.02, "a task"):
            busy(5)
    finally:
        done.set()
        thread.join()
