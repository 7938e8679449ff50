"""The dashboard shows what there is, by the names that it really has.

Invariants:
- every metric of the code is on it, under the one dimension that keeps stacks apart, and no other of ours;
- metrics of AWS are those of functions, queues and tables of this stack, in the namespace that has them;
- all alarms are on it, and the logs that it shows are the functions' own;
- widgets do not lie on one another, and there are few enough metrics for a dashboard that is free;
- it is there unless somebody leaves it out, and its name says stack and Region;
- the pages have its link, and say that the fourth of an account costs.
"""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any

import pytest

from cronce.engine import metrics
from tests.template.stack import ROOT, Stack, text_of

FREE = 50
"""Metrics that a dashboard of the free tier has at most; aws.amazon.com/cloudwatch/pricing."""
WIDE = 24
"""Columns of a dashboard; Amazon CloudWatch API reference, "Dashboard body structure and syntax"."""
STACK, REGION = "AWS::StackName", "AWS::Region"
KINDS = {
    ("AWS/Lambda", "FunctionName"): ("AWS::Lambda::Function", ""),
    ("AWS/SQS", "QueueName"): ("AWS::SQS::Queue", ".QueueName"),
    ("AWS/DynamoDB", "TableName"): ("AWS::DynamoDB::Table", ""),
}
"""Namespace and dimension: the resource whose name is its value, and by which attribute it is named."""
OF_AWS = {
    "AWS/Lambda": {"Errors", "Throttles", "Duration", "ConcurrentExecutions", "IteratorAge", "AsyncEventAge"},
    "AWS/SQS": {"ApproximateNumberOfMessagesVisible"},
    "AWS/DynamoDB": {"ReadThrottleEvents", "WriteThrottleEvents"},
}
"""Metrics as the services' own pages name them."""


def widgets(stack: Stack, *conditions: str) -> list[dict[str, Any]]:
    made = stack.under("HasDashboard", *conditions)
    text = text_of(made.properties("StackDashboard")["DashboardBody"])
    found: list[dict[str, Any]] = json.loads(text)["widgets"]
    return found


def shown(stack: Stack) -> list[tuple[str, str, str, str, dict[str, str]]]:
    """Namespace, name, dimension, its value and options of each metric."""
    return [
        (*metric[:4], metric[4])
        for widget in widgets(stack)
        for metric in widget["properties"].get("metrics", ())
    ]


def own_names() -> set[str]:
    """Of the metrics that every stack has."""
    names = {value for name, value in vars(metrics).items() if name.isupper() and isinstance(value, str)}
    return names - {metrics.JOB_IN_TROUBLE}


def test_every_metric_of_the_code_is_shown_and_no_other(stack: Stack) -> None:
    ours = [metric for metric in shown(stack) if metric[0] == "cronce"]
    assert {name for _, name, *_ in ours} == own_names()
    assert {(dimension, value) for _, _, dimension, value, _ in ours} == {("stack", f"${{{STACK}}}")}


def test_metrics_of_aws_are_those_of_resources_of_this_stack(stack: Stack) -> None:
    for namespace, name, dimension, value, _ in shown(stack):
        if namespace == "cronce":
            continue
        kind, attribute = KINDS[namespace, dimension]
        named = re.fullmatch(r"\$\{(\w+)((?:\.\w+)?)\}", value)
        assert named, value
        assert named[2] == attribute, value
        assert stack.resource(named[1])["Type"] == kind, value
        assert name in OF_AWS[namespace]


@pytest.mark.parametrize("metric", ["Errors", "Throttles", "Duration"])
def test_each_function_is_shown(stack: Stack, metric: str) -> None:
    values = {value for _, name, _, value, _ in shown(stack) if name == metric}
    assert values == {f"${{{name}}}" for name in stack.of_type("AWS::Lambda::Function")}


def test_each_queue_is_shown(stack: Stack) -> None:
    values = {value for namespace, _, _, value, _ in shown(stack) if namespace == "AWS/SQS"}
    assert values == {f"${{{name}.QueueName}}" for name in stack.of_type("AWS::SQS::Queue")}


def test_a_gauge_is_shown_by_its_maximum_and_a_count_by_its_sum(stack: Stack) -> None:
    gauges = {metrics.JOBS_MISSED, metrics.JOBS_FAILED, metrics.JOBS_HELD}
    for namespace, name, _, _, options in shown(stack):
        if namespace == "cronce":
            assert options["stat"] == ("Maximum" if name in gauges else "Sum"), name


@pytest.mark.parametrize("asked", [(), ("HasJobMetrics",)])
def test_all_alarms_are_on_it(stack: Stack, asked: tuple[str, ...]) -> None:
    (alarms,) = [
        widget["properties"]["alarms"] for widget in widgets(stack, *asked) if widget["type"] == "alarm"
    ]
    made = stack.under(*asked).of_type("AWS::CloudWatch::Alarm")
    assert len(alarms) == len(set(alarms))
    assert set(alarms) == {f"${{{name}.Arn}}" for name in made}


def test_the_logs_that_it_shows_are_the_functions_own(stack: Stack) -> None:
    (query,) = [widget["properties"]["query"] for widget in widgets(stack) if widget["type"] == "log"]
    groups = re.findall(r"SOURCE '\$\{(\w+)\}'", query)
    assert groups == list(stack.of_type("AWS::Logs::LogGroup"))


def test_widgets_have_their_places_and_are_of_this_region(stack: Stack) -> None:
    places = [
        {
            (widget["x"] + right, widget["y"] + down)
            for right in range(widget["width"])
            for down in range(widget["height"])
        }
        for widget in widgets(stack)
    ]
    assert all(not one & other for one, other in combinations(places, 2))
    assert max(x for place in places for x, _ in place) == WIDE - 1
    for widget in widgets(stack):
        if widget["type"] in {"metric", "log"}:
            assert widget["properties"]["region"] == f"${{{REGION}}}"


def test_it_is_one_of_those_that_are_free(stack: Stack) -> None:
    assert 25 < len(shown(stack)) <= FREE


def test_it_can_be_left_out_and_its_name_is_its_own(stack: Stack) -> None:
    name = stack.properties("StackDashboard")["DashboardName"]
    assert name == {"Fn::Sub": f"${{{STACK}}}-${{{REGION}}}"}
    assert stack.template["Conditions"]["HasDashboard"] == {"Fn::Equals": [{"Ref": "Dashboard"}, "one"]}
    assert stack.template["Parameters"]["Dashboard"]["Default"] == "one"
    assert "StackDashboard" in stack.under("HasDashboard").template["Resources"]
    assert "StackDashboard" not in stack.under().template["Resources"]


def test_the_pages_have_its_link_and_what_the_fourth_of_an_account_costs() -> None:
    name = "<stack>-<Region>"
    link = f"https://console.aws.amazon.com/cloudwatch/home?region=<Region>#dashboards/dashboard/{name}"
    assert link in (ROOT / "docs/alarms.md").read_text()
    deploy = " ".join((ROOT / "docs/deploy.md").read_text().split())
    assert "the fourth stack of an account" in deploy
    assert "`Dashboard: none`" in deploy
