"""The local stack with the store in memory: the same handlers, twenty times as fast.

Between a handler and the store is one port call instead of the adapter's calls of DynamoDB. A hook of the
cloud sees each of them as the call of DynamoDB that the adapter would make, and what it raises arrives as the
adapters' `StoreError`. That faults end alike with the adapters on moto is shown by the slow tests of this
folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from cronce.bootstrap import executor, scheduler, watchdog
from cronce.bootstrap.process import using_clock
from cronce.core.errors import StoreError
from cronce.core.records import RunRef
from cronce.testing import LeaseItem, ManualClock, MemoryStore, job_key
from cronce.testing.keys import LEASE
from cronce.testing.memory import MemoryStoreClock
from cronce_tools.local.batches import Record
from cronce_tools.local.cloud import Call, Cloud
from cronce_tools.local.console import output_to
from cronce_tools.local.moto_engine import behind
from cronce_tools.local.stack import FIRST, MANY, environment
from cronce_tools.local.stream import MappedStream
from cronce_tools.local.template import Template
from tests.alarms.played import PlayedStack

CALLS = {
    "index.due": ("Query", {"IndexName": "due"}),
    "jobs.get_many": ("BatchGetItem", {}),
    "lease.release": ("UpdateItem", {}),
    "lease.take": ("UpdateItem", {}),
    "plans.commit": ("TransactWriteItems", {}),
    "runs.apply": ("TransactWriteItems", {}),
    "runs.get_many": ("BatchGetItem", {}),
    "runs.runs": ("Query", {}),
    "steps.record": ("TransactWriteItems", {}),
}
"""What an adapter calls for a port's method; GetItem for the others: it is never asked for by name here."""


class MemoryStream(MappedStream):
    """The stream of the store in memory."""

    def __init__(self, store: MemoryStore, template: Template) -> None:
        super().__init__(template)
        self._store = store
        self._numbers = count(1)

    def _new(self) -> list[Record]:
        return [self._record(ref) for ref in self._store.drain_stream()]

    def _record(self, ref: RunRef) -> Record:
        return {
            "eventName": "INSERT",
            "dynamodb": {
                "Keys": {"pk": {"S": f"JOB#{ref.job}"}, "sk": {"S": f"RUN#{ref.key}"}},
                "NewImage": {"status": {"S": "PENDING"}, "dispatch": {"S": "stream"}},
                "SequenceNumber": str(next(self._numbers)),
                "ApproximateCreationDateTime": self._store.time.now().timestamp(),
            },
        }


@dataclass
class MemoryStack(PlayedStack):
    """A local stack whose store is in memory."""

    memory: MemoryStore = field(init=False)

    def deploy(self) -> None:
        """There is nothing to make but the store."""
        self.memory = MemoryStore(self.clock)
        self.memory.clock = _StoreClock(self.cloud)
        self.memory.table.hook = self._called
        self.stream = MemoryStream(self.memory, self.template)
        self.topic = "arn:aws:sns:us-east-1:123456789012:notices"
        self.cloud.answers["sns", "Publish"] = self._published

    def hear(self) -> list[tuple[datetime, str, str]]:
        """Notices are heard when they are published."""
        return []

    def runs(self, job: str) -> list[Any]:
        """The runs of a job so far, oldest first."""
        found = self.memory.runs.runs(job, FIRST, self.clock.now(), MANY).records
        return sorted(found, key=lambda run: run.ref)

    def take_lease(self, until: datetime) -> None:
        """Somebody took the lease and is gone."""
        before = self.memory.items()[LEASE]
        assert isinstance(before, LeaseItem)
        self.memory.place(replace(before, owner="gone", lease_until=until))

    @contextmanager
    def job_spoiled(self, name: str) -> Iterator[None]:
        """Within the block a job's item cannot be understood."""
        before = self.memory.items()[job_key(name)]
        self.memory.spoil(job_key(name), "attribute `schedule` is missing")
        yield
        self.memory.place(before)

    def _published(self, parameters: dict[str, Any]) -> dict[str, str]:
        self.notices.append((self.clock.now(), parameters["Subject"], parameters["Message"]))
        return {"MessageId": str(len(self.notices))}

    def _called(self, method: str, when: str) -> None:
        if when != "before" or method.startswith(("test.", "stream.")):
            return
        operation, parameters = CALLS.get(method, ("GetItem", {}))
        call = Call(self.cloud.current.name, "dynamodb", operation, dict(parameters))
        try:
            self.cloud.call(call, lambda: None)
        except (ClientError, BotoCoreError) as error:
            raise StoreError(f"{method}: {error}") from error


class _StoreClock(MemoryStoreClock):
    """The store's clock, as the current process sees it."""

    def __init__(self, cloud: Cloud) -> None:
        super().__init__()
        self._cloud = cloud

    def skew(self) -> timedelta:
        """Store's clock less own clock."""
        return -self._cloud.clocks_ahead.get(self._cloud.current.name, timedelta(0))


@contextmanager
def memory_stack(start: datetime) -> Iterator[MemoryStack]:
    """Run a stack on the store in memory until the end of the block."""
    clock = ManualClock(start)
    stack = MemoryStack(clock, Cloud(clock), Template.load())
    stack.deploy()
    with (
        pytest.MonkeyPatch.context() as patch,
        behind(stack.cloud.gate),
        environment(),
        output_to(stack.console),
        using_clock(clock, stack.renewal),
    ):
        for part in (scheduler, executor, watchdog):
            patch.setattr(part, "store_of", lambda *_: stack.memory)
        patch.setenv("CRONCE_TOPIC_ARN", stack.topic)
        yield stack
