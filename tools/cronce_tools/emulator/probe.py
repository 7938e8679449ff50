"""A queue that is subscribed to a stack's topic: it gets what people would be told."""

from __future__ import annotations

import json
from typing import Any

from cronce_tools.emulator.deployment import Stack, client

Message = dict[str, Any]


class Probe:
    """A queue of its own, with the policy that lets the topic in.

    Args:
        stack: whose topic is subscribed to.
    """

    def __init__(self, stack: Stack) -> None:
        self._sqs = client(stack.endpoint, "sqs")
        topic = stack.outputs["NoticeTopicArn"]
        self.url: str = self._sqs.create_queue(QueueName=f"{stack.name}-probe")["QueueUrl"]
        asked = self._sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])
        arn = asked["Attributes"]["QueueArn"]
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self._sqs.set_queue_attributes(QueueUrl=self.url, Attributes={"Policy": policy})
        client(stack.endpoint, "sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)

    def taken(self) -> list[Message]:
        """What has arrived since the last time."""
        return take(self._sqs, self.url)


def take(sqs: Any, url: str) -> list[Message]:
    """The messages that wait in a queue; they are removed from it.

    Args:
        sqs: a client.
        url: of the queue.
    """
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    for message in found:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return [json.loads(message["Body"]) for message in found]
