"""The queues for what was given up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cronce_tools.doctor.expected import Expected
from cronce_tools.doctor.finding import Finding
from cronce_tools.doctor.place import Check, Place
from cronce_tools.doctor.words import REMADE

COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFacts:
    """A queue as it is.

    Attributes:
        url: of the queue.
        messages: how many lie in it, about; None: it is gone.
    """

    url: str
    messages: int | None


def look(place: Place) -> dict[str, QueueFacts]:
    """Ask SQS how much lies in the queues of the stack."""
    return {name: _queue(place, name) for name in place.expected.queues}


def _queue(place: Place, logical_id: str) -> QueueFacts:
    place.deployment.name(logical_id)
    url = place.deployment.names[logical_id]
    found = place.aws.find("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=list(COUNTS))
    if found is None:
        return QueueFacts(url=url, messages=None)
    return QueueFacts(url=url, messages=sum(int(found["Attributes"][name]) for name in COUNTS))


def judge(expected: Expected, facts: Mapping[str, QueueFacts]) -> Iterator[Finding]:
    """They should be empty. Nothing in them needs to be sent again: the records are in the tables."""
    for logical_id, queue in facts.items():
        if queue.messages is None:
            yield Finding(
                what=f"the queue {queue.url} is gone",
                why="what is given up is told to nobody",
                remedy=REMADE.format(logical_id),
            )
        elif queue.messages:
            url = f"--queue-url {queue.url}"
            yield Finding(
                what=f"{queue.messages} messages lie in {logical_id}: {expected.queues[logical_id]}",
                why="each of them has a cause, and its alarm stays on until the queue is empty",
                remedy=f"read them: `aws sqs receive-message {url} --max-number-of-messages 10`, mend the "
                f"cause, then `aws sqs purge-queue {url}`; nothing needs to be sent again, the sweep starts "
                "what a record says is due",
            )


CHECK = Check(name="queues", look=look, judge=judge, why="what was given up lies there")
