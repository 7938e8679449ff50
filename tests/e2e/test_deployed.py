"""A deployed stack runs jobs."""

from __future__ import annotations

import time

from tests.e2e.conftest import WallTimes
from tests.e2e.driver import Driver


def test_nothing_is_left_out_of_the_template_that_is_deployed(main: Driver) -> None:
    assert main.stack.left_out == ()


def test_the_rule_fires_and_a_run_executes_in_a_real_process(main: Driver, times: WallTimes) -> None:
    started = time.perf_counter()
    run = main.first_run("minutely", status="SUCCEEDED", seconds=90)
    times.note("deployed -> first run succeeded", started)
    effects = [each for each in main.effects("minutely") if each["run"] == f"minutely@{run['sk'][4:]}"]
    assert sorted(each["what"] for each in effects) == ["first", "second", "third"]
    assert len({each["process"] for each in effects}) == 1
