"""The semantics that local AWS is given, on fakes of the emulator's parts.

* A mapping's batches: filtered, in order, with their failures; a disabled mapping is left alone.
* Metrics in a function's log reach CloudWatch. Alarms are judged by dimension, with missing data and warm-up.
* An asynchronous invocation has the settings of its alias.
* Functions see no packages of the emulator. Another emulator than the pinned one does not start.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cronce_tools.emulator import adapter, stream_mappings
from cronce_tools.emulator.alarm_clock import AlarmClock, WarmUp, judge
from cronce_tools.emulator.embedded_metrics import Datapoint, datapoints
from cronce_tools.emulator.parts import NAMES, EmulatorChangedError, Parts
from cronce_tools.emulator.shared_code import shared_zipfile
from cronce_tools.emulator.stream_mappings import StreamMappings, answer_of
from cronce_tools.local.alarm_model import AlarmModel, Treatment

STREAM = "arn:aws:dynamodb:eu-central-1:000000000000:table/runs/stream/1"
NOW = 1_800_000_000.0


class Variable:
    """Stands for a context variable."""

    def set(self, value: str) -> str:
        return value

    def reset(self, token: str) -> None: ...


class Scoped(dict[Any, Any]):
    """Stands for the emulator's dictionaries, which keep accounts and Regions apart."""

    @property
    def _data(self) -> dict[Any, Any]:
        return {("000000000000", "eu-central-1", key): value for key, value in self.items()}


def parts(**modules: Any) -> Parts:
    responses = SimpleNamespace(_request_account_id=Variable(), _request_region=Variable())
    return cast("Parts", {"responses": responses, **modules})


def record(number: int, status: str = "PENDING") -> dict[str, Any]:
    return {"status": status, "dynamodb": {"SequenceNumber": str(number), "ApproximateCreationDateTime": NOW}}


class Lambda:
    """The parts of the emulator's Lambda and DynamoDB that a mapping needs: one table, one function."""

    def __init__(self, records: list[dict[str, Any]], answers: list[dict[str, Any]]) -> None:
        self.records = records
        self.answers = answers
        self.given: list[list[str]] = []
        self.given_up: list[tuple[list[str], str]] = []
        self.mapping: dict[str, Any] = {
            "UUID": "m", "EventSourceArn": STREAM, "FunctionName": "dispatcher", "Qualifier": "live",
            "StartingPosition": "TRIM_HORIZON", "BatchSize": 2, "MaximumRetryAttempts": 1,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
        }  # fmt: skip
        self.svc = SimpleNamespace(
            _iter_all_esms=lambda: [("000000000000", "eu-central-1", self.mapping)],
            _dynamodb_stream_table_from_arn_spec=lambda spec: (spec.table, "1"),
            _get_func_record_for_qualifier=lambda name, alias: ({"name": name, "alias": alias}, {}),
            _dynamodb_stream_positions={},
            _apply_filter_criteria=lambda found, mapping: [r for r in found if r["status"] == "PENDING"],
            _execute_function=self.execute,
            _send_ddb_stream_failure_record=self.give_up,
        )
        dynamodb = SimpleNamespace(
            _tables={"runs": {"LatestStreamArn": STREAM}},
            stream_start_position=lambda table: 0,
            stream_end_position=lambda table: len(self.records),
            stream_records_since=lambda table, start, limit: self.records[start : start + limit],
        )
        arn = SimpleNamespace(
            ArnParseError=ValueError, parse_arn=lambda text: SimpleNamespace(service="dynamodb", table="runs")
        )
        self.mappings = StreamMappings(parts(lambda_svc=self.svc, dynamodb=dynamodb, arn=arn))

    def execute(self, function: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
        assert function == {"name": "dispatcher", "alias": "live"}
        self.given.append(sequence_numbers(event["Records"]))
        return self.answers.pop(0) if self.answers else {"body": {}}

    def give_up(self, *what: Any) -> None:
        _, _, records, stream, _, condition = what
        assert stream == STREAM
        self.given_up.append((sequence_numbers(records), condition))

    def poll(self, times: int) -> None:
        for _ in range(times):
            self.mappings.poll()


def sequence_numbers(records: list[dict[str, Any]]) -> list[str]:
    return [each["dynamodb"]["SequenceNumber"] for each in records]


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_mappings, "PAUSE", -1.0)


def test_a_mapping_hands_out_what_passes_its_filter_in_order() -> None:
    fake = Lambda([record(1), record(2, "RUNNING"), record(3), record(4), record(5)], [])
    fake.poll(6)
    assert fake.given == [["1"], ["3", "4"], ["5"]]
    assert fake.mapping["LastProcessingResult"] == "OK"


def test_a_record_that_keeps_failing_is_given_up_and_the_next_ones_follow() -> None:
    bad = {"body": json.dumps({"batchItemFailures": [{"itemIdentifier": "2"}]})}
    fake = Lambda([record(1), record(2), record(3)], [bad, {"error": True}])
    fake.poll(6)
    assert fake.given == [["1", "2"], ["2"], ["3"]]
    assert fake.given_up == [(["2"], "RetryAttemptsExhausted")]


