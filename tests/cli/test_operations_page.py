"""The page on operations says what is so.

* The day that it tells is played: what each command says, and what people are told, is what stands there
  (`...` stands for anything).
* The fields of its tables are those of the answers, in their order; exit codes and outcomes are all there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cronce.aws.notifier import ATTRIBUTES
from cronce.core.alerts import Trouble
from cronce.core.verdicts import Verdict
from cronce_tools.cli.app import app
from cronce_tools.cli.exits import Exit
from cronce_tools.local.console import output_to
from cronce_tools.local.stack import LocalStack, local_stack
from tests.cli.conftest import working_copy
from tests.cli.terminal import cronce

PAGE = Path(__file__).resolve().parents[2] / "docs/operations.md"
TEXT = PAGE.read_text()

JOBS = """
from cronce import Cron, job

@job("daily-menu", schedule=Cron("0 6 * * *", tz="America/New_York"))
def daily_menu(run):
    run.step("build", int, 7)
    run.each("send", range(40), str, key=str, checkpoint_every=25)

@job("stock-sync", schedule=Cron("0 * * * *"))
def stock_sync(run):
    run.step("sync", int, 1)

@job("night-close", schedule=Cron("30 1 * * *", tz="America/New_York"))
def night_close(run):
    run.step("close", int, 1)

def transfer():
    raise ConnectionError("the bank did not answer")

@job("payout", schedule=Cron("0 10 * * *"))
def payout(run):
    run.step("list", int, 3)
    run.once("transfer", transfer)
    run.step("report", int, 1)
"""

PART = re.compile(
    r"<!-- (?P<stage>.*?) -->|```console\n(?P<console>.*?)```|```text\n(?P<notice>.*?)```", re.DOTALL
)


def commands(console: str) -> Iterator[tuple[str, str]]:
    """Each command of a block, and what it says."""
    for part in re.split(r"^\$ cronce ", console, flags=re.MULTILINE)[1:]:
        command, _, said = part.partition("\n")
        yield command, said


def matches(expected: str, said: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in expected.rstrip().split("..."))
    return re.fullmatch(pattern, said.rstrip(), re.DOTALL) is not None


class Day:
    """The day of the page, part by part."""

    def __init__(self, stack: LocalStack) -> None:
        self.stack = stack

    def go(self, stage: str) -> None:
        """What happens between two commands."""
        what, _, argument = stage.partition(" ")
        with output_to(self.stack.console):
            match what:
                case "at" | "to":
                    self.stack.clock.set(datetime.fromisoformat(argument))
                case "play":
                    self.stack.play(int(argument))
                case "settle":
                    self.stack.settle()
                case _:
                    pytest.fail(f"the page has a stage direction that nobody knows: {stage}")


def told() -> str:
    """What the page would say if it were written today."""
    day = TEXT[TEXT.index("## A day in commands") : TEXT.index("## When something is wrong")]
    first = re.search(r"<!-- at (\S+) -->", day)
    assert first is not None
    with local_stack(datetime.fromisoformat(first[1])) as stack:
        played = Day(stack)

        def replay(part: re.Match[str]) -> str:
            if part["stage"]:
                played.go(part["stage"])
                return part[0]
            if part["console"] is None:
                return f"```text\n{notice(stack, part['notice'])}```"
            blocks = [block(*each) for each in commands(part["console"])]
            return "```console\n" + "".join(blocks) + "```"

        return TEXT.replace(day, PART.sub(replay, day))


def notice(stack: LocalStack, expected: str) -> str:
    """The newest message that people had, its subject first."""
    _, subject, body = stack.notices[-1]
    said = f"{subject}\n\n{body}\n"
    return expected if matches(expected, said) else said


def block(command: str, expected: str) -> str:
    said = cronce(*shlex.split(command))
    answer = (said.out or said.err).rstrip() + "\n"
    return f"$ cronce {command}\n{expected if matches(expected, answer) else answer}"


def test_the_day_goes_as_the_page_says(tmp_path: Path) -> None:
    with working_copy(tmp_path):
        (tmp_path / "functions/jobs/shop.py").write_text(JOBS)
        now = told()
    assert now == TEXT


def fields(heading: str) -> list[str]:
    """The fields of the table below a heading."""
    section = TEXT.split(f"### {heading}\n")[1].split("\n#")[0]
    return re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)


def test_the_fields_are_those_of_the_answers(tmp_path: Path) -> None:
    with working_copy(tmp_path):
        (tmp_path / "functions/jobs/shop.py").write_text(JOBS)
        with local_stack(datetime.fromisoformat("2026-10-30T09:58Z")) as stack:
            stack.play(3)
            payout = "payout@2026-10-30T10:00:00Z"
            head = ["stack", "region", "now"]
            (job, *_) = cronce("list", "--json").json["jobs"]
            (run, *_) = cronce("runs", "--json").json["runs"]
            shown = cronce("show", payout, "--json").json
            (occurrence,) = cronce("did-run", "payout", "today", "--json").json["occurrences"]
            cronce("resolve", payout, "transfer", "--done", "1", "--yes")
            stack.settle()
            changed = cronce("pause", "payout", "--json").json
    more: dict[str, Any] = {"attempts", "steps", "acts", "request_id", "log_stream", "log"}  # type: ignore[assignment]
    assert fields("A job") == list(job)
    assert fields("A run") == list(run)
    assert set(shown) == {*head, *run, *more}
    assert fields("A step") == list(shown["steps"][0])
    assert fields("An occurrence") == list(occurrence)
    assert set(changed) == {*head, "changed", *list(job)[: list(job).index("slots") + 1]} - {"problem"}


def test_the_attributes_of_a_notice_are_those_of_its_message() -> None:
    section = TEXT.split("## What people are told\n")[1].split("\n## ")[0]
    assert tuple(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)) == ATTRIBUTES
    (troubles,) = re.findall(r"^\| `trouble` \| (.*) \|", section, re.MULTILINE)
    assert re.findall(r"`([a-z_]+)`", troubles) == [trouble.value for trouble in Trouble]


def test_the_commands_the_exit_codes_and_the_outcomes_are_all_there() -> None:
    known = {command.name for command in app.registered_commands}
    named = set(re.findall(r"(?:^\$ |`)cronce ([a-z][a-z-]*)", TEXT, re.MULTILINE))
    listed = set(re.findall(r"`([a-z-]+)`", TEXT.split("## JSON")[1].split("### A run")[0]))
    assert named <= known
    assert known <= named | listed
    codes = re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)
    assert [int(code) for code in codes] == [code.value for code in Exit]
    (outcomes,) = re.findall(r"^\| `outcome` \| (`ran`.*) \|", TEXT, re.MULTILINE)
    assert re.findall(r"`([a-z_]+)`", outcomes) == [outcome.value for outcome in Verdict]
