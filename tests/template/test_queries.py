"""Saved queries and the dashboard's log widget ask for lines and fields that the functions really write.

The lines are those of real handlers: a job that fails and is told, one that is missed, one whose start the
stream does not make, one that is skipped, steps and log lines of a job.

Invariants:
- every event that a query names was written, and by a function whose log the query looks through;
- every field that a query names was on a line that it selects, or CloudWatch makes it;
- the example of a run's id is one that the code makes, and is replaced by any other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.core.records import RunRef
from cronce_tools.local.stack import LocalStack, event, local_stack
from tests.support.jobs_modules import only_jobs_of
from tests.template.stack import Stack, text_of

NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
JOBS = """
from cronce import Cron, PermanentError, Run, job

@job("belt", schedule=Cron("0 12 * * *"), grace="2m")
def belt(run: Run) -> None:
    run.log.info("begun", rollers=12)
    run.step("oil", lambda: None)
    raise PermanentError("no soup")

@job("bank", schedule=Cron("0 12 * * *"), grace="2m", max_lateness="5m")
def bank(run: Run) -> None:
    run.step("pay", lambda: 1)

@job("hourly", schedule=Cron("* * * * *"), grace="1m", catch_up="skip")
def hourly(run: Run) -> None:
    pass
"""
OF_CLOUDWATCH = {"@timestamp", "@logStream", "@log", "@message"}
WORDS = {"fields", "filter", "sort", "limit", "stats", "parse", "by", "as", "and", "in", "asc", "desc"}
WORDS |= {"max", "avg", "count", "latest"}
Line = dict[str, Any]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    """What the functions wrote on a day on which much went wrong."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "canteen.py").write_text(JOBS)
    with local_stack(NOON - 3 * MINUTE) as stack, only_jobs_of(folder):
        stack.play(minutes=2)
        without_stream(stack, NOON)
        stack.clock.advance(6 * MINUTE)  # longer than `bank` may be late
        stack.play(minutes=2)
        stack.clock.advance(timedelta(minutes=40))  # an outage
        stack.play(minutes=3)
        stack.invoke("dispatcher", {"Records": [{"eventID": "1"}]})
        return list(stack.console.lines)


def without_stream(stack: LocalStack, now: datetime) -> None:
    """A minute in which runs are planned and nobody starts them."""
    stack.clock.set(now + timedelta(seconds=4))
    stack.invoke("scheduler", event("scheduler"))
    while records := stack.stream.next_batch():
        stack.stream.report(records, {"batchItemFailures": []})


def queries(stack: Stack) -> dict[str, tuple[str, list[str]]]:
    """Text, and services whose logs are looked through, of each query."""
    found = {
        name: (properties["QueryString"], [group["Ref"] for group in properties["LogGroupNames"]])
        for name, properties in stack.of_type("AWS::Logs::QueryDefinition").items()
    }
    body = json.loads(text_of(stack.under("HasDashboard").properties("StackDashboard")["DashboardBody"]))
    (text,) = [widget["properties"]["query"] for widget in body["widgets"] if widget["type"] == "log"]
    sources, query = text.split(" | fields ", 1)
    found["StackDashboard"] = (f"fields {query}", re.findall(r"SOURCE '\$\{(\w+)\}'", sources))
    return {
        name: (query, [group.removesuffix("LogGroup").lower() for group in groups])
        for name, (query, groups) in found.items()
    }


def fields_of(query: str) -> set[str]:
    """The fields that a query reads: names that it does not make itself."""
    made = set(re.findall(r"\bas (\w+)", query)) | set(re.findall(r"\bas job, (\w+)", query))
    plain = re.sub(r'"[^"]*"', "", query)
    names = set(re.findall(r"@?[A-Za-z_]\w*", plain)) - WORDS - made
    return names - OF_CLOUDWATCH


def events_of(query: str) -> list[str]:
    return re.findall(r'"([a-z]+\.[a-z_]+)"', query)


def selected(query: str, lines: Iterable[Line], services: list[str]) -> list[Line]:
    """The lines that a query takes: of its functions, and of the events that it names, if it names any."""
    events = events_of(query)
    return [
        line for line in lines if line["service"] in services and (not events or line["message"] in events)
    ]


NAMES = ("OneRunQuery", "SlowestStepsQuery", "MissedRunsQuery", "ErrorsByJobQuery", "StackDashboard")


def test_all_of_them_are_looked_at(stack: Stack) -> None:
    assert set(queries(stack)) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_event_that_a_query_names_is_written(stack: Stack, lines: list[Line], name: str) -> None:
    query, services = queries(stack)[name]
    written = {line["message"] for line in selected(query, lines, services)}
    assert set(events_of(query)) - written == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_field_that_a_query_names_is_on_a_line_that_it_takes(
    stack: Stack, lines: list[Line], name: str
) -> None:
    query, services = queries(stack)[name]
    there = {field for line in selected(query, lines, services) for field in line}
    assert len(fields_of(query)) >= 3
    assert fields_of(query) - there == set()


def test_a_field_that_is_not_there_is_found(stack: Stack, lines: list[Line]) -> None:
    query, services = queries(stack)["SlowestStepsQuery"]
    there = {field for line in selected(query, lines, services) for field in line}
    assert fields_of(query.replace("slowest_seconds", "slow_seconds")) - there == {"slow_seconds"}


def test_the_story_of_a_run_is_found_by_its_id(stack: Stack, lines: list[Line]) -> None:
    query, _ = queries(stack)["OneRunQuery"]
    (example,) = re.findall(r'run = "([^"]+)"', query)
    assert RunRef.parse(example).id == example
    story = [line["message"] for line in lines if line.get("run") == RunRef("belt", NOON).id]
    work = ["run.claimed", "job.log", "attempt.failed", "run.failed", "slice.ended"]
    assert story == ["run.started_by_sweep", *work]


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("Query")])
def test_a_query_is_named_after_its_stack(stack: Stack, name: str) -> None:
    title = stack.properties(name)["Name"]["Fn::Sub"]
    assert title.startswith("${AWS::StackName}/")
