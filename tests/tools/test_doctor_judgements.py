"""What the doctor's checks make of facts: pure, facts in, findings out. For each check, well is silent.

* A scheduler that is silent, never ticked, or left its lease behind; clocks that disagree.
* Zone data and jobs that are not those of the working copy: hints, unless the data is too old.
* Jobs that are held, paused for long or unreadable; runs that nobody claims or wakes; items of a later
  release.
* Runtimes near their end; an account in which jobs can take all there is; nobody who is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

import pytest

from cronce.core.answers import JobReads
from cronce.core.jobstate import Held, JobState, Pause
from cronce.core.lease import BELIEF_MARGIN, CLOCK_SKEW, LEASE_TTL, Lease
from cronce.core.moves import PENDING_REDISPATCH
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Dispatch, RunStatus
from cronce_tools.doctor.alarms import AlarmFacts, Subscription, TopicFacts, judge_alarms, judge_topic
from cronce_tools.doctor.concurrency import LimitFacts, judge_limit, judge_throttles
from cronce_tools.doctor.expected import Expected, expected_of
from cronce_tools.doctor.finding import Finding, Level
from cronce_tools.doctor.functions import DEPRECATED, SOON, FunctionFacts, judge_functions
from cronce_tools.doctor.ledger import (
    JobsHereFacts,
    LeaseFacts,
    ZoneFacts,
    judge_jobs_here,
    judge_lease,
    judge_zones,
)
from cronce_tools.doctor.runs import (
    LONG_PAUSE,
    UNCLAIMED,
    JobFacts,
    RunFacts,
    judge_jobs,
    judge_runs,
    pending_since,
)
from cronce_tools.doctor.tables import TableFacts, judge_tables
from cronce_tools.doctor.values import Deployment, short
from cronce_tools.local.template import TEMPLATE, Template, TemplateError

NOW = datetime(2026, 10, 30, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=size) for size in (1, 60, 3600, 86_400))


TEXT = TEMPLATE.read_text()


@pytest.fixture(scope="module")
def expected() -> Expected:
    """What the project's template makes of a stack whose things are called as in the template."""
    return expected_of(Template.load(), named_as_in(Template.load()))


def named_as_in(template: Template) -> Deployment:
    names = {name: name for name in template.resources}
    names |= {f"{name}Aliaslive": f"{name}:live" for name in template.resources}
    return Deployment(stack="shop", parameters={}, names=names)


def said(found: Iterator[Finding]) -> list[tuple[Level, str]]:
    findings = list(found)
    assert all(each.why and each.remedy for each in findings)
    return [(each.level, each.what) for each in findings]


def only(found: Iterator[Finding]) -> tuple[Level, str]:
    (one,) = said(found)
    return one


# --- the scheduler ---

LEASE = Lease(
    owner=None, fencing_token=7, lease_until=datetime(1970, 1, 1, tzinfo=UTC), completed_at=NOW - 30 * SECOND
)


def lease(skew: timedelta = timedelta(0), **changes: Any) -> LeaseFacts:
    return LeaseFacts(lease=replace(LEASE, **changes), skew=skew, now=NOW)


@pytest.mark.parametrize(
    "facts, what",
    [
        (LeaseFacts(lease=None, skew=timedelta(0), now=NOW), "no tick of the scheduler has completed yet"),
        (lease(completed_at=None), "no tick of the scheduler has completed yet"),
        (
            lease(completed_at=NOW - 5 * MINUTE),
            "the last tick completed 5 min ago, at Fri 2026-10-30 11:55 UTC",
        ),
        (
            lease(owner="me", lease_until=NOW - 90 * SECOND),
            "the lease of the scheduler ended 1 min 30 s ago and was never given back",
        ),
        (
            lease(owner="me", lease_until=NOW + LEASE_TTL + BELIEF_MARGIN + MINUTE),
            "the lease of the scheduler reaches until Fri 2026-10-30 12:02:50 UTC",
        ),
        (lease(skew=6 * SECOND), "the clock of this machine is 6.0 s behind that of the store"),
        (lease(skew=-6 * SECOND), "the clock of this machine is 6.0 s ahead of that of the store"),
    ],
)
def test_a_scheduler_that_does_not_tick_is_found(expected: Expected, facts: LeaseFacts, what: str) -> None:
    assert only(judge_lease(expected, facts)) == (Level.WRONG, what)


