"""The documentation says what is so.

* P103: each default in the README is the constant in the code.
* P99: a job's schedule stands in its declaration only: the template has but the tick's and the patrol's.
* P89: the local engine is asked with the account's own endpoint switched off, where that matters.
* The page on metrics counts them, and the events that it names are written.
* The page on pings says what is sent, and how long that may take.
* Every `make` command that is named exists, every link leads to a file.
"""

from __future__ import annotations

import inspect
import re
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cronce.aws import settings
from cronce.aws.ping_urls import KEPT_FOR
from cronce.aws.pinger import DEFAULT_BOUNDS
from cronce.core import job as job_module
from cronce.core import pings
from cronce.core.job import Ping, job
from cronce.core.pings import Kind, Signal
from cronce.core.retry import Retry
from cronce.core.steps import RESULT_LIMIT
from cronce.engine import metrics
from cronce.engine.scheduler import TickEnd
from cronce_tools.local.template import Template
from tests.benchmarks import write_units

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def default(argument: str) -> object:
    return inspect.signature(job).parameters[argument].default


def row(argument: str) -> str:
    """What the README's table of policies says is an argument's default."""
    found = re.search(rf"^\| `{argument}`[^|]*\| ([^|]*) \|", README, re.MULTILINE)
    assert found is not None, argument
    return found[1]


def test_p103_the_defaults_of_the_readme_are_those_of_the_code() -> None:
    assert row("grace") == f"{job_module.DEFAULT_GRACE.total_seconds() / 60:.0f} minutes"
    assert default("grace") == job_module.DEFAULT_GRACE
    assert row("timeout") == f"{job_module.DEFAULT_TIMEOUT.total_seconds() / 60:.0f} minutes"
    assert default("timeout") == job_module.DEFAULT_TIMEOUT
    assert row("retry") == '`Retry(attempts=3, base="30s", cap="15m")`'
    assert Retry() == Retry(attempts=3, base="30s", cap="15m")
    assert row("catch_up") == f"`{default('catch_up')}`"
    assert row("concurrency") == f"{default('concurrency')}, `{default('overlap')}`"
    assert job_module.MAX_LATENESS.days == 1
    assert row("max_lateness") == "none; 1 day for `all` and for `At`"
    assert f"`all` of them (at most {job_module.CATCH_UP_CAP})" in README


def test_p103_the_limits_of_the_readme_are_those_of_the_code() -> None:
    assert f"{RESULT_LIMIT // 1024} KB of JSON" in README
    assert f"kept {settings.RETENTION_DAYS} days" in README
    assert Template.load().parameters["RetentionDays"]["Default"] == settings.RETENTION_DAYS


def test_the_costs_of_the_readme_are_those_that_are_counted() -> None:
    counted = write_units.figures()
    assert counted["step"] == 4
    assert "4 write units each" in README
    assert counted["once"] == 8
    assert "8 write units each" in README
    assert counted["sleep"] == 16
    assert "16 write units, the next invocation's claim included" in README
    assert round(counted["run"], -1) == 20
    assert "A run itself costs about 20 write units" in README
    assert round(counted["dollars"]) == 26
    assert "a million runs of five steps cost about $26. A minute without work costs two." in README
    assert counted["quiet tick"] == 2


def test_p99_the_template_has_no_schedule_but_the_ticks_and_the_patrols() -> None:
    text = (ROOT / "template.yaml").read_text()
    assert re.findall(r"^\s+Schedule: (.*?\))", text, re.MULTILINE) == ["cron(* * * * ? *)"] * 2


def test_p89_the_local_engine_is_asked_without_the_accounts_own_endpoint() -> None:
    stack = (ROOT / "tools/cronce_tools/local/stack.py").read_text()
    assert '"AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled"' in stack


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_command_and_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = set(re.findall(r"(?:^|`)make ([a-z][a-z0-9-]*)", text, re.MULTILINE))
    links = {link.split("#")[0] for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)}
    assert commands <= targets
    assert [link for link in sorted(links) if link and not (page.parent / link).exists()] == []


def test_the_page_on_metrics_counts_them_and_names_events_that_exist() -> None:
    page = (ROOT / "docs/decisions/few-metrics.md").read_text()
    names = [name for name, value in vars(metrics).items() if name.isupper() and isinstance(value, str)]
    names.remove("JOB_IN_TROUBLE")
    code = "".join(file.read_text() for file in (ROOT / "layers/runtime/cronce").rglob("*.py"))
    events = re.findall(r"`([a-z]+\.[a-z_]+)`", page)

    assert len(names) == 12
    assert "There are twelve" in page
    assert len(events) >= 7
    ends = {f"tick.{end.value}" for end in TickEnd}  # the name of this line is made of how the tick ended
    assert [event for event in events if f'"{event}"' not in code and event not in ends] == []


def test_the_calendar_of_public_holidays_is_one_that_a_job_takes() -> None:
    text = (ROOT / "docs/policies.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    declared: dict[str, Any] = {}
    exec(example, declared)  # noqa: S102 - the example is ours; this is its test
    menu = declared["daily_menu"]
    thanksgiving = datetime(2026, 11, 26, 11, tzinfo=UTC)
    assert [menu.is_excluded(thanksgiving + timedelta(days=days)) for days in (0, 1)] == [True, False]
    (named,) = re.findall(r"`holidays==(\S+)`", text)
    assert named == version("holidays"), "the page names the version that is tested"


def test_the_page_on_pings_says_what_is_sent_and_how_long_that_may_take() -> None:
    page = (ROOT / "docs/pings.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    declared: dict[str, Any] = {}
    exec(example, declared)  # noqa: S102 - the example is ours; this is its test
    assert declared["daily_menu"].ping is Ping.HEALTHCHECKS

    rows = re.findall(r"^\| .*? \| `(<url>\S*)` \|(?: `(\S+)`)? \|$", page, re.MULTILINE)
    rid = UUID(int=1)
    sent = [
        Signal(of="daily-menu", form=Ping.HEALTHCHECKS, kind=kind, rid=rid).address("https://x/y")
        for kind in (Kind.START, Kind.SUCCESS, Kind.FAIL)
    ]
    assert [row[0] for row in rows] == [
        url.replace("https://x/y", "<url>").replace(str(rid), "<id>") for url in sent
    ]
    assert [row[1] for row in rows] == ["", "<url>", ""]

    assert f"up to {pings.WITHIN.seconds} seconds longer" in page
    assert f"within those {pings.WITHIN.seconds} seconds" in page
    assert DEFAULT_BOUNDS.tries == 3
    assert "A ping is tried three times" in page
    assert KEPT_FOR == 5 * 60
    assert "in use five minutes later" in page
