"""The model of CloudWatch's alarms says what CloudWatch's documentation says.

Invariants:
- P93: every example of the user guide has the state that the guide gives, under each of the four treatments;
- CloudFormation's defaults are the model's, and what is not modelled is an error;
- a warm-up ends with the first full window, or at its end if that was asked for;
- statistics over periods are CloudWatch's; a query gives the series that it asks for, the worst of them.

Pages of the Amazon CloudWatch User Guide (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/):
alarms-and-missing-data.html (MISSING), alarm-evaluation.html (EVALUATION), alarm-warm-up.html; and its
edition of 2018, whose tables have other rows (OLD: the repository awsdocs/amazon-cloudwatch-user-guide,
doc_source/AlarmThatSendsEmail.md).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce_tools.local.alarm_model import AlarmModel, State, Treatment
from cronce_tools.local.alarms import Alarm
from cronce_tools.local.metrics import MINUTE, Metrics, Points, Series

MISSING, OLD = "alarms-and-missing-data", "AlarmThatSendsEmail, 2018"
EVALUATION = "alarm-evaluation"
OK, ALARM, NOT_ENOUGH = State.OK, State.ALARM, State.INSUFFICIENT_DATA
KEPT = None
"""The guide says: retain current state."""

Row = tuple[str, int, str, State | None, State | None, State | None, State | None]

# Source, M of three, points (X breaches, 0 does not, - is missing; the newest last), then the state if a
# missing point is treated as missing, ignore, breaching, notBreaching.
EXAMPLES: list[Row] = [
    (MISSING, 3, "0 - X - X", OK, OK, OK, OK),
    (MISSING, 3, "0 - - - -", OK, OK, OK, OK),
    (MISSING, 3, "- - - - -", NOT_ENOUGH, KEPT, ALARM, OK),
    (MISSING, 3, "0 X X - X", ALARM, ALARM, ALARM, ALARM),
    (MISSING, 3, "- - X - -", ALARM, KEPT, ALARM, OK),
    (MISSING, 2, "0 - X - X", ALARM, ALARM, ALARM, ALARM),
    (MISSING, 2, "0 0 X 0 X", ALARM, ALARM, ALARM, ALARM),
    (MISSING, 2, "0 - X - -", OK, OK, ALARM, OK),
    (MISSING, 2, "- - - - 0", OK, OK, ALARM, OK),
    (MISSING, 2, "- - - X -", ALARM, KEPT, ALARM, OK),
    (OLD, 3, "- - - - X", NOT_ENOUGH, KEPT, ALARM, OK),
    (OLD, 3, "X - - - -", ALARM, KEPT, ALARM, OK),
    (OLD, 2, "- - - - X", NOT_ENOUGH, KEPT, ALARM, OK),
]
TREATMENTS = (Treatment.MISSING, Treatment.IGNORE, Treatment.BREACHING, Treatment.NOT_BREACHING)


def points(text: str) -> Points:
    """A row of the guide."""
    return [{"X": 1.0, "0": 0.0, "-": None}[mark] for mark in text.split()]


def model(needed: int, treatment: Treatment, looked_at: int = 3, **settings: Any) -> AlarmModel:
    return AlarmModel(
        needed=needed,
        looked_at=looked_at,
        threshold=1,
        comparison="GreaterThanOrEqualToThreshold",
        treatment=treatment,
        **settings,
    )


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("column, treatment", list(enumerate(TREATMENTS, 3)))
@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: f"{row[0]}: {row[1]} of 3, {row[2]}")
def test_p93_the_model_gives_the_states_of_the_documentation(
    row: Row, column: int, treatment: Treatment, before: State
) -> None:
    expected = row[column]
    assert model(row[1], treatment).state(points(row[2]), before) is (
        before if expected is KEPT else expected
    )


# "The alarm does not go immediately into ALARM state when the data is either - - - - X or - - - X - and
# Datapoints to Alarm is 3", so that - - - X 0 and - - X - 0 do not alarm; "However, if the last few data
# points are - - X - -" it does. (MISSING, "Avoiding premature transitions to alarm state".)
@pytest.mark.parametrize(
    "row, state",
    [
        ("- - - - X", NOT_ENOUGH),
        ("- - - X -", NOT_ENOUGH),
        ("- - - X 0", OK),
        ("- - X - 0", OK),
        ("- - X - -", ALARM),
    ],
)
def test_p93_one_breaching_point_alarms_once_it_is_old_enough(row: str, state: State) -> None:
    assert model(3, Treatment.MISSING).state(points(row)) is state


def test_p93_the_next_evaluation_after_the_second_example_is_an_alarm() -> None:
    """It says so below its table: the one point that does not breach has left the range by then."""
    assert model(3, Treatment.BREACHING).state(points("0 - - - - -")) is ALARM


def test_p93_the_figure_of_the_guide_is_in_alarm_from_the_third_point_to_the_first_good_one() -> None:
    """EVALUATION: threshold three, 3 of 3; points three to five breach, six does not, nine breaches alone."""
    figure = AlarmModel(
        needed=3,
        looked_at=3,
        threshold=3,
        comparison="GreaterThanThreshold",
        treatment=Treatment.MISSING,
    )
    values: Points = [2, 2, 4, 5, 4, 2, 2, 2, 4, 2]
    states = [figure.state(values[:number]) for number in range(3, 11)]
    assert states == [OK, OK, ALARM, OK, OK, OK, OK, OK]


@pytest.mark.parametrize("needed, breaching, state", [(4, 4, ALARM), (4, 3, OK), (1, 1, ALARM), (5, 4, OK)])
def test_p93_m_of_n_counts_points_wherever_they_are_within_n(
    needed: int, breaching: int, state: State
) -> None:
    """EVALUATION: they need not be consecutive; what lies before the last N does not count."""
    scattered: Points = [*[1.0] * 4, *[0.0] * (5 - breaching), *[1.0] * breaching]
    assert model(needed, Treatment.MISSING, 5).state(scattered) is state


@pytest.mark.parametrize(
    "comparison, breaching",
    [
        ("GreaterThanThreshold", [2]),
        ("GreaterThanOrEqualToThreshold", [1, 2]),
        ("LessThanThreshold", [0]),
        ("LessThanOrEqualToThreshold", [0, 1]),
    ],
)
def test_each_comparison_is_its_name(comparison: str, breaching: list[int]) -> None:
    one = AlarmModel(
        needed=1, looked_at=1, threshold=1, comparison=comparison, treatment=Treatment.NOT_BREACHING
    )
    assert [value for value in range(3) if one.state([float(value)]) is ALARM] == breaching


SETTINGS: dict[str, Any] = {
    "EvaluationPeriods": 4,
    "Threshold": 2,
    "ComparisonOperator": "LessThanThreshold",
}


def test_what_an_alarm_leaves_out_has_cloudformations_default() -> None:
    plain = AlarmModel.of(SETTINGS)
    assert (plain.needed, plain.looked_at, plain.threshold) == (4, 4, 2)
    assert plain.treatment is Treatment.MISSING
    assert plain.warm_up == 0


def test_a_treatment_that_cloudwatch_does_not_know_is_an_error() -> None:
    with pytest.raises(ValueError, match="breach"):
        AlarmModel.of({**SETTINGS, "TreatMissingData": "breach"})


# alarm-warm-up: "During warm-up, the alarm stays in INSUFFICIENT_DATA"; it ends early "as soon as enough data
# fills its evaluation window", or not before its end, if OnlyStartEvaluatingAfterWarmUpPeriodEnds.
@pytest.mark.parametrize(
    "whole, row, first_judged",
    [
        (False, "- - X X X 0", 5),
        (False, "X - X - X X X", 7),
        (False, "- - - - - - - - -", 9),
        (True, "0 0 0 0 0 0 0 0 0 0", 9),
    ],
)
def test_p95_a_warm_up_ends_with_the_first_full_window_or_at_its_end(
    whole: bool, row: str, first_judged: int
) -> None:
    new = model(3, Treatment.BREACHING, warm_up=8, whole_warm_up=whole)
    states = new.first_states(points(row))
    assert set(states[: first_judged - 1]) == {NOT_ENOUGH}
    assert NOT_ENOUGH not in states[first_judged - 1 :]


def test_a_warm_up_does_not_begin_again() -> None:
    states = model(3, Treatment.BREACHING, warm_up=20).first_states(points("0 0 0 - - - - -"))
    assert states == [NOT_ENOUGH, NOT_ENOUGH, OK, OK, OK, OK, OK, ALARM]


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def recorded(**values: list[float | None]) -> Metrics:
    """Metrics of a function, a value in each of the minutes before NOON, the newest last."""
    metrics = Metrics()
    for name, row in values.items():
        for back, value in enumerate(reversed(row), 1):
            if value is not None:
                metrics.record(Series.named("AWS/Lambda", name, {"F": "f"}), NOON - back * MINUTE, value)
    return metrics


@pytest.mark.parametrize(
    "statistic, value",
    [("Sum", 6.0), ("Maximum", 3.0), ("Minimum", 1.0), ("Average", 2.0), ("SampleCount", 3.0)],
)
def test_a_point_is_a_statistic_of_all_values_of_its_period(statistic: str, value: float) -> None:
    metrics = recorded(Errors=[9.0, 1.0, None, 2.0, 3.0, None])
    series = Series.named("AWS/Lambda", "Errors", {"F": "f"})
    assert metrics.statistic(series, statistic, NOON, 1, timedelta(minutes=5)) == [value]
    assert metrics.statistic(series, statistic, NOON + timedelta(minutes=9), 2) == [None, None]


def test_other_dimensions_are_another_series() -> None:
    metrics = recorded(Errors=[1.0])
    assert metrics.statistic(Series.named("AWS/Lambda", "Errors", {}), "Sum", NOON, 1) == [None]


def on_query(text: str) -> Alarm:
    """An alarm on a query, as the template has it."""
    query = {"Id": "jobs", "Expression": {"Fn::Sub": text}, "Period": 60, "ReturnData": True}
    settings = {"EvaluationPeriods": 1, "TreatMissingData": "notBreaching", "Metrics": [query]}
    return Alarm("Any", {**SETTINGS, **settings}, "shop")


def by_job(**values: list[float | None]) -> Metrics:
    """A metric of jobs, in each of the minutes before NOON, and what is like it but another one."""
    metrics = Metrics()
    for job, row in values.items():
        for back, value in enumerate(reversed(row), 1):
            if value is not None:
                at = NOON - back * MINUTE
                metrics.record(Series.named("cronce", "Bad", {"stack": "shop", "job": job}), at, value)
                metrics.record(Series.named("cronce", "Bad", {"stack": "mill", "job": f"{job}2"}), at, 9)
                metrics.record(Series.named("cronce", "Bad", {"stack": "shop"}), at, 9)
                metrics.record(Series.named("cronce", "Good", {"stack": "shop", "job": job}), at, 9)
    return metrics


QUERY = (
    'SELECT MAX(Bad) FROM SCHEMA("cronce", stack, job) '
    "WHERE stack = '${AWS::StackName}' GROUP BY job ORDER BY MAX() DESC LIMIT 2"
)


# User guide, "Metrics Insights query components and syntax": GROUP BY gives a series for each value, of which
# LIMIT keeps the first by ORDER BY. A series exists only while it has data (Acting_Alarm_Changes).
def test_a_query_gives_the_worst_series_of_those_that_have_data() -> None:
    metrics = by_job(belt=[0.0, 1.0], bank=[0.0, 0.0], menu=[None, 2.0], gone=[3.0, *[None] * 30])
    found = on_query(QUERY).contributors(metrics, NOON)
    assert {job: points[-2:] for job, points in found.items()} == {"menu": [None, 2.0], "belt": [0.0, 1.0]}


@pytest.mark.parametrize(
    "old, new",
    [
        ("MAX(Bad)", "SUM(Bad)"),
        (" GROUP BY job", ""),
        ("BY job", "BY day"),
        (" LIMIT 2", ""),
        ("stack, job", "job"),
    ],
)
def test_a_query_that_is_not_modelled_is_an_error(old: str, new: str) -> None:
    with pytest.raises(ValueError, match="not modelled"):
        on_query(QUERY.replace(old, new)).contributors(by_job(belt=[1.0]), NOON)
