"""The benchmarks run, count what they should, and their pages quote what they count. Nothing is timed here.

Invariants:
- `each` with a checkpoint every 25 items takes at most a fortieth of the calls of Powertools per item;
- a step that is replayed takes no call of its own; a run that goes on repeats nothing that was recorded;
- a run of five steps takes at most 42 write units and $26 a million;
- the figures of docs/cost.md are those of the script.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.benchmarks import cost, prices, steps, write_units
from tests.benchmarks.steps import Row

ROOT = Path(__file__).resolve().parents[2]
COST = (ROOT / "docs/cost.md").read_text()
PERFORMANCE = (ROOT / "docs/performance.md").read_text()


def by_name(rows: list[Row]) -> dict[str, Row]:
    return {row.name: row for row in rows}


def test_a_step_is_one_call_and_its_replay_is_none() -> None:
    rows = by_name(steps.one_step(10))

    assert rows["step, first"].use.calls == 10
    assert rows["step, replayed"].use.calls == 1, "all steps of a run are read in one query"
    assert rows["step, first"].use.writes == 40
    assert rows["Powertools call, first"].use.calls == 20
    assert rows["Powertools call, replayed"].use.calls == 10


def test_items_in_chunks_take_a_fortieth_of_the_calls_of_powertools() -> None:
    rows = by_name(steps.items(50))

    assert rows["bare loop"].use.calls == 0
    assert rows["each, checkpoint_every=1"].use.calls == 50
    chunks, single = rows["each, checkpoint_every=25"].use, rows["Powertools per item"].use
    assert chunks.calls * 40 <= single.calls
    assert chunks.writes < single.writes


def test_a_run_that_goes_on_does_only_what_is_left() -> None:
    first, second = steps.resume(100, 60, 25)

    assert (first.count, second.count) == (60, 40)
    assert second.use.calls <= 3


def test_a_run_of_five_steps_keeps_to_its_budget() -> None:
    found = write_units.figures()

    assert found["five steps"] <= 42
    assert found["dollars"] <= 26
    assert found["without slots"] < found["claim and finish"]
    quoted = (
        f"{found['five steps']:.0f} write units, {found['reads']:.0f} read units, ${found['dollars']:.2f}"
    )
    assert quoted in PERFORMANCE


def figures(text: str) -> dict[str, list[float]]:
    """The figures of the table of a month, by line."""
    rows = re.findall(r"^\| ([^|]+?) \| ([\d.,]+) \| ([\d.,]+) \| ([\d.,]+) \|$", text, re.MULTILINE)
    return {name: [float(cell.replace(",", "")) for cell in cells] for name, *cells in rows}


def test_the_page_on_cost_quotes_what_the_script_counts() -> None:
    quoted, computed = figures(COST), figures(f"{cost.table()}\n{cost.table(cost.watching)}")

    assert quoted.keys() == computed.keys()
    for line, cells in computed.items():
        assert quoted[line] == pytest.approx(cells, rel=0.03, abs=0.02), f"run `make bench`: {line}"


def test_the_page_on_cost_names_the_prices_and_assumptions_of_the_script() -> None:
    for function, ms in cost.BILLED.items():
        assert f"{function} {ms} ms" in COST
    assert f"${prices.WRITE_UNIT * 1e6:.3f} and ${prices.READ_UNIT * 1e6:.3f} a million" in COST
    assert f"${prices.METRIC:.2f} a metric, ${prices.ALARM:.2f} an alarm, ${prices.LOG_GB:.2f} a GB" in COST
    assert f"${prices.DASHBOARD:.0f} a month" in COST
    by_job = f"${prices.METRIC:.2f} for its metric and ${prices.QUERY_ALARM_METRIC:.2f} for the alarm"
    assert by_job in COST
    assert f"{cost.metric_count()} metrics and {cost.alarm_count()} alarms" in COST