def test_a_disabled_mapping_keeps_its_place() -> None:
    fake = Lambda([record(1)], [])
    fake.mapping["Enabled"] = False
    fake.poll(2)
    assert fake.given == []
    fake.mapping["Enabled"] = True
    fake.poll(2)
    assert fake.given == [["1"]]


@pytest.mark.parametrize(
    "body, answer",
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        (b'{"a": 1}', {"a": 1}),
        (None, {}),
        ("no json", {}),
        ([1], {}),
    ],
)
def test_what_a_function_returned_is_an_object(body: object, answer: dict[str, int]) -> None:
    assert answer_of({"body": body}) == answer


LINE = {
    "_aws": {
        "Timestamp": 0,
        "CloudWatchMetrics": [
            {
                "Namespace": "cronce",
                "Dimensions": [["stack"]],
                "Metrics": [{"Name": "RunsFailed", "Unit": "Count"}],
            }
        ],
    },
    "stack": "shop",
    "RunsFailed": [1.0, 2.0],
}


def test_metrics_are_found_among_the_lines_of_a_log() -> None:
    log = "\n".join(["START", '{"message": "tick"}', json.dumps(LINE), '{"_aws": 1}', '"_aws" {', "END"])
    expected = {"namespace": "cronce", "name": "RunsFailed", "unit": "Count", "dimensions": {"stack": "shop"}}
    assert list(datapoints(log)) == [Datapoint(value=value, **expected) for value in (1.0, 2.0)]  # type: ignore[arg-type]


def test_metrics_of_a_log_are_published_after_it_was_written() -> None:
    seen: list[Any] = []
    cloudwatch = SimpleNamespace(record_metric=lambda *point: seen.append(point))
    emit = adapter._with_metrics(parts(cloudwatch=cloudwatch), lambda *args, **named: seen.append("log"))
    emit({}, "id", json.dumps(LINE), False, 5, log_source=None)
    assert seen == [
        "log",
        *(("cronce", "RunsFailed", value, "Count", {"stack": "shop"}) for value in (1.0, 2.0)),
    ]


HEARTBEAT = AlarmModel(
    needed=3, looked_at=3, threshold=1, comparison="LessThanThreshold", treatment=Treatment.BREACHING
)


@pytest.mark.parametrize(
    "points, early, at, state",
    [
        ([None] * 5, True, NOW - 1, None),  # it has never been heard: not yet
        ([None] * 5, True, NOW, "ALARM"),  # the warm-up is over
        ([None, None, None, 1.0, 1.0], True, NOW - 1, None),
        ([None, None, 1.0, 1.0, 1.0], True, NOW - 1, "OK"),  # a full window
        ([None, None, 1.0, 1.0, 1.0], False, NOW - 1, None),
    ],
)
def test_a_new_alarm_is_judged_after_its_warm_up(
    points: list[float | None], early: bool, at: float, state: str | None
) -> None:
    assert judge(HEARTBEAT, points, WarmUp(NOW, early=early), at) == state


def cloudwatch_with(metrics: dict[tuple[str, str, str], list[float]]) -> SimpleNamespace:
    """CloudWatch's parts, with one value in each of the minutes before NOW that are given (minutes ago)."""
    stored = {
        key: [{"Timestamp": NOW - NOW % 60 - ago * 60, "Value": 1.0} for ago in minutes]
        for key, minutes in metrics.items()
    }
    moves: list[tuple[str, str]] = []
    return SimpleNamespace(
        _alarms=Scoped(),
        _metrics=stored,
        _dims_from_list=lambda found: {each["Name"]: each["Value"] for each in found},
        _dims_key=lambda found: "|".join(f"{name}={value}" for name, value in sorted(found.items())),
        _calc_stats=lambda found: {"Sum": sum(each["Value"] for each in found)},
        _record_history=lambda name, old, new, why: None,
        _dispatch_alarm_actions=lambda alarm, old, new, why: moves.append((old, new)),
        moves=moves,
    )


def alarm() -> dict[str, Any]:
    return {
        "AlarmName": "silent", "AlarmArn": "arn", "Namespace": "cronce", "MetricName": "Patrol", "Period": 60,
        "Statistic": "Sum", "Dimensions": [{"Name": "stack", "Value": "shop"}], "StateValue": "OK",
        "ComparisonOperator": "LessThanThreshold", "Threshold": 1.0, "EvaluationPeriods": 3,
        "DatapointsToAlarm": 3, "TreatMissingData": "breaching",
    }  # fmt: skip