@pytest.mark.parametrize(
    "facts",
    [
        lease(),
        lease(completed_at=NOW - 3 * MINUTE),
        lease(owner="me", lease_until=NOW + 40 * SECOND),
        lease(owner="me", lease_until=NOW - 30 * SECOND),
        lease(skew=CLOCK_SKEW),
    ],
)
def test_a_scheduler_that_ticks_is_well(expected: Expected, facts: LeaseFacts) -> None:
    assert said(judge_lease(expected, facts)) == []


def test_the_store_says_how_old_a_tick_is_not_this_machine(expected: Expected) -> None:
    facts = lease(skew=-10 * MINUTE, completed_at=NOW - 10 * MINUTE)
    assert only(judge_lease(expected, facts))[1].startswith("the clock of this machine")


# --- what it plans by ---


@pytest.mark.parametrize(
    "deployed, here, level, what",
    [
        ("2026e", "2026f", Level.WRONG, "plans by the zone data 2026e, this working copy has 2026f and acc"),
        ("new", "2026f", Level.WRONG, "plans by the zone data new, this working copy has 2026f and accepts"),
        ("2026f", "2026g", Level.HINT, "plans by the zone data 2026f, this working copy has 2026g"),
        ("2027a", "2026f", Level.HINT, "plans by the zone data 2027a, this working copy has 2026f"),
    ],
)
def test_other_zone_data_is_found(
    expected: Expected, deployed: str, here: str, level: Level, what: str
) -> None:
    found = only(judge_zones(expected, ZoneFacts(deployed=deployed, here=here, minimum="2026f")))
    assert found[0] is level
    assert what in found[1]


@pytest.mark.parametrize("deployed", ["2026f", None])
def test_the_same_zone_data_or_none_yet_is_well(expected: Expected, deployed: str | None) -> None:
    assert said(judge_zones(expected, ZoneFacts(deployed=deployed, here="2026f"))) == []


def test_other_jobs_are_a_hint(expected: Expected) -> None:
    facts = JobsHereFacts(deployed={"a": "1", "b": "1", "c": "1"}, here={"b": "1", "c": "2", "d": "1"})
    level, what = only(judge_jobs_here(expected, facts))
    assert level is Level.HINT
    assert "(deployed and not here: a; here and not deployed: d; with another schedule: c)" in what


@pytest.mark.parametrize("deployed, here", [({"a": "1"}, {"a": "1"}), (None, {"a": "1"}), ({"a": "1"}, None)])
def test_the_same_jobs_or_none_to_compare_are_well(
    expected: Expected, deployed: dict[str, str] | None, here: dict[str, str] | None
) -> None:
    assert said(judge_jobs_here(expected, JobsHereFacts(deployed=deployed, here=here))) == []


# --- jobs and runs ---

JOB = JobState(
    name="menu",
    module="jobs.menu",
    schedule={},
    schedule_hash="1",
    grace=15 * MINUTE,
    planned_to=NOW,
    planned_local=NOW.replace(tzinfo=None),
    next_at=None,
    expect_by=None,
    due_at=None,
)


def jobs(**changes: Any) -> JobFacts:
    return JobFacts(reads=JobReads(states={"menu": replace(JOB, **changes)}), now=NOW)


@pytest.mark.parametrize(
    "facts, level, what",
    [
        (jobs(held=Held.UNAVAILABLE), Level.WRONG, "job menu is held: its module jobs.menu does not import"),
        (jobs(held=Held.BEHIND), Level.HINT, "job menu is behind: planned to Fri 2026-10-30 12:00 UTC"),
        (
            jobs(paused=Pause(at=NOW - 8 * DAY, by="ann", why="the kitchen burns")),
            Level.HINT,
            "job menu is paused for 8 d, by ann: the kitchen burns",
        ),
        (
            JobFacts(reads=JobReads(unreadable={"menu": "no next_at"}), now=NOW),
            Level.WRONG,
            "the item of job menu cannot be read: no next_at",
        ),
    ],
)
def test_a_job_of_which_nothing_is_planned_is_found(
    expected: Expected, facts: JobFacts, level: Level, what: str
) -> None:
    found = only(judge_jobs(expected, facts))
    assert found[0] is level
    assert found[1].startswith(what)


