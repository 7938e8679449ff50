"""Alarms, judged by a model of CloudWatch's rules, since no local engine evaluates missing data.

`tests/alarms` holds the model to CloudWatch's documentation, and plays faults against these alarms.

Invariants:
- P10: a scheduler or watchdog silent for six minutes is in ALARM, one that skips a minute or two is not;
- P91: no alarm needs to remember a day;
- P93: the heartbeats are three of three minutes, and silence is the fault;
- P94: an alarm on a gauge ends with the first 0;
- P95: a new stack's heartbeats are not judged before they could beat, other alarms are quiet without data;
- P96: only the two heartbeats take missing data as breaching, and one failed invocation is no alarm;
- alarms and code name the same metrics, with the one dimension that keeps stacks apart.
"""

from typing import Any

import pytest

from cronce.engine import metrics
from cronce_tools.local.alarm_model import AlarmModel, State
from tests.template.stack import Stack, resource_label

HEARTBEATS = {"SchedulerSilentAlarm": metrics.TICK_COMPLETED, "WatchdogSilentAlarm": metrics.PATROL_COMPLETED}
GAUGES = {
    "JobsMissedAlarm": metrics.JOBS_MISSED,
    "JobsFailedAlarm": metrics.JOBS_FAILED,
    "JobsHeldAlarm": metrics.JOBS_HELD,
}
COUNTS = {
    "ItemsUnreadableAlarm": metrics.ITEMS_UNREADABLE,
    "DispatchFailuresAlarm": metrics.DISPATCH_FAILURES,
    "StreamLagAlarm": metrics.STARTS_BY_SWEEP,
    "NoticesFailedAlarm": metrics.NOTICES_FAILED,
}
OF_LAMBDA = {
    "SchedulerErrorsAlarm": ("SchedulerFunction", "Errors"),
    "WatchdogErrorsAlarm": ("WatchdogFunction", "Errors"),
    "ExecutorThrottledAlarm": ("ExecutorFunction", "Throttles"),
}
QUEUES = {
    "RuleDeadLetterAlarm": "RuleDeadLetterQueue",
    "DispatchGivenUpAlarm": "DispatchFailureQueue",
    "ExecutorGivenUpAlarm": "ExecutorFailureQueue",
}
OURS = HEARTBEATS | GAUGES | COUNTS
ALL = [*OURS, *OF_LAMBDA, *QUEUES]

DAY = 24 * 3600


def alarms(stack: Stack) -> dict[str, dict[str, Any]]:
    return stack.of_type("AWS::CloudWatch::Alarm")


def test_all_alarms_are_judged_here(stack: Stack) -> None:
    assert set(alarms(stack)) == {*ALL, "JobInTroubleAlarm"}  # this one: test_job_alarm.py
    assert set(alarms(stack.under())) == set(ALL)


@pytest.mark.parametrize("alarm", HEARTBEATS)
def test_p93_a_heartbeat_is_three_of_three_minutes_and_missing_is_breaching(stack: Stack, alarm: str) -> None:
    properties = stack.properties(alarm)
    expected = {
        "Statistic": "Sum",
        "ComparisonOperator": "LessThanThreshold",
        "Threshold": 1,
        "Period": 60,
        "EvaluationPeriods": 3,
        "DatapointsToAlarm": 3,
        "TreatMissingData": "breaching",
    }
    assert {key: properties[key] for key in expected} == expected


@pytest.mark.parametrize("alarm", HEARTBEATS)
def test_p10_silence_shows_within_six_minutes(stack: Stack, alarm: str) -> None:
    heartbeat = AlarmModel.of(stack.properties(alarm))
    beating: list[float | None] = [1.0] * 10
    states = [heartbeat.state(beating + [None] * minutes) for minutes in range(7)]
    assert states[:3] == [State.OK] * 3
    assert states[6] == State.ALARM


@pytest.mark.parametrize("alarm", HEARTBEATS)
def test_p10_it_ends_with_the_beat_and_one_or_two_lost_beats_are_nothing(stack: Stack, alarm: str) -> None:
    heartbeat = AlarmModel.of(stack.properties(alarm))
    silence: list[float | None] = [1.0, *[None] * 10]
    assert heartbeat.state(silence) == State.ALARM
    assert heartbeat.state([*silence, 1.0]) == State.OK
    assert heartbeat.state([1.0, 1.0, 1.0, None, None]) == State.OK
    assert heartbeat.state([1.0, None, 1.0, None, 1.0, None]) == State.OK


