"""What makes no sense or does not apply.

* It is one line on standard error and an exit code: 2 if it cannot be asked so or names what is not there, 1
  if it does not apply. An unknown job names the one that may be meant.
* Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from cronce_tools.local.stack import LocalStack
from tests.cli.conftest import stack_with
from tests.cli.terminal import cronce
from tests.cli.test_operate import FALLIBLE

SIX = "2026-10-30T10:00:00Z"
HOURLY = """
@job("hourly", schedule=Cron("0 * * * *"))
def hourly(run): ...
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """At one minute past ten: `menu` ran, `broken` failed, `payout` is in doubt."""
    with stack_with(tmp_path_factory.mktemp("shop"), FALLIBLE + HOURLY) as running:
        running.play(minutes=2)
        yield running


def everything() -> list[dict[str, Any]]:
    client = boto3.client("dynamodb")
    return [item for table in ("runs", "steps") for item in client.scan(TableName=table)["Items"]]


DAY = ("--from", "2026-10-30", "--to", "2026-10-30")
MENU = "there is no job 'manu': did you mean 'menu'?"


@pytest.mark.parametrize(
    "command, code, said",
    [
        (("next", "manu"), 2, MENU),
        (("runs", "manu"), 2, MENU),
        (("did-run", "manu", "today"), 2, MENU),
        (("history", "manu"), 2, MENU),
        (("show", f"manu@{SIX}"), 2, MENU),
        (("pause", "manu"), 2, MENU),
        (("resume", "manu"), 2, MENU),
        (("trigger", "manu"), 2, MENU),
        (("backfill", "manu", *DAY), 2, MENU),
        (("rewind", "manu", "--to", "2026-10-30", "--yes"), 2, MENU),
        (("retry", f"manu@{SIX}"), 2, MENU),
        (("cancel", f"manu@{SIX}", "--yes"), 2, MENU),
        (("runs", "--status", "lost"), 2, "there is no status 'lost': there are pending, running, waiting"),
        (("runs", "--since", "2026-10-31", "--until", "2026-10-30"), 2, "the range runs backwards"),
        (("runs", "--until", "soon"), 2, "'soon' is no time"),
        (("runs", "--since", "99999999d"), 2, "longer than ten years"),
        (("runs", "--since", ""), 2, "'' is no time"),
        (("runs", ""), 2, "there is no job ''"),
        (("runs", "--limit", "0"), 2, "--limit"),
        (("retry", "menu@today"), 2, "not a run id"),
        (("retry", f"menu@{SIX}"), 1, "SUCCEEDED"),
        (("cancel", f"menu@{SIX}", "--yes"), 1, "SUCCEEDED"),
        (("cancel", "menu@2026-10-29T10:00:00Z", "--yes"), 2, "there is no run menu@2026-10-29T10:00:00Z"),
        (("resolve", f"payout@{SIX}", "pay"), 2, "say what came of it: --done with its value as JSON"),
        (("resolve", f"payout@{SIX}", "pay", "--done", "1", "--redo"), 2, "say what came of it"),
        (("resolve", f"payout@{SIX}", "pey", "--done", "1", "--yes"), 1, "never started"),
        (("resolve", f"payout@{SIX}", "pay", "--done", "{", "--yes"), 1, "no JSON"),
        (("trigger", "menu", "--input", "{"), 1, "JSON"),
        (("trigger", "menu", "--input", "@nowhere.json"), 2, "the input 'nowhere.json' cannot be read"),
        (("pause", "menu", "--reason", "x" * 201), 1, "why takes at most 200 bytes, not 201"),
        (("pause", "menu", "--by", ""), 1, "say who does it"),
        (("ack", "SCHEDULER"), 1, "name a job"),
        (("ack", "manu"), 2, MENU),
        (("backfill", "hourly", "--from", "2026-10-31", "--to", "2026-10-30"), 2, "the range runs backwards"),
        (("backfill", "hourly", "--from", "2026-10-30"), 2, "Missing option '--to'"),
        (("backfill", "hourly", "--from", "2026-10-30", "--to", "noon"), 2, "'noon' is no time"),
        (("backfill", "hourly", "--from", "2020-01-01", "--to", "2026-10-30"), 1, "more than 5000 times"),
        (("rewind", "hourly", "--to", "2026-11-02", "--yes"), 1, "it is set back to a time before that"),
        (("rewind", "hourly", "--to", "2020-01-01", "--yes"), 1, "what is older may be forgotten"),
        (("rewind", "hourly", "--to", "monday", "--yes"), 2, "'monday' is no time"),
        (("rewind", "hourly"), 2, "Missing option '--to'"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_it_is_one_line_and_nothing_is_changed(
    shop: LocalStack, command: tuple[str, ...], code: int, said: str
) -> None:
    before = everything()
    answer = cronce(*command)
    assert answer.code == code
    assert said in answer.complaint
    assert everything() == before