def test_an_alarm_looks_at_its_own_dimensions_and_tells_each_change_once() -> None:
    cloudwatch = cloudwatch_with({("cronce", "Patrol", "stack=other"): [1, 2, 3, 4, 5]})
    cloudwatch._alarms["silent"] = alarm()
    clock = AlarmClock(parts(cloudwatch=cloudwatch))
    clock._judge_all(NOW)
    clock._judge_all(NOW)
    assert cloudwatch.moves == [("OK", "ALARM")]
    cloudwatch._metrics["cronce", "Patrol", "stack=shop"] = [{"Timestamp": NOW - NOW % 60 - 60, "Value": 1.0}]
    clock._judge_all(NOW)
    assert cloudwatch.moves == [("OK", "ALARM"), ("ALARM", "OK")]


def test_an_alarm_that_cannot_be_judged_does_not_keep_others_from_it() -> None:
    cloudwatch = cloudwatch_with({})
    cloudwatch._alarms["odd"] = {**alarm(), "ComparisonOperator": "Odd", "TreatMissingData": "odd"}
    cloudwatch._alarms["silent"] = alarm()
    AlarmClock(parts(cloudwatch=cloudwatch))._judge_all(NOW)
    assert cloudwatch.moves == [("OK", "ALARM")]


def test_the_depth_of_a_queue_is_a_metric() -> None:
    seen: list[Any] = []
    cloudwatch = SimpleNamespace(record_metric=lambda *point: seen.append(point))
    queues = Scoped(
        {"http://here/000000000000/letters": {"messages": [{"visible_at": 1.0}, {"visible_at": 9.0}]}}
    )
    AlarmClock(parts(cloudwatch=cloudwatch, sqs=SimpleNamespace(_queues=queues)))._measure_queues(5.0)
    assert seen == [("AWS/SQS", "ApproximateNumberOfMessagesVisible", 1, "Count", {"QueueName": "letters"})]


@pytest.mark.parametrize(
    "arn, settings",
    [
        ("arn:aws:lambda:r:0:function:executor:live", {"MaximumRetryAttempts": 0}),
        ("arn:aws:lambda:r:0:function:executor", None),
    ],
)
def test_an_asynchronous_invocation_has_the_settings_of_its_alias(
    arn: str, settings: dict[str, int] | None
) -> None:
    functions = {"executor": {"event_invoke_configs": {"live": {"MaximumRetryAttempts": 0}}}}
    seen: list[Any] = []
    invoke = adapter._with_alias_settings(
        parts(lambda_svc=SimpleNamespace(_functions=functions)),
        lambda func, event: seen.append((func, event)),
    )
    invoke({"config": {"FunctionName": "executor", "FunctionArn": arn}}, {"run": "x"})
    ((func, event),) = seen
    assert func.get("event_invoke_config") == settings
    assert event == {"run": "x"}


def test_requests_count_as_sent_over_tls() -> None:
    resolve = adapter._as_over_tls(lambda key, context: f"{key} of {context}")
    assert resolve("aws:SecureTransport", "x") == "true"
    assert resolve("aws:PrincipalAccount", "x") == "aws:PrincipalAccount of x"


def test_functions_see_no_installed_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    choose = adapter._without_packages(lambda runtime: ("any", "script"))
    command, script = choose(f"python{sys.version_info.major}.{sys.version_info.minor}")
    done = subprocess.run([command, "-c", "import boto3"], capture_output=True, text=True, check=False)
    assert "No module named 'boto3'" in done.stderr
    assert script == "script"
    with pytest.raises(RuntimeError, match=r"a function wants python2\.7"):
        choose("python2.7")


def test_another_emulator_than_the_pinned_one_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        EmulatorChangedError, match="ministack is not installed, the adapter was written for 1"
    ):
        Parts()
    monkeypatch.setattr("cronce_tools.emulator.parts.version", lambda name: "9.9.9")
    with pytest.raises(EmulatorChangedError, match=r"ministack is 9\.9\.9"):
        Parts()


def test_a_name_that_is_gone_from_the_emulator_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cronce_tools.emulator.parts.version", lambda name: "1.5.33")
    for module, names in NAMES.items():
        monkeypatch.setitem(sys.modules, module, cast("Any", SimpleNamespace(**dict.fromkeys(names))))
    assert Parts()["lambda_svc"]._functions is None
    del sys.modules["ministack.services.lambda_svc"]._functions
    with pytest.raises(EmulatorChangedError, match=r"has no ministack\.services\.lambda_svc\._functions"):
        Parts()


def test_code_is_unpacked_once_and_linked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    archive = tmp_path / "layer.zip"
    with zipfile.ZipFile(archive, "w") as layer:
        layer.writestr("python/module.py", "answer = 42\n")
        layer.writestr("top.py", "")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with shared_zipfile().ZipFile(archive) as layer:
            layer.extractall(tmp_path / name)
    assert (tmp_path / "one/python/module.py").read_text() == "answer = 42\n"
    assert (tmp_path / "one/python").resolve() == (tmp_path / "two/python").resolve()
    assert len(list((tmp_path / "unpacked").iterdir())) == 1
    shutil.rmtree(tmp_path / "one")
    assert (tmp_path / "two/python/module.py").exists()