@pytest.mark.parametrize("alarm", HEARTBEATS)
def test_p95_a_heartbeat_is_not_judged_before_it_could_beat(stack: Stack, alarm: str) -> None:
    """It waits for its first full window, but not for ever: a scheduler that never starts is told too."""
    assert stack.properties(alarm)["WarmUpConfiguration"] == {"WarmUpPeriodDurationInMinutes": 15}


@pytest.mark.parametrize("late", range(12))
@pytest.mark.parametrize("alarm", HEARTBEATS)
def test_p95_a_first_beat_that_is_minutes_late_is_no_alarm(stack: Stack, alarm: str, late: int) -> None:
    """Alarms are among the first things that a deployment makes, functions and rules among the last."""
    beats: list[float | None] = [*[None] * late, *[1.0] * 15]
    states = AlarmModel.of(stack.properties(alarm)).first_states(beats)
    assert State.ALARM not in states
    assert states[late + 2 :] == [State.OK] * 13


@pytest.mark.parametrize("alarm", HEARTBEATS)
def test_p95_the_model_would_show_a_false_alarm(stack: Stack, alarm: str) -> None:
    properties = dict(stack.properties(alarm))
    del properties["WarmUpConfiguration"]
    assert State.ALARM in AlarmModel.of(properties).first_states([None, None, None, 1.0, 1.0])


@pytest.mark.parametrize("alarm", HEARTBEATS)
def test_p95_a_heart_that_never_beats_is_told_after_the_warm_up(stack: Stack, alarm: str) -> None:
    states = AlarmModel.of(stack.properties(alarm)).first_states([None] * 20)
    assert states == [State.INSUFFICIENT_DATA] * 15 + [State.ALARM] * 5


@pytest.mark.parametrize("alarm", HEARTBEATS)
def test_p95_one_that_stops_after_its_first_minutes_is_told_as_ever(stack: Stack, alarm: str) -> None:
    states = AlarmModel.of(stack.properties(alarm)).first_states([1.0, 1.0, 1.0, *[None] * 6])
    assert states[2] == State.OK
    assert states[-1] == State.ALARM


@pytest.mark.parametrize("alarm", [name for name in ALL if name not in HEARTBEATS])
def test_p95_the_others_are_quiet_without_any_data(stack: Stack, alarm: str) -> None:
    assert State.ALARM not in AlarmModel.of(stack.properties(alarm)).first_states([None] * 20)


def test_p95_what_the_sweep_starts_in_the_first_quarter_of_an_hour_is_no_alarm(stack: Stack) -> None:
    """A new mapping may take minutes until it polls; a run that is due by then is the sweep's."""
    lag = AlarmModel.of(stack.properties("StreamLagAlarm"))
    assert lag.first_states([1.0] * 17) == [State.INSUFFICIENT_DATA] * 15 + [State.ALARM] * 2


@pytest.mark.parametrize("alarm", GAUGES)
def test_p94_a_gauge_alarms_at_one_and_ends_at_zero(stack: Stack, alarm: str) -> None:
    properties = stack.properties(alarm)
    assert properties["Statistic"] == "Maximum"
    gauge = AlarmModel.of(properties)
    assert gauge.state([0.0, 0.0, 1.0]) == State.ALARM
    assert gauge.state([1.0, 1.0, 0.0]) == State.OK
    assert gauge.state([0.0] * 5) == State.OK


def test_p96_only_the_heartbeats_take_missing_data_as_breaching(stack: Stack) -> None:
    treatment = {name: properties["TreatMissingData"] for name, properties in alarms(stack).items()}
    assert {name for name, treat in treatment.items() if treat == "breaching"} == set(HEARTBEATS)
    assert set(treatment.values()) == {"breaching", "notBreaching"}


@pytest.mark.parametrize("alarm", COUNTS)
def test_p96_a_count_that_nobody_publishes_is_fine(stack: Stack, alarm: str) -> None:
    properties = stack.properties(alarm)
    assert properties["Statistic"] == "Sum"
    assert AlarmModel.of(properties).state([None] * 10) == State.OK


