"""AWS in this process: moto on the virtual clock, with what it lacks added.

* moto runs no code: an asynchronous invocation lands in `invocations`, for the local stack to deliver.
* moto knows nothing of the template: what CloudFormation says of the stack is in `answers`.
* A process can be killed: from then on none of its calls reaches AWS, as after `kill -9`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from botocore.client import BaseClient

from cronce.testing import ManualClock
from cronce_tools.local.moto_engine import Proceed, moto_behind

Hook = Callable[["Call"], None]


class ProcessKilled(BaseException):
    """Ends a killed process's code. Not an `Exception`: nothing may take it for a failure to report."""


@dataclass(frozen=True)
class Call:
    """A call to AWS that is about to be made."""

    process: str
    service: str
    operation: str
    parameters: dict[str, Any]


@dataclass
class Process:
    """One process of the deployed system: while it is current, calls are made in its name."""

    name: str
    killed: bool = False


@dataclass
class Cloud:
    """AWS as the local stack sees it.

    Attributes:
        clock: the virtual clock that answers are dated by.
        invocations: payloads of asynchronous invocations that were accepted and not yet delivered.
        hooks: called before each call; may run other processes, kill the current one, or raise.
        hooks_after: called after each call that was made; may kill the current process, or raise.
        calls: how many calls reached AWS, by service and operation.
        answers: what else AWS says, by service and operation: given the parameters, the answer.
        clocks_ahead: how far the clocks of processes are ahead of AWS's, by their names.
    """

    clock: ManualClock
    invocations: deque[bytes] = field(default_factory=deque)
    hooks: list[Hook] = field(default_factory=list)
    hooks_after: list[Hook] = field(default_factory=list)
    calls: dict[tuple[str, str], int] = field(default_factory=dict)
    answers: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = field(default_factory=dict)
    clocks_ahead: dict[str, timedelta] = field(default_factory=dict)
    _processes: list[Process] = field(default_factory=lambda: [Process("operator")])
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @contextmanager
    def running(self) -> Iterator[Cloud]:
        """Replace AWS for every client of this process until the end of the block."""
        with moto_behind(self.gate, self._date):
            yield self

    @contextmanager
    def process(self, name: str) -> Iterator[Process]:
        """Make calls in the name of another process until the end of the block."""
        process = Process(name)
        self._processes.append(process)
        try:
            yield process
        finally:
            self._processes.remove(process)

    @property
    def current(self) -> Process:
        """The process in whose name calls are made."""
        return self._processes[-1]

    def kill(self) -> None:
        """Kill the current process here and now.

        Raises:
            ProcessKilled: always.
        """
        self.current.killed = True
        raise ProcessKilled(self.current.name)

    def _date(self) -> datetime:
        """The time of an answer to the current process."""
        return self.clock.now() - self.clocks_ahead.get(self.current.name, timedelta(0))

    def gate(self, client: BaseClient, operation: str, parameters: dict[str, Any], proceed: Proceed) -> Any:
        """What every call of a client passes."""
        service = client.meta.service_model.service_name
        return self.call(Call(self.current.name, service, operation, parameters), proceed)

    def call(self, call: Call, proceed: Proceed) -> Any:
        """Make a call in the current process's name, unless it is dead or a hook has something against it.

        Raises:
            ProcessKilled: the process was killed.
        """
        with self._lock:
            if self.current.killed:
                raise ProcessKilled(self.current.name)
            for hook in tuple(self.hooks):
                hook(call)
            place = call.service, call.operation
            self.calls[place] = self.calls.get(place, 0) + 1
            answer = self._answer(call, proceed)
            for hook in tuple(self.hooks_after):
                hook(call)
            return answer

    def _answer(self, call: Call, proceed: Proceed) -> Any:
        if (call.service, call.operation) == ("lambda", "Invoke"):
            self.invocations.append(call.parameters["Payload"])
            return {"StatusCode": 202, "ResponseMetadata": {"HTTPStatusCode": 202}}
        answer = self.answers.get((call.service, call.operation))
        return answer(call.parameters) if answer else proceed()