@pytest.mark.parametrize("facts", [jobs(), jobs(paused=Pause(at=NOW - LONG_PAUSE, by="ann", why=""))])
def test_a_job_that_is_planned_or_paused_for_a_while_is_well(expected: Expected, facts: JobFacts) -> None:
    assert said(judge_jobs(expected, facts)) == []


def run(status: RunStatus, due_at: datetime, **more: Any) -> RunRecord:
    return RunRecord(
        ref=RunRef("menu", NOW - HOUR),
        status=status,
        created_at=NOW - HOUR,
        scheduled_local="2026-10-30T11:00:00+00:00",
        timeout=HOUR,
        max_attempts=3,
        due_at=due_at,
        **more,
    )


@pytest.mark.parametrize("dispatches", range(8))
def test_since_when_a_run_is_pending_follows_from_its_dispatches(dispatches: int) -> None:
    became = due_at = NOW
    for number in range(dispatches):  # the sweep comes at the very moment
        now = due_at if number else became + PENDING_REDISPATCH[0]
        due_at = now + PENDING_REDISPATCH[min(number, len(PENDING_REDISPATCH) - 1)]
    record = run(
        RunStatus.PENDING, due_at if dispatches else became + PENDING_REDISPATCH[0], dispatches=dispatches
    )
    assert pending_since(record) == became


@pytest.mark.parametrize(
    "record, what",
    [
        (
            run(RunStatus.PENDING, NOW - UNCLAIMED + 2 * MINUTE - SECOND),
            "1 runs are PENDING for 5 min or in vain: menu@2026-10-30T11:00:00Z",
        ),
        (
            run(RunStatus.PENDING, NOW + 25 * MINUTE, dispatches=5),
            "1 runs are PENDING for 5 min or in vain: menu",
        ),
        (
            run(RunStatus.PENDING, NOW + MINUTE, dispatch=Dispatch.SWEEP),
            "1 runs are PENDING for 5 min or in vain: menu",
        ),
        (
            run(RunStatus.PENDING, NOW + 30 * MINUTE, dispatches=3, dispatch=Dispatch.SWEEP),
            "1 runs are PENDING for 5 min or in vain: menu",
        ),
        (
            run(RunStatus.WAITING, NOW - UNCLAIMED - SECOND),
            "1 runs should have been looked at 5 min ago: menu@2026-10-30T11:00:00Z",
        ),
        (run(RunStatus.RUNNING, NOW - HOUR), "1 runs should have been looked at 5 min ago: menu@2026"),
    ],
)
def test_a_run_that_nobody_comes_to_is_found(expected: Expected, record: RunRecord, what: str) -> None:
    found = only(judge_runs(expected, RunFacts(runs=[record], now=NOW)))
    assert found[0] is Level.WRONG
    assert found[1].startswith(what)


@pytest.mark.parametrize(
    "record",
    [
        run(RunStatus.PENDING, NOW + MINUTE, dispatch=Dispatch.STREAM),
        run(RunStatus.PENDING, NOW + 4 * MINUTE, dispatches=2, dispatch=Dispatch.SWEEP),
        run(RunStatus.WAITING, NOW + HOUR),
        run(RunStatus.WAITING, NOW - MINUTE),
        run(RunStatus.RUNNING, NOW + MINUTE),
    ],
)
def test_a_run_on_its_way_is_well(expected: Expected, record: RunRecord) -> None:
    assert said(judge_runs(expected, RunFacts(runs=[record], now=NOW))) == []


