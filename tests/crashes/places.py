"""Every call to the outside world is a place where things go wrong: the one mechanism of all crash tests.

A process (one invocation of a function) is given its ports through `Process.port`. Every call on them is
counted by `Places`, in order, over all processes of a life. Without faults that counts the places; with a
fault at a place, the call of that number goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar, cast

from cronce.core.answers import Applied, CommitOutcome
from cronce.core.errors import CronceError, DispatchError, NotifyError, StoreError

T = TypeVar("T")
Made = Callable[[], Any]
EFFECT = "effect"
"""A call of a job to something outside: a place too, though no port."""


class Killed(BaseException):
    """The process is gone: nothing after this instant happens in it."""


class Fault(StrEnum):
    """What goes wrong at a place."""

    DIES_BEFORE = "dies before"
    """The process dies; the call was not made."""
    DIES_AFTER = "dies after"
    """The process dies; the call was made."""
    LOSES_REPLY = "loses reply"
    """The call was made, and the process does not learn of it."""
    UNANSWERED = "unanswered"
    """The call was not made: throttled, or not reachable."""
    CONFLICTS = "conflicts"
    """This call and the next two of its name meet another transaction. Where the adapter itself sends such a
    call again, the process sees nothing of it, or that there is no answer (`UNANSWERED`)."""
    MEETS = "meets"
    """Before the call, another process does all of the same from its beginning to its end."""
    STALLS = "stalls"
    """The process stands still for four minutes before the call, while the world goes on."""


WRITES = (
    "lease.take",
    "lease.release",
    "leases.take",
    "leases.renew",
    "leases.release",
    "registry.write",
    "jobs.change",
    "jobs.next_token",
    "plans.commit",
    "runs.apply",
    "runs.renew",
    "runs.first_queued",
    "runs.mark_told",
    "runs.set_aside",
    "steps.record",
    "alerts.put",
)
"""Port methods that change what is stored; `runs.first_queued` deletes orphan markers."""
TOLD_OUTSIDE = ("invoker.invoke", "notifier.publish")
"""Port methods that change something elsewhere."""
LIVES_WITHIN = (Fault.MEETS, Fault.STALLS)
"""While one process stands, others live."""
IN_CONFLICT: Mapping[str, object] = {
    "lease.take": None,
    "plans.commit": CommitOutcome(problem="conflict: another transaction", passes=True),
    "runs.apply": Applied.CONFLICT,
    "jobs.change": Applied.CONFLICT,
}
"""What ports answer to a write that met another one, where it is an answer."""
CONFLICTS_IN_A_ROW = 3


def faults_at(name: str) -> tuple[Fault, ...]:
    """What can go wrong at a call of that name.

    A read that was made changes nothing: to die after it is to die before the next call, and a lost reply is
    none.
    """
    if name == EFFECT:
        return (Fault.DIES_BEFORE, Fault.DIES_AFTER, *LIVES_WITHIN)
    if name not in (*WRITES, *TOLD_OUTSIDE):
        return (Fault.DIES_BEFORE, Fault.UNANSWERED, *LIVES_WITHIN)
    return tuple(fault for fault in Fault if fault is not Fault.CONFLICTS or name in IN_CONFLICT)


def no_answer(name: str) -> CronceError:
    """What a port raises when it does not know."""
    kinds = {"invoker.invoke": DispatchError, "notifier.publish": NotifyError}
    return kinds.get(name, StoreError)(f"{name}: no answer")


@dataclass
class Process:
    """One invocation of a function.

    Attributes:
        places: where its calls are counted.
        again: does all of it once more, in another process.
        dead: it was killed: whatever it still tries does not happen.
        conflicts: by name, how many of its next calls meet another transaction.
    """

    places: Places
    again: Callable[[], object]
    dead: bool = False
    conflicts: dict[str, int] = field(default_factory=dict)

    def port(self, name: str, real: T) -> T:
        """A port, every call of which is a place."""
        return cast("T", _Port(self, name, real))

    def call(self, name: str, made: Made) -> Any:
        """One call."""
        if self.dead:
            raise Killed(name)
        return self.places.passed(self, name, made)

    def die(self, name: str) -> None:
        """Be killed."""
        self.dead = True
        raise Killed(name)


class _Port:
    def __init__(self, process: Process, name: str, real: Any) -> None:
        self._process, self._name, self._real = process, name, real

    def __getattr__(self, method: str) -> Callable[..., Any]:
        called = getattr(self._real, method)

        def call(*args: Any, **named: Any) -> Any:
            return self._process.call(f"{self._name}.{method}", lambda: called(*args, **named))

        return call


@dataclass
class Places:
    """Counts calls, and lets those go wrong that shall.

    Attributes:
        faults: what goes wrong, by the number of the call.
        names: of the calls so far: the places.
        reached: the faults that came to pass.
        stall: lets the world go on for a while.
        after: called after each call that was made.
        counting: whether calls are counted, and disturbed.
    """

    faults: Mapping[int, Fault] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    reached: list[tuple[int, str, Fault]] = field(default_factory=list)
    stall: Callable[[], object] = lambda: None
    after: Callable[[str], object] = lambda name: None
    counting: bool = True

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Within the block calls are made, neither counted nor disturbed."""
        counting, self.counting = self.counting, False
        try:
            yield
        finally:
            self.counting = counting

    def passed(self, process: Process, name: str, made: Made) -> Any:
        """One call of a process."""
        if not self.counting:
            return self._made(name, made)
        number = len(self.names)
        self.names.append(name)
        if process.conflicts.get(name):
            process.conflicts[name] -= 1
            return IN_CONFLICT[name]
        fault = self.faults.get(number)
        if fault is None:
            return self._made(name, made)
        self.reached.append((number, name, fault))
        return self._wrong(process, fault, name, made)

    def _wrong(self, process: Process, fault: Fault, name: str, made: Made) -> Any:
        match fault:
            case Fault.DIES_BEFORE:
                process.die(name)
            case Fault.DIES_AFTER:
                with suppress(CronceError):  # nobody is there to see it
                    self._made(name, made)
                process.die(name)
            case Fault.LOSES_REPLY:
                self._made(name, made)
                raise no_answer(name)
            case Fault.UNANSWERED:
                raise no_answer(name)
            case Fault.CONFLICTS:
                process.conflicts[name] = CONFLICTS_IN_A_ROW - 1
                return IN_CONFLICT[name]
            case Fault.MEETS:
                with self.suspended():
                    process.again()
            case Fault.STALLS:
                with self.suspended():
                    self.stall()
        return self._made(name, made)

    def _made(self, name: str, made: Made) -> Any:
        answer = made()
        self.after(name)
        return answer
