"""Whether the account leaves the functions room to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from cronce_tools.doctor.expected import Expected
from cronce_tools.doctor.finding import Finding, Level
from cronce_tools.doctor.place import Check, Place
from cronce_tools.doctor.settings import shown

NEW_ACCOUNT = 10
"""Functions that a new account runs at once."""
QUOTA = "aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384"
"""How more is asked for: the code is that of Lambda's concurrent executions, in every account."""
HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitFacts:
    """What the account lets run at once.

    Attributes:
        limit: functions of the whole account.
        unreserved: of those, what no function has reserved.
    """

    limit: int
    unreserved: int


def look_at_limit(place: Place) -> LimitFacts:
    """Ask Lambda for the account's limits."""
    found = place.aws.ask("lambda", "get_account_settings")["AccountLimit"]
    return LimitFacts(
        limit=found["ConcurrentExecutions"], unreserved=found.get("UnreservedConcurrentExecutions", 0)
    )


def judge_limit(expected: Expected, facts: LimitFacts) -> Iterator[Finding]:
    """Say what a small limit means."""
    if facts.unreserved <= NEW_ACCOUNT:
        after = "" if any(expected.reserved.values()) else ", then set ExecutorReservedConcurrency"
        yield Finding(
            what=f"the account runs {facts.limit} functions at once, {facts.unreserved} of them unreserved",
            why="jobs that hang can use all of it up: then no tick, no run and no patrol begins, and only "
            "the alarms SchedulerSilent and WatchdogSilent say so",
            remedy=f"{QUOTA} --desired-value 1000{after}",
            level=Level.HINT,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ReservedFacts:
    """What a function has reserved, which is also its limit.

    Attributes:
        name: of the function.
        reserved: invocations; None: none.
    """

    name: str
    reserved: int | None


def look_at_reserved(place: Place) -> dict[str, ReservedFacts]:
    """Ask Lambda what is reserved for each function."""
    return {
        function: _reserved(place, place.deployment.name(function)) for function in place.expected.functions
    }


def _reserved(place: Place, name: str) -> ReservedFacts:
    found = place.aws.find("lambda", "get_function_concurrency", FunctionName=name)
    return ReservedFacts(name=name, reserved=(found or {}).get("ReservedConcurrentExecutions"))


def judge_reserved(expected: Expected, facts: Mapping[str, ReservedFacts]) -> Iterator[Finding]:
    """Compare it with the parameter."""
    for logical_id, function in facts.items():
        have, want = function.reserved, expected.reserved[logical_id]
        if have == want:
            continue
        name = f"--function-name {function.name}"
        yield Finding(
            what=f"invocations reserved for {function.name}: {shown(have)}, expected {shown(want)}",
            why="it is never invoked" if have == 0 else "it is both the limit of the function and its share",
            remedy=f"aws lambda delete-function-concurrency {name}"
            if want is None
            else f"aws lambda put-function-concurrency {name} --reserved-concurrent-executions {want}",
        )


def look_at_throttles(place: Place) -> dict[str, int]:
    """Ask CloudWatch how many calls of each function were refused in the last hour, by its name."""
    names = [place.deployment.name(function) for function in place.expected.functions]
    queries = [
        {
            "Id": f"throttles{number}",
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/Lambda",
                    "MetricName": "Throttles",
                    "Dimensions": [{"Name": "FunctionName", "Value": name}],
                },
                "Period": int(HOUR.total_seconds()),
                "Stat": "Sum",
            },
        }
        for number, name in enumerate(names)
    ]
    times = {"StartTime": place.now - HOUR, "EndTime": place.now}
    counts = dict.fromkeys(names, 0.0)
    for page in place.aws.pages("cloudwatch", "get_metric_data", MetricDataQueries=queries, **times):
        for result in page["MetricDataResults"]:
            counts[names[int(result["Id"].removeprefix("throttles"))]] += sum(result["Values"])
    return {name: int(count) for name, count in counts.items()}


def judge_throttles(_: Expected, facts: Mapping[str, int]) -> Iterator[Finding]:
    """No call should be refused."""
    for name, count in facts.items():
        if count:
            yield Finding(
                what=f"{count} calls of {name} were throttled in the last hour",
                why="ticks are lost, and runs start late",
                remedy="see what else runs (ConcurrentExecutions of AWS/Lambda in CloudWatch); for more: "
                f"{QUOTA} --desired-value 1000",
            )


LIMIT = Check(name="account limit", look=look_at_limit, judge=judge_limit, why="everything shares it")
RESERVED = Check(name="reserved", look=look_at_reserved, judge=judge_reserved, why="it limits what runs")
THROTTLES = Check(
    name="throttles", look=look_at_throttles, judge=judge_throttles, why="ticks are lost, and runs start late"
)