def test_many_runs_are_one_finding_and_the_first_are_named(expected: Expected) -> None:
    many = [
        replace(run(RunStatus.WAITING, NOW - HOUR), ref=RunRef("menu", NOW - number * HOUR))
        for number in range(8)
    ]
    _, what = only(judge_runs(expected, RunFacts(runs=many, now=NOW)))
    assert what.startswith("8 runs should have been looked at 5 min ago: menu@2026-10-30T05:00:00Z, ")
    assert what.endswith(" and 3 more")


def test_items_that_cannot_be_read_and_more_than_is_looked_at_are_said(expected: Expected) -> None:
    facts = RunFacts(runs=[], unreadable=[("a", "no due_at")], newer=["b"], cut=["waiting"], now=NOW)
    assert said(judge_runs(expected, facts)) == [
        (Level.WRONG, "the item a cannot be read: no due_at"),
        (Level.WRONG, "1 items were written by a later release: b"),
        (Level.HINT, "there are more waiting runs than the 200 that were looked at"),
    ]


# --- what AWS says ---


def function(**changes: Any) -> dict[str, FunctionFacts]:
    facts = FunctionFacts(name="f", live="7", newest="7", runtime="python3.13", today=NOW.date())
    return {"ExecutorFunction": replace(facts, **changes)}


LAST = DEPRECATED["python3.11"]


@pytest.mark.parametrize(
    "today, level, what",
    [
        (LAST, Level.WRONG, f"the runtime python3.11 of f is deprecated since {LAST}"),
        (LAST - SOON, Level.HINT, f"the runtime python3.11 of f will be deprecated on {LAST}"),
    ],
)
def test_a_runtime_that_ends_is_found(expected: Expected, today: date, level: Level, what: str) -> None:
    assert only(judge_functions(expected, function(runtime="python3.11", today=today))) == (level, what)


@pytest.mark.parametrize(
    "facts",
    [
        function(),
        function(runtime="python3.11", today=LAST - SOON - DAY),
        function(runtime="python3.99"),
        function(newest=None),
    ],
)
def test_a_function_as_it_was_deployed_is_well(expected: Expected, facts: dict[str, FunctionFacts]) -> None:
    assert said(judge_functions(expected, facts)) == []


def test_every_runtime_that_the_template_takes_has_its_last_day() -> None:
    assert set(Template.load().parameters["PythonRuntime"]["AllowedValues"]) == set(DEPRECATED)


def test_an_account_in_which_jobs_can_take_everything_is_a_hint(expected: Expected) -> None:
    level, what = only(judge_limit(expected, LimitFacts(limit=10, unreserved=10)))
    assert (level, what) == (Level.HINT, "the account runs 10 functions at once, 10 of them unreserved")
    assert said(judge_limit(expected, LimitFacts(limit=1000, unreserved=900))) == []


def test_no_throttles_are_well(expected: Expected) -> None:
    assert said(judge_throttles(expected, {"f": 0})) == []


def topic(*confirmed: bool) -> TopicFacts:
    return TopicFacts(
        arn="arn",
        subscriptions=tuple(
            Subscription(protocol="email", endpoint=f"{number}@x.org", confirmed=each)
            for number, each in enumerate(confirmed)
        ),
    )


@pytest.mark.parametrize(
    "facts, found",
    [
        (topic(), [(Level.WRONG, "nobody is subscribed to the topic")]),
        (topic(False), [(Level.WRONG, "0@x.org (email) has not confirmed its subscription")]),
        (topic(True, False), [(Level.HINT, "1@x.org (email) has not confirmed its subscription")]),
        (topic(True), []),
    ],
)
def test_somebody_must_be_told(expected: Expected, facts: TopicFacts, found: list[tuple[Level, str]]) -> None:
    assert said(judge_topic(expected, facts)) == found


@pytest.mark.parametrize("undecided, count", [(True, 1), (False, 0)])
def test_an_alarm_without_data_is_found_once_it_had_its_time(
    expected: Expected, undecided: bool, count: int
) -> None:
    facts = AlarmFacts(
        name="a",
        settings=expected.alarms["JobsHeldAlarm"],
        state="INSUFFICIENT_DATA",
        undecided=undecided,
    )
    assert len(said(judge_alarms(expected, {"JobsHeldAlarm": facts}))) == count


