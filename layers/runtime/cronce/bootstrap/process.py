"""What one process keeps between invocations: everything it has made, each thing once, and on which clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from uuid import uuid4

from cronce.aws.clients import bounded_client, made_when_needed, new_session
from cronce.aws.clock import SystemClock
from cronce.aws.output import standard_output
from cronce.aws.telemetry import PowertoolsTelemetry
from cronce.core.claim import Invocation
from cronce.core.values import dataclass

if TYPE_CHECKING:
    from botocore.session import Session

    from cronce.core.ports import Clock
    from cronce.engine.renewal import Renewal

JOBS = "jobs"
"""The package in which people put their jobs, beside the handlers."""

T = TypeVar("T")


class LambdaContext(Protocol):
    """What is used of the context that Lambda hands to a handler."""

    aws_request_id: str
    log_stream_name: str

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the invocation."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Function(Generic[T]):
    """A deployed function.

    Attributes:
        part: its part of the engine.
        telemetry: its lines and metrics.
        clock: its clock.
    """

    part: T
    telemetry: PowertoolsTelemetry
    clock: Clock

    @contextmanager
    def called(self, context: LambdaContext) -> Iterator[Invocation]:
        """One invocation: its lines carry the request's id, and its metrics are published however it ends."""
        self.telemetry.begin(context.aws_request_id)
        left = timedelta(milliseconds=context.get_remaining_time_in_millis())
        try:
            yield Invocation(
                owner=uuid4().hex,
                deadline=self.clock.now() + left,
                request_id=context.aws_request_id,
                log_stream=context.log_stream_name,
            )
        finally:
            self.telemetry.flush()


class Process:
    """What one process makes: each thing once, when it is first needed.

    Args:
        clock: the clock of everything.
        renewal: how claims are renewed on that clock; None: by a thread, as real time passes.
    """

    def __init__(self, clock: Clock, renewal: Renewal | None = None) -> None:
        self.clock = clock
        self.renewal = renewal
        self._made: dict[Callable[[Process], Any], Any] = {}

    @cached_property
    def session(self) -> Session:
        """The session of all AWS clients: a second one would read the descriptions of AWS again (50 ms)."""
        return new_session()

    def client_when_needed(self, service: str, **bounds: Any) -> Callable[[], Any]:
        """Gives a client of this session, made at the first call: what is seldom needed costs no start.

        Args:
            service: see `bounded_client`, also for `bounds`.
            bounds: where they are not the usual ones.
        """
        return made_when_needed(partial(bounded_client, service, session=self.session, **bounds))

    def telemetry(self, service: str, stack: str) -> PowertoolsTelemetry:
        """Lines and metrics of a function of the stack, on standard output."""
        return PowertoolsTelemetry(service, stack, stream=standard_output())

    def made(self, make: Callable[[Process], T]) -> T:
        """What `make` makes of this process, made at the first call."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made


_process = Process(SystemClock())


def made(make: Callable[[Process], T]) -> T:
    """What `make` makes of the present process, made at the first call."""
    return _process.made(make)


def forget() -> None:
    """Drop everything that was made; the next call makes it anew, with new connections."""
    _use(_process.clock, _process.renewal)


@contextmanager
def using_clock(clock: Clock, renewal: Renewal | None = None) -> Iterator[None]:
    """Within the block, everything is made anew and on this clock; for tests and the local stack.

    Args:
        clock: the clock of everything.
        renewal: how claims are renewed on that clock; None: by a thread, as real time passes.
    """
    before = _process
    _use(clock, renewal)
    try:
        yield
    finally:
        _use(before.clock, before.renewal)


def _use(clock: Clock, renewal: Renewal | None) -> None:
    global _process  # noqa: PLW0603 - the one thing that a process keeps between invocations
    _process = Process(clock, renewal)
