"""Histories that are played in several processes.

- All is added up, each share once.
- A process that fails or is killed ends the whole at once, with its exit status.
- None outlives the process that adds up.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count

import pytest

from tests.simulation.processes import side_by_side


def test_every_share_is_given_whole_and_once() -> None:
    shares = [lambda first=first: range(first, 1000, 3) for first in range(3)]
    assert sorted(side_by_side(shares)) == list(range(1000))


def test_a_process_that_is_killed_ends_the_whole_though_another_would_go_on_for_ever() -> None:
    def killed() -> Iterator[int]:
        yield 1
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(SystemExit, match="ended with -9"):
        _taken(side_by_side([count, killed]))


def test_a_process_that_fails_ends_the_whole() -> None:
    def fails() -> Iterator[int]:
        yield 1
        raise ValueError("this is meant")

    with pytest.raises(SystemExit, match="ended with 1"):
        _taken(side_by_side([fails, count]))


def test_no_process_outlives_the_one_that_adds_up() -> None:
    """Each of them holds the outlet of the first process: it is closed once the last of them is gone."""
    script = (
        "import os\n"
        "from itertools import count\n"
        "from tests.simulation.processes import side_by_side\n"
        "for each in side_by_side([count, count, count]):\n"
        "    if each == 1000:\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False, stdout=subprocess.PIPE, timeout=60)
    assert ended.returncode == -signal.SIGKILL


def _taken(given: Iterator[int]) -> None:
    for number, _ in enumerate(given):
        assert number < 10_000_000, "it goes on"