def test_a_table_that_is_not_active_is_found(expected: Expected) -> None:
    facts = TableFacts(
        name="runs", settings=expected.tables["RunsTable"], status="INACCESSIBLE_ENCRYPTION_CREDENTIALS"
    )
    assert only(judge_tables(expected, {"RunsTable": facts}))[1].startswith("the table runs is INACCESSIBLE")


# --- what is expected ---


def test_a_parameter_reaches_what_is_expected() -> None:
    template = Template.load()
    stack = replace(
        named_as_in(template), parameters={"LogRetentionDays": "90", "ExecutorReservedConcurrency": "5"}
    )
    expected = expected_of(template, stack)
    assert set(expected.logs.values()) == {90}
    assert expected.reserved["ExecutorFunction"] == 5


@pytest.mark.parametrize(
    "text, problem",
    [
        ("Resources: {}", "0 stream mappings"),
        ("Resources: {A: {Type: AWS::S3::Bucket}}", "the template"),
        ("{", "cannot be read"),
        ("- a", "has no Resources"),
        (TEXT.replace("MaximumRetryAttempts: 1", ""), "not one of cronce: KeyError 'MaximumRetryAttempts'"),
        (TEXT.replace("BatchSize: 100", "BatchSize: many"), "'many' where a number belongs"),
        (TEXT.replace("BatchSize: 100", "BatchSize: !Ref Nothing"), "the stack has no Nothing"),
        (TEXT.replace("BatchSize: 100", "BatchSize: [1]"), "does not understand"),
    ],
    ids=["nothing", "a bucket", "no YAML", "a list", "no retries", "no number", "no resource", "no value"],
)
def test_a_template_that_is_none_of_cronce_is_refused(text: str, problem: str) -> None:
    assert text != TEXT
    with pytest.raises(TemplateError, match=problem):
        expected_of(Template.parse(text, "the template"), named_as_in(Template.load()))


def test_a_condition_that_is_not_understood_is_refused() -> None:
    template = Template.load()
    body = {**template.body, "Conditions": {"Odd": {"Fn::Odd": []}}}
    with pytest.raises(TemplateError, match="does not understand the condition"):
        expected_of(replace(template, body=body), named_as_in(template))


@pytest.mark.parametrize(
    "condition, holds",
    [
        ({"Fn::And": [{"Condition": "Yes"}, {"Condition": "Yes"}]}, True),
        ({"Fn::Or": [{"Condition": "Yes"}, {"Fn::Not": [{"Condition": "Yes"}]}]}, True),
        ({"Fn::Not": [{"Condition": "Yes"}]}, False),
    ],
)
def test_conditions_hold_as_in_cloudformation(condition: dict[str, Any], holds: bool) -> None:
    body = {
        "Conditions": {"Yes": {"Fn::Equals": ["a", "a"]}, "Tried": condition},
        "Resources": {"A": {"Type": "x", "Properties": {"P": {"Fn::If": ["Tried", "then", "else"]}}}},
    }
    template = Template(cast("dict[str, Any]", body["Resources"]), {}, body)
    resolved = named_as_in(template).resolved(template)
    assert resolved.properties("A") == {"P": "then" if holds else "else"}


@pytest.mark.parametrize(
    "identity, name",
    [
        ("arn:aws:sqs:eu-west-1:123456789012:shop-Queue", "shop-Queue"),
        ("https://sqs.eu-west-1.amazonaws.com/123456789012/shop-Queue", "shop-Queue"),
        ("arn:aws:dynamodb:eu-west-1:123456789012:table/runs", "runs"),
        ("arn:aws:lambda:eu-west-1:123456789012:function:shop-F:7", "7"),
        ("arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/f:*", "log-group:/aws/lambda/f"),
        ("bus|shop-Rule", "shop-Rule"),
        ("/shop/Log", "/shop/Log"),
    ],
)
def test_what_names_the_same_has_the_same_short_name(identity: str, name: str) -> None:
    assert short(identity) == name
