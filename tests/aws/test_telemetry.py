"""Log lines and metrics.

Invariants:
- a line is one JSON object with the event's name and every field of it, whatever the field's name;
- metrics carry the namespace `cronce` and the one dimension `stack`, whatever the environment says, those of
  jobs the job's name beside it;
- a metric counted as 0 is published, and nothing is published twice.
"""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from cronce.aws.telemetry import PowertoolsTelemetry
from cronce.core.records import RunRef
from cronce.core.run import RunStatus
from cronce.engine import metrics

NOW = datetime(2026, 3, 8, 11, tzinfo=UTC)
RUN = RunRef("daily-menu", NOW)
_numbers = count()


class Lines:
    """The lines that were written, as objects."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def telemetry(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> PowertoolsTelemetry:
    # As in Lambda; a service of its own, because loggers of one name share their stream.
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "from-the-environment")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "from-the-environment")
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "INFO")
    return PowertoolsTelemetry(f"scheduler-{next(_numbers)}", "shop", stream=lines.stream)


def test_a_metric_by_job_has_the_job_beside_the_stack(
    telemetry: PowertoolsTelemetry, capsys: pytest.CaptureFixture[str]
) -> None:
    telemetry.by_job(metrics.JOB_IN_TROUBLE, {"bread": 0, "menu": 1})
    blocks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (group,) = blocks[0]["_aws"]["CloudWatchMetrics"]
    assert (group["Namespace"], [sorted(names) for names in group["Dimensions"]]) == (
        "cronce",
        [["job", "stack"]],
    )
    assert [(block["stack"], block["job"], block["JobInTrouble"]) for block in blocks] == [
        ("shop", "bread", [0.0]),
        ("shop", "menu", [1.0]),
    ]


def test_an_event_is_one_line_with_its_name_and_fields(telemetry: PowertoolsTelemetry, lines: Lines) -> None:
    telemetry.begin("request-1")
    telemetry.event("run claimed", run=RUN, attempt=2, until=NOW, status=RunStatus.RUNNING)

    (line,) = lines.read()
    expected = {
        "message": "run claimed",
        "level": "INFO",
        "stack": "shop",
        "function_request_id": "request-1",
        "run": "daily-menu@2026-03-08T11:00:00Z",
        "attempt": 2,
        "until": "2026-03-08T11:00:00.000Z",
        "status": "RUNNING",
    }
    assert {name: line[name] for name in expected} == expected
    assert line["service"].startswith("scheduler-")


def test_a_warning_is_one_line_at_its_level(telemetry: PowertoolsTelemetry, lines: Lines) -> None:
    telemetry.warn("item unreadable", item="JOB#x / JOB", problem=ValueError("no status"))

    (line,) = lines.read()
    assert (line["level"], line["message"], line["problem"]) == (
        "WARNING",
        "item unreadable",
        "ValueError: no status",
    )


@pytest.mark.parametrize(
    "value, shown",
    [
        (timedelta(minutes=1, milliseconds=500), 60.5),
        (NOW.replace(tzinfo=None), "2026-03-08T11:00:00"),
        (NOW.date(), "2026-03-08"),
        pytest.param(frozenset({"b", "a"}), ["a", "b"], id="a set"),  # its text differs between processes
        ((RUN, 1), [RUN.id, 1]),
        ({"at": NOW, 7: [timedelta(seconds=1)]}, {"at": "2026-03-08T11:00:00.000Z", "7": [1.0]}),
        ("text\nof two lines", "text\nof two lines"),
        (True, True),
        (1.5, 1.5),
    ],
    ids=str,
)
def test_fields_are_written_so_that_a_person_can_read_them(
    telemetry: PowertoolsTelemetry, lines: Lines, value: object, shown: object
) -> None:
    telemetry.event("something", value=value)

    assert lines.read()[0]["value"] == shown


def test_a_field_without_a_value_is_left_out(telemetry: PowertoolsTelemetry, lines: Lines) -> None:
    telemetry.event("something", value=None, other=0)

    (line,) = lines.read()
    assert ("value" in line, line["other"]) == (False, 0)


def test_a_line_says_where_its_event_happened(telemetry: PowertoolsTelemetry, lines: Lines) -> None:
    telemetry.event("one")
    telemetry.warn("two")

    assert [line["location"].split(":")[0] for line in lines.read()] == [
        "test_a_line_says_where_its_event_happened"
    ] * 2


def test_a_field_that_json_cannot_carry_is_written_all_the_same(
    telemetry: PowertoolsTelemetry, lines: Lines
) -> None:
    telemetry.event("something", value=object(), data=b"\xff")

    assert lines.read()[0]["value"].startswith("<object object")


@pytest.mark.parametrize(
    "name",
    [
        "module",
        "message",
        "args",
        "level",
        "service",
        "timestamp",
        "location",
        "exc_info",
        "stack",
        "extra",
        "msg",
    ],
)
def test_a_field_whose_name_is_taken_is_written_beside_it(
    telemetry: PowertoolsTelemetry, lines: Lines, name: str
) -> None:
    telemetry.event("module does not import", **{name: "jobs.daily_menu"})

    (line,) = lines.read()
    assert line[f"{name}_"] == "jobs.daily_menu"
    assert (line["message"], line["stack"], line["level"]) == ("module does not import", "shop", "INFO")


def test_lines_of_two_functions_in_one_process_stay_apart(lines: Lines) -> None:
    other = Lines()
    one = PowertoolsTelemetry(f"scheduler-{next(_numbers)}", "shop", stream=lines.stream)
    two = PowertoolsTelemetry(f"watchdog-{next(_numbers)}", "shop", stream=other.stream)
    one.begin("request-1")
    two.begin("request-2")

    one.event("tick")
    two.event("patrol")

    assert [(line["message"], line["function_request_id"]) for line in lines.read()] == [
        ("tick", "request-1")
    ]
    assert [(line["message"], line["function_request_id"]) for line in other.read()] == [
        ("patrol", "request-2")
    ]


def published(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What was written to standard output since the last look."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_metrics_are_added_up_and_have_the_one_dimension_stack(
    telemetry: PowertoolsTelemetry, capsys: pytest.CaptureFixture[str]
) -> None:
    telemetry.count(metrics.TICK_COMPLETED)
    telemetry.count(metrics.DISPATCH_FAILURES, 2)
    telemetry.count(metrics.DISPATCH_FAILURES)
    telemetry.flush()

    (line,) = published(capsys)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], directive["Dimensions"]) == ("cronce", [["stack"]])
    assert {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]} == {
        "TickCompleted": "Count",
        "DispatchFailures": "Count",
    }
    assert (line["stack"], line["TickCompleted"], line["DispatchFailures"]) == ("shop", [1.0], [3.0])
    assert "service" not in line


def test_p94_a_gauge_of_zero_is_published(
    telemetry: PowertoolsTelemetry, capsys: pytest.CaptureFixture[str]
) -> None:
    telemetry.count(metrics.JOBS_MISSED, 0)
    telemetry.flush()

    assert published(capsys)[0]["JobsMissed"] == [0.0]


def test_metrics_are_published_once(
    telemetry: PowertoolsTelemetry, capsys: pytest.CaptureFixture[str]
) -> None:
    telemetry.count(metrics.TICK_COMPLETED)
    telemetry.flush()
    telemetry.flush()

    assert len(published(capsys)) == 1


def test_p11_metrics_of_an_invocation_that_was_cut_off_are_not_published_by_the_next(
    telemetry: PowertoolsTelemetry, capsys: pytest.CaptureFixture[str]
) -> None:
    telemetry.count(metrics.TICK_COMPLETED)
    telemetry.begin("request-2")
    telemetry.flush()

    assert published(capsys) == []


def test_counting_from_many_threads_loses_nothing(
    telemetry: PowertoolsTelemetry, capsys: pytest.CaptureFixture[str]
) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: telemetry.count(metrics.DISPATCH_FAILURES), range(800)))
    telemetry.flush()

    assert published(capsys)[0]["DispatchFailures"] == [800.0]