def test_p96_one_failed_dispatch_is_no_alarm_and_a_lasting_failure_is(stack: Stack) -> None:
    failures = AlarmModel.of(stack.properties("DispatchFailuresAlarm"))
    assert failures.state([None, None, None, 40.0, None, None, None]) == State.OK
    assert failures.state([1.0, None, 1.0, None, 1.0]) == State.ALARM


@pytest.mark.parametrize("alarm", OF_LAMBDA)
def test_p96_one_failed_invocation_is_no_alarm_and_every_other_one_is(stack: Stack, alarm: str) -> None:
    """The heartbeats do not see the latter: each minute that is lost is followed by one that is not."""
    failures = AlarmModel.of(stack.properties(alarm))
    assert failures.state([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]) == State.OK
    assert failures.state([0.0, 1.0, 1.0, 0.0, 0.0, 0.0]) == State.OK
    assert failures.state([1.0, 0.0, 1.0, 0.0, 1.0]) == State.ALARM
    assert failures.state([1.0] * 3 + [0.0] * 10) == State.OK


@pytest.mark.parametrize("alarm", OF_LAMBDA)
def test_alarms_on_lambdas_metrics_are_those_of_this_stacks_functions(stack: Stack, alarm: str) -> None:
    function, metric = OF_LAMBDA[alarm]
    properties = stack.properties(alarm)
    assert (properties["Namespace"], properties["MetricName"]) == ("AWS/Lambda", metric)
    assert properties["Dimensions"] == [{"Name": "FunctionName", "Value": {"Ref": function}}]
    assert properties["Statistic"] == "Sum"


@pytest.mark.parametrize("alarm", ["ItemsUnreadableAlarm", "StreamLagAlarm", "NoticesFailedAlarm"])
def test_p96_one_of_these_is_enough(stack: Stack, alarm: str) -> None:
    assert AlarmModel.of(stack.properties(alarm)).state([None, None, 1.0]) == State.ALARM


def test_p91_no_alarm_looks_back_a_day(stack: Stack) -> None:
    windows = [
        properties["Period"] * properties["EvaluationPeriods"]
        for properties in alarms(stack.under()).values()
    ]
    assert max(windows) < DAY / 24


@pytest.mark.parametrize("alarm", OURS)
def test_alarms_and_code_name_the_same_metrics_of_this_stack(stack: Stack, alarm: str) -> None:
    properties = stack.properties(alarm)
    assert (properties["Namespace"], properties["MetricName"]) == ("cronce", OURS[alarm])
    assert properties["Dimensions"] == [{"Name": "stack", "Value": {"Ref": "AWS::StackName"}}]


@pytest.mark.parametrize("alarm", QUEUES)
def test_whatever_is_given_up_raises_an_alarm(stack: Stack, alarm: str) -> None:
    properties = stack.properties(alarm)
    assert (properties["Namespace"], properties["MetricName"]) == (
        "AWS/SQS",
        "ApproximateNumberOfMessagesVisible",
    )
    (dimension,) = properties["Dimensions"]
    assert dimension == {"Name": "QueueName", "Value": {"Fn::GetAtt": [QUEUES[alarm], "QueueName"]}}
    assert AlarmModel.of(properties).state([0.0, 1.0]) == State.ALARM
    assert AlarmModel.of(properties).state([1.0, 0.0]) == State.OK


@pytest.mark.parametrize("alarm", ALL)
def test_every_alarm_tells_the_topic_when_it_begins_and_when_it_ends(stack: Stack, alarm: str) -> None:
    properties = stack.properties(alarm)
    assert [resource_label(action) for action in properties["AlarmActions"]] == ["NoticeTopic"]
    assert [resource_label(action) for action in properties["OKActions"]] == ["NoticeTopic"]
    assert properties.get("ActionsEnabled", True) is True


@pytest.mark.parametrize("alarm", ALL)
def test_every_alarm_says_what_happened_and_what_to_do(stack: Stack, alarm: str) -> None:
    """CloudWatch takes 1,024 characters; less than two sentences cannot say both."""
    description = stack.properties(alarm)["AlarmDescription"]
    assert len(description) <= 1024
    assert description.count(". ") >= 1
