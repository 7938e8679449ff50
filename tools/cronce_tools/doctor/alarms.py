"""The alarms, and whether anybody hears them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cronce_tools.doctor.expected import Expected, alarm_settings
from cronce_tools.doctor.finding import Finding, Level
from cronce_tools.doctor.place import Check, Place
from cronce_tools.doctor.settings import AlarmSettings, differences
from cronce_tools.doctor.words import REMADE, difference

UNDECIDED_AFTER = timedelta(minutes=30)
"""Twice the warm-up of an alarm: one that has not judged by then is not going to."""
AT_ONCE = 100
"""Names that one call takes."""
TOPIC = "NoticeTopic"


@dataclass(frozen=True, kw_only=True, slots=True)
class AlarmFacts:
    """An alarm as it is.

    Attributes:
        name: of the alarm.
        settings: how it is set; None: it is gone.
        state: `OK`, `ALARM` or `INSUFFICIENT_DATA`.
        reason: what it saw.
        meaning: its description.
        undecided: it has not judged for long.
    """

    name: str
    settings: AlarmSettings | None = None
    state: str = ""
    reason: str = ""
    meaning: str = ""
    undecided: bool = False


def look_at_alarms(place: Place) -> dict[str, AlarmFacts]:
    """Ask CloudWatch for the alarms of the stack."""
    names = {logical_id: place.deployment.name(logical_id) for logical_id in place.expected.alarms}
    asked = list(names.values())
    found = {
        each["AlarmName"]: each
        for start in range(0, len(asked), AT_ONCE)
        for page in place.aws.pages(
            "cloudwatch", "describe_alarms", AlarmNames=asked[start : start + AT_ONCE], MaxRecords=AT_ONCE
        )
        for each in page["MetricAlarms"]
    }
    return {
        logical_id: _alarm(found[name], place.now) if name in found else AlarmFacts(name=name)
        for logical_id, name in names.items()
    }


def _alarm(found: Mapping[str, Any], now: datetime) -> AlarmFacts:
    return AlarmFacts(
        name=found["AlarmName"],
        settings=alarm_settings(found),
        state=found["StateValue"],
        reason=found.get("StateReason", ""),
        meaning=found.get("AlarmDescription", ""),
        undecided=found["StateUpdatedTimestamp"] < now - UNDECIDED_AFTER,
    )


def judge_alarms(expected: Expected, facts: Mapping[str, AlarmFacts]) -> Iterator[Finding]:
    """Compare them with the template, and say what they say."""
    for logical_id, alarm in facts.items():
        if alarm.settings is None:
            what = f"the alarm {alarm.name} is gone"
            yield Finding(
                what=what, why="nobody is told of what it watched", remedy=REMADE.format(logical_id)
            )
            continue
        for each in differences(expected.alarms[logical_id], alarm.settings):
            finding = difference(f"the alarm {alarm.name}", each, "", logical_id)
            if each.name == "actions":
                command = f"aws cloudwatch enable-alarm-actions --alarm-names {alarm.name}"
                finding = Finding(what=finding.what, why=finding.why, remedy=command)
            yield finding
        if alarm.state == "ALARM":
            yield Finding(
                what=f"the alarm {alarm.name} is on: {alarm.reason}",
                why=_first(alarm.meaning),
                remedy=_rest(alarm.meaning),
            )
        elif alarm.state == "INSUFFICIENT_DATA" and alarm.undecided:
            yield Finding(
                what=f"the alarm {alarm.name} has no data to judge by",
                why="it would not go off either",
                remedy=f"look at its metric {alarm.settings.metric} in CloudWatch",
            )


def _first(meaning: str) -> str:
    """What the alarm's description says is the matter; it begins with that."""
    return meaning.partition(". ")[0].rstrip(".")


def _rest(meaning: str) -> str:
    return meaning.partition(". ")[2] or "look at its history in CloudWatch"


@dataclass(frozen=True, kw_only=True, slots=True)
class Subscription:
    """Somebody who is told.

    Attributes:
        protocol: such as `email`.
        endpoint: whom.
        confirmed: whether they said that they want it.
    """

    protocol: str
    endpoint: str
    confirmed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicFacts:
    """The topic as it is.

    Attributes:
        arn: of the topic.
        subscriptions: who is told; None: the topic is gone.
    """

    arn: str
    subscriptions: tuple[Subscription, ...] | None


def look_at_topic(place: Place) -> TopicFacts:
    """Ask SNS who is subscribed."""
    arn = place.deployment.names.get(TOPIC, "")
    if place.aws.find("sns", "get_topic_attributes", TopicArn=arn) is None:
        return TopicFacts(arn=arn, subscriptions=None)
    pages = place.aws.pages("sns", "list_subscriptions_by_topic", TopicArn=arn)
    return TopicFacts(
        arn=arn,
        subscriptions=tuple(
            Subscription(
                protocol=each["Protocol"],
                endpoint=each.get("Endpoint", ""),
                confirmed=each["SubscriptionArn"].startswith("arn:"),  # else it says what it waits for
            )
            for page in pages
            for each in page["Subscriptions"]
        ),
    )


def judge_topic(_: Expected, facts: TopicFacts) -> Iterator[Finding]:
    """Somebody must be told."""
    if facts.subscriptions is None:
        yield Finding(
            what=f"the topic {facts.arn} is gone",
            why="nobody is told of missed runs, nor of alarms",
            remedy=REMADE.format(TOPIC),
        )
        return
    waiting = [each for each in facts.subscriptions if not each.confirmed]
    nobody = len(waiting) == len(facts.subscriptions)
    if nobody and not waiting:
        yield Finding(
            what="nobody is subscribed to the topic",
            why="nobody is told of missed runs, nor of alarms",
            remedy=f"set NoticeEmail and deploy, or `aws sns subscribe --topic-arn {facts.arn} ...`",
        )
    for each in waiting:
        yield Finding(
            what=f"{each.endpoint} ({each.protocol}) has not confirmed its subscription",
            why="nobody is told of missed runs, nor of alarms" if nobody else "they are not told",
            remedy="follow the link in the e-mail that AWS sent, or deploy another NoticeEmail",
            level=Level.WRONG if nobody else Level.HINT,
        )


ALARMS = Check(name="alarms", look=look_at_alarms, judge=judge_alarms, why="they say when nothing runs")
TOPIC_CHECK = Check(name="topic", look=look_at_topic, judge=judge_topic, why="alarms go there")
