"""The page on alarms has a section for every alarm, and none for one that is gone.

Invariants:
- each section says what the alarm means, three things to check first, and how to silence it;
- queries, log lines and commands that the page names are there, and people may give those of AWS;
- whatever makes an executor leave a run to the sweep is named as a cause of StreamLag;
- the table of faults has its place, and rows.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.template.stack import ROOT, Stack
from tests.template.test_operators import READ, WRITE, of_policy

PAGE = (ROOT / "docs/alarms.md").read_text()
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_every_alarm_has_its_section_and_every_section_its_alarm(stack: Stack) -> None:
    assert set(SECTIONS) == {name.removesuffix("Alarm") for name in stack.of_type("AWS::CloudWatch::Alarm")}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_says_what_to_check_and_how_to_silence_it(name: str) -> None:
    meaning, _, rest = SECTIONS[name].partition("\n1. ")
    assert len(meaning.split()) >= 8
    assert re.findall(r"^(\d)\. ", f"1. {rest}", re.MULTILINE) == ["1", "2", "3"]
    assert re.search(r"^\*\*To silence it:\*\* .{10}", SECTIONS[name], re.MULTILINE)


def test_the_alarms_that_another_ones_section_names_are_there() -> None:
    linked = set(re.findall(r"\[(\w+)\]\(#(\w+)\)", PAGE))
    assert len(linked) >= 4
    assert {
        (name, anchor) for name, anchor in linked if name not in SECTIONS or anchor != name.lower()
    } == set()
    table = PAGE.partition("## What has no alarm")[2]
    assert set(re.findall(r"`([A-Z][a-z]+[A-Z]\w+)`", table)) - {"IteratorAge"} <= set(SECTIONS)


def test_log_lines_that_the_page_names_are_written() -> None:
    code = "".join(file.read_text() for file in Path(ROOT / "layers/runtime/cronce").rglob("*.py"))
    code += (ROOT / "functions/dispatcher.py").read_text()
    named = set(re.findall(r"`([a-z]+\.[a-z_]+)`", PAGE))
    assert len(named) >= 10
    of_ticks = {"tick.busy"}  # made of how the tick ended
    assert {event for event in named - of_ticks if f'"{event}"' not in code} == set()


def test_what_the_page_asks_of_aws_is_what_the_policies_for_people_allow(plain: Stack) -> None:
    asked = {
        f"{service}:{command.title().replace('-', '')}"
        for service, command in re.findall(r"\baws ([a-z0-9]+) ([a-z-]+)", PAGE)
    }
    assert len(asked) >= 6
    allowed = {
        action
        for policy in (READ, WRITE)
        for actions in of_policy(plain, policy).values()
        for action in actions
    }
    # To silence an alarm is to change the stack: that is for whoever deploys it.
    assert asked - allowed == {"cloudwatch:DisableAlarmActions", "cloudwatch:EnableAlarmActions"}


def test_saved_queries_that_the_page_names_are_there(stack: Stack) -> None:
    titles = [each["Name"]["Fn::Sub"] for each in stack.of_type("AWS::Logs::QueryDefinition").values()]
    named = set(re.findall(r"`<stack>/([a-z ]+)`", PAGE))
    assert len(named) >= 3
    assert {name for name in named if not any(f"/{name}" in title for title in titles)} == set()


def test_whatever_makes_an_executor_leave_a_run_is_a_cause_on_the_page() -> None:
    engine = ROOT / "layers/runtime/cronce/engine"
    left: set[str] = set()
    for name in ("executor.py", "claims.py"):
        lines = (engine / name).read_text().splitlines()
        for number, line in enumerate(lines):
            if re.search(r"return \w+\((outcome|entry)=\w+\.LEFT", line):
                left.add(re.findall(r'"([a-z]+\.[a-z_]+)"', "\n".join(lines[number - 16 : number]))[-1])
    assert len(left) >= 4
    assert {event for event in left if f"`{event}`" not in SECTIONS["StreamLag"]} == set()


def test_the_table_of_the_faults_has_its_place_and_its_rows() -> None:
    (table,) = re.findall(r"<!-- faults -->\n(.*?)<!-- /faults -->", PAGE, re.DOTALL)
    assert len(table.splitlines()) - 2 >= 15
