"""The states of a run.

* The diagram in docs/architecture.md is the table of `core/run.py`, no more and no less.
* Final states are left by operators only; no state is a dead end that is not final.
* A move the table does not know is refused before it is written.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cronce.core.run import FINAL, TRANSITIONS, Reason, RunStatus, transition_problem

ARCHITECTURE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"


def edges_of_table() -> set[str]:
    edges = set()
    for (origin, target), reasons in TRANSITIONS.items():
        if origin is target and target.is_final:
            continue  # only a mark on an entry that has ended: its notice was told
        names = ", ".join(sorted(reason.value for reason in reasons if reason is not None))
        edges.add(f"{origin.value if origin else '[*]'} --> {target.value}" + (f": {names}" if names else ""))
    return edges


def test_the_documented_diagram_is_the_table() -> None:
    diagram = re.search(r"```mermaid\nstateDiagram-v2\n(.*?)```", ARCHITECTURE.read_text(), re.DOTALL)
    assert diagram is not None
    drawn = {line.strip() for line in diagram[1].splitlines() if "-->" in line}
    assert {line for line in drawn if not line.endswith("[*]")} == edges_of_table()
    assert {line for line in drawn if line.endswith("[*]")} == {f"{status.value} --> [*]" for status in FINAL}


def test_every_file_the_architecture_page_names_is_there() -> None:
    root = ARCHITECTURE.parents[1]
    named = set(re.findall(r"`((?:layers|functions|tools|tests|docs)/[\w./-]+)`", ARCHITECTURE.read_text()))
    assert len(named) > 15
    assert [path for path in sorted(named) if not (root / path).exists()] == []


@pytest.mark.parametrize("status", [status for status in RunStatus if not status.is_final])
def test_a_state_that_is_not_final_can_be_left(status: RunStatus) -> None:
    assert any(origin is status and target is not status for origin, target in TRANSITIONS)


@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_final_state_leads_back_to_pending_only(status: RunStatus) -> None:
    left_for = {target for origin, target in TRANSITIONS if origin is status and target is not status}
    assert left_for <= {RunStatus.PENDING}


def test_success_is_final_for_operators_too() -> None:
    problem = transition_problem(RunStatus.SUCCEEDED, RunStatus.PENDING, None)
    assert problem == "no move from SUCCEEDED to PENDING"


def test_an_unknown_move_is_named() -> None:
    assert transition_problem(None, RunStatus.RUNNING, None) == "no move from birth to RUNNING"


def test_a_reason_that_the_state_does_not_carry_is_named() -> None:
    problem = transition_problem(RunStatus.PENDING, RunStatus.SKIPPED, Reason.ERROR)
    assert problem == "SKIPPED reached from PENDING does not carry the reason error"
