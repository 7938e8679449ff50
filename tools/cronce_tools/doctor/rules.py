"""The two scheduled rules, and whatever else drives the functions that they call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cronce_tools.doctor.aws import TooManyError
from cronce_tools.doctor.expected import Expected, ExpectedRule
from cronce_tools.doctor.finding import Finding, Level
from cronce_tools.doctor.place import Check, Place
from cronce_tools.doctor.settings import NONE, RuleSettings, TargetSettings, differences
from cronce_tools.doctor.values import short
from cronce_tools.doctor.words import REMADE, difference

STOPPED = "nothing is scheduled, or nobody says what is missed"


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleFacts:
    """A rule as it is.

    Attributes:
        name: of the rule.
        settings: how it is set; None: it is gone.
        targets: what it calls, by their ids.
    """

    name: str
    settings: RuleSettings | None
    targets: Mapping[str, TargetSettings]


def look_at_rules(place: Place) -> dict[str, RuleFacts]:
    """Ask EventBridge for the rules of the stack and their targets."""
    return {
        logical_id: _rule(place, place.deployment.name(logical_id)) for logical_id in place.expected.rules
    }


def _rule(place: Place, name: str) -> RuleFacts:
    found = place.aws.find("events", "describe_rule", Name=name)
    if found is None:
        return RuleFacts(name=name, settings=None, targets={})
    pages = place.aws.pages("events", "list_targets_by_rule", Rule=name)
    return RuleFacts(
        name=name,
        settings=RuleSettings(
            enabled=found["State"].startswith("ENABLED"), schedule=found.get("ScheduleExpression", NONE)
        ),
        targets={target["Id"]: _target(target) for page in pages for target in page["Targets"]},
    )


def _target(found: Mapping[str, Any]) -> TargetSettings:
    policy = found.get("RetryPolicy", {})
    return TargetSettings(
        function=found["Arn"],
        retries=policy.get("MaximumRetryAttempts", 185),  # what EventBridge does if nothing is said
        event_age=policy.get("MaximumEventAgeInSeconds", 86_400),
        failures_to=short(found.get("DeadLetterConfig", {}).get("Arn", "")) or NONE,
    )


def judge_rules(expected: Expected, facts: Mapping[str, RuleFacts]) -> Iterator[Finding]:
    """Compare them with the template."""
    for logical_id, rule in facts.items():
        if rule.settings is None:
            yield Finding(what=f"the rule {rule.name} is gone", why=STOPPED, remedy=REMADE.format(logical_id))
            continue
        want = expected.rules[logical_id]
        for each in differences(want.rule, rule.settings):
            command = (
                f"aws events enable-rule --name {rule.name}"
                if each.name == "enabled"
                else f"aws events put-rule --name {rule.name} --schedule-expression '{want.rule.schedule}'"
            )
            yield Finding(what=f"the rule {rule.name}: {each.text}", why=each.why, remedy=command)
        yield from _of_targets(logical_id, want, rule)


def _of_targets(logical_id: str, want: ExpectedRule, rule: RuleFacts) -> Iterator[Finding]:
    own = {name: target for name, target in rule.targets.items() if target.function == want.target.function}
    for name, target in rule.targets.items():
        if name not in own:
            command = f"aws events remove-targets --rule {rule.name} --ids {name}"
            yield Finding(
                what=f"the rule {rule.name} calls {target.function} too",
                why="it is not in the template: other code is called each minute, or nothing",
                remedy=command,
            )
    if not own:
        call = json.dumps([{"Id": "live", "Arn": want.target.function}])
        yield Finding(
            what=f"the rule {rule.name} does not call {want.target.function}",
            why=STOPPED,
            remedy=f"aws events put-targets --rule {rule.name} --targets '{call}'; then deploy a change of "
            f"{logical_id}, which brings back retries and queue",
        )
    for target in own.values():
        for each in differences(want.target, target):
            yield difference(f"the target of the rule {rule.name}", each, "", logical_id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trigger:
    """Something else that calls a function of the stack.

    Attributes:
        kind: rule or schedule.
        name: its name.
        function: what it calls.
        remedy: the command that takes it away.
    """

    kind: str
    name: str
    function: str
    remedy: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerFacts:
    """What else calls the functions that the rules call.

    Attributes:
        found: all of it.
        cut: why not all could be looked at; empty if all was.
    """

    found: tuple[Trigger, ...]
    cut: str = ""


def look_at_triggers(place: Place) -> TriggerFacts:
    """Ask EventBridge which other rules call what the rules of the stack call, under any of its names."""
    own = {place.deployment.name(logical_id) for logical_id in place.expected.rules}
    found = tuple(
        Trigger(kind="rule", name=name, function=arn, remedy=f"aws events disable-rule --name {name}")
        for arn in _targets(place.expected)
        for page in place.aws.pages("events", "list_rule_names_by_target", TargetArn=arn)
        for name in page["RuleNames"]
        if name not in own
    )
    return TriggerFacts(found=found)


def look_at_schedules(place: Place) -> TriggerFacts:
    """Ask EventBridge Scheduler likewise. It cannot be asked by target, so all schedules are listed."""
    targets = set(_targets(place.expected))
    found: list[Trigger] = []
    try:
        for page in place.aws.pages("scheduler", "list_schedules", MaxResults=100):
            found += [
                _schedule(each)
                for each in page["Schedules"]
                if each["Target"]["Arn"] in targets and each.get("State") != "DISABLED"
            ]
    except TooManyError as error:
        return TriggerFacts(found=tuple(found), cut=str(error))
    return TriggerFacts(found=tuple(found))


def _schedule(found: Mapping[str, Any]) -> Trigger:
    group, name = found["GroupName"], found["Name"]
    return Trigger(
        kind="schedule",
        name=f"{group}/{name}",
        function=found["Target"]["Arn"],
        remedy=f"aws scheduler delete-schedule --group-name {group} --name {name}",
    )


def _targets(expected: Expected) -> Iterator[str]:
    for rule in expected.rules.values():
        function = rule.target.function.rpartition(":")[0]
        yield from (rule.target.function, function, f"{function}:$LATEST")


def judge_triggers(_: Expected, facts: TriggerFacts) -> Iterator[Finding]:
    """Whatever else drives them is one too many."""
    if facts.cut:
        yield Finding(
            what=f"not all schedules of the account were looked at: {facts.cut}",
            why="another one may tick too",
            remedy="look for the scheduler's name among them in the console",
            level=Level.HINT,
        )
    for each in facts.found:
        yield Finding(
            what=f"the {each.kind} {each.name} calls {each.function} too",
            why="each run still exists once, but every tick is paid twice, and one of code that nobody "
            "released plans too",
            remedy=each.remedy,
        )


RULES = Check(name="rules", look=look_at_rules, judge=judge_rules, why="they tick")
TRIGGERS = Check(
    name="other rules", look=look_at_triggers, judge=judge_triggers, why="a second one ticks too"
)
SCHEDULES = Check(
    name="other schedules", look=look_at_schedules, judge=judge_triggers, why="a second one ticks too"
)
