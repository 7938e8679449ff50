"""Faults, each as a block: it begins, lasts, and is mended when the block ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta

from botocore.exceptions import ClientError, ReadTimeoutError

from cronce.core.lease import BELIEF_MARGIN, LEASE_TTL
from cronce_tools.local.cloud import Call
from cronce_tools.local.metrics import MINUTE
from tests.alarms.behaviour import behaving
from tests.alarms.replay import EXECUTOR_QUEUE, RULE_QUEUE, Replay

DENIED, SLOW_DOWN = "AccessDeniedException", "ProvisionedThroughputExceededException"

Begin = Callable[[Replay], AbstractContextManager[None]]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that goes wrong.

    Attributes:
        name: in the table.
        begin: the block in which it is wrong.
        dies: what is dead meanwhile: scheduler, dispatcher, executor, watchdog, table; empty for nothing.
        mute: nobody can publish notices meanwhile.
        loses: the ticks that it costs, if it is over by itself before it would be told; else None.
        minutes: how long it lasts.
    """

    name: str
    begin: Begin
    dies: str = ""
    mute: bool = False
    loses: int | None = None
    minutes: int = 12


def _off(rule: str) -> Begin:
    @contextmanager
    def begin(replay: Replay) -> Iterator[None]:
        replay.rules_off.add(rule)
        yield
        replay.rules_off.clear()

    return begin


def _barred(rule: str) -> Begin:
    @contextmanager
    def begin(replay: Replay) -> Iterator[None]:
        replay.rules_barred.add(rule)
        yield
        replay.rules_barred.clear()
        replay.waiting[RULE_QUEUE] = 0

    return begin


def _crashing(function: str) -> Begin:
    """Its process dies at start; whoever mends it purges the queues as the alarms say."""

    @contextmanager
    def begin(replay: Replay) -> Iterator[None]:
        replay.crashing.add(function)
        yield
        replay.crashing.clear()
        replay.waiting.clear()

    return begin


@contextmanager
def _throttled(replay: Replay) -> Iterator[None]:
    replay.throttled.add("executor")
    yield
    replay.throttled.clear()
    replay.waiting[EXECUTOR_QUEUE] = 0


@contextmanager
def _losing_events(replay: Replay) -> Iterator[None]:
    replay.losing_events = True
    yield
    replay.losing_events = False


@contextmanager
def _mapping_off(replay: Replay) -> Iterator[None]:
    replay.stack.stream.enabled = False
    yield
    replay.stack.stream.enabled = True


def _calls(spoil: Callable[[Replay, Call], None]) -> Begin:
    """Calls to AWS go wrong; the queues are purged when it is over."""

    @contextmanager
    def begin(replay: Replay) -> Iterator[None]:
        def hook(call: Call) -> None:
            if call.process != "operator":  # that is the stack itself, or the test
                spoil(replay, call)

        replay.stack.cloud.hooks.append(hook)
        yield
        replay.stack.cloud.hooks.remove(hook)
        replay.waiting.clear()

    return begin


def _refused(code: str, *, of: str = "", operation: str = "", index: bool = False) -> Begin:
    """Calls are refused.

    Args:
        code: the error's code.
        of: the service.
        operation: of it; all, if it is empty.
        index: only what reads the index.
    """

    def spoil(_: Replay, call: Call) -> None:
        if (
            call.service == of
            and operation in {"", call.operation}
            and (not index or "IndexName" in call.parameters)
        ):
            raise ClientError({"Error": {"Code": code, "Message": "refused by this test"}}, call.operation)

    return _calls(spoil)


def _refused_to(process: str) -> Begin:
    """One function lost its permissions on the tables."""

    def spoil(_: Replay, call: Call) -> None:
        if call.process == process and call.service == "dynamodb":
            raise ClientError({"Error": {"Code": DENIED, "Message": "no"}}, call.operation)

    return _calls(spoil)


def _no_answer(_: Replay, call: Call) -> None:
    if call.service == "dynamodb":
        raise ReadTimeoutError(endpoint_url="https://dynamodb")


def _killed_before_planning(replay: Replay, call: Call) -> None:
    if call.process == "scheduler" and call.operation == "TransactWriteItems":
        replay.stack.cloud.kill()


def _killed_with_the_lease(replay: Replay, call: Call) -> None:
    """Its first write is the lease; what comes next never comes."""
    if call.process == "scheduler" and call.operation != "UpdateItem":
        replay.stack.cloud.kill()


def _lease(ahead: timedelta) -> Begin:
    """A scheduler took the lease and vanished; its clock may have been wrong."""

    @contextmanager
    def begin(replay: Replay) -> Iterator[None]:
        replay.stack.take_lease(replay.now + ahead)
        yield

    return begin


def _clock(*processes: str) -> Begin:
    @contextmanager
    def begin(replay: Replay) -> Iterator[None]:
        replay.stack.cloud.clocks_ahead.update(dict.fromkeys(processes, timedelta(seconds=30)))
        yield
        replay.stack.cloud.clocks_ahead.clear()

    return begin


@contextmanager
def _broken_module(replay: Replay) -> Iterator[None]:
    """A release whose module does not import; then one that is as it was."""
    replay.deploy({"report": "import no_such_package\n"})
    yield
    replay.deploy({})


@contextmanager
def _unreadable(replay: Replay) -> Iterator[None]:
    """A hand edit of a job's item, taken back in the end."""
    with replay.stack.job_spoiled("report"):
        yield


def _job(does: Callable[[Replay], None], also: Begin | None = None) -> Begin:
    """The job `rounds` behaves so."""

    @contextmanager
    def begin(replay: Replay) -> Iterator[None]:
        with behaving(lambda: does(replay)):
            if also is None:
                yield
            else:
                with also(replay):
                    yield

    return begin


def _fails(_: Replay) -> None:
    raise ValueError("the door is locked")


def _hangs(replay: Replay) -> None:
    """The world goes on while it hangs, until the alarm of its time limit rings."""
    end = replay.now + timedelta(minutes=4, seconds=1)
    while replay.now < end:
        minute = replay.now.replace(second=0, microsecond=0) + MINUTE
        replay.stack.renewal.work(min(minute, end) - replay.now)
        if minute < end:
            replay.play(minute)
    signal.raise_signal(signal.SIGALRM)


FAULTS = (
    Fault(name="the scheduler's rule is disabled", begin=_off("scheduler"), dies="scheduler"),
    Fault(name="the scheduler's rule may not call it", begin=_barred("scheduler"), dies="scheduler"),
    Fault(name="the scheduler crashes at import", begin=_crashing("scheduler"), dies="scheduler"),
    Fault(
        name="every tick dies after it took the lease", begin=_calls(_killed_with_the_lease), dies="scheduler"
    ),
    Fault(
        name="one tick dies in the middle of its plan",
        begin=_calls(_killed_before_planning),
        loses=1,
        minutes=2,
    ),
    Fault(
        name="a scheduler took the lease for as long as is believed, and vanished",
        begin=_lease(LEASE_TTL + BELIEF_MARGIN),
        loses=1,
        minutes=4,
    ),
    Fault(name="the lease ends in ten years", begin=_lease(timedelta(days=3650)), loses=0, minutes=4),
    Fault(name="the scheduler's clock is 30 s ahead", begin=_clock("scheduler"), dies="scheduler"),
    Fault(name="the watchdog's rule is disabled", begin=_off("watchdog"), dies="watchdog", mute=True),
    Fault(name="the watchdog crashes at import", begin=_crashing("watchdog"), dies="watchdog", mute=True),
    Fault(
        name="the watchdog may not use the table", begin=_refused_to("watchdog"), dies="watchdog", mute=True
    ),
    Fault(name="the dispatcher crashes at import", begin=_crashing("dispatcher"), dies="dispatcher"),
    Fault(name="the stream mapping is disabled", begin=_mapping_off, dies="dispatcher"),
    Fault(
        name="the executor may not be invoked",
        begin=_refused(DENIED, of="lambda", operation="Invoke"),
        dies="executor",
    ),
    Fault(name="the executor crashes at import", begin=_crashing("executor"), dies="executor"),
    Fault(name="the executor may not use the tables", begin=_refused_to("executor"), dies="executor"),
    Fault(name="asynchronous events are lost", begin=_losing_events, dies="executor"),
    Fault(name="the executor finds no free place", begin=_throttled, dies="executor"),
    Fault(name="nobody may use the tables", begin=_refused(DENIED, of="dynamodb"), dies="table", mute=True),
    Fault(name="the tables are throttled", begin=_refused(SLOW_DOWN, of="dynamodb"), dies="table", mute=True),
    Fault(name="DynamoDB does not answer", begin=_calls(_no_answer), dies="table", mute=True),
    Fault(
        name="the index cannot be read",
        begin=_refused(SLOW_DOWN, of="dynamodb", operation="Query", index=True),
        dies="table",
        mute=True,
    ),
    Fault(name="a job's module does not import", begin=_broken_module, minutes=18),
    Fault(name="a job's item was edited by hand", begin=_unreadable, minutes=18),
    Fault(name="a job fails", begin=_job(_fails), minutes=4),
    Fault(name="a job hangs until its timeout", begin=_job(_hangs), minutes=12),
    Fault(
        name="a job fails and SNS refuses notices",
        begin=_job(_fails, also=_refused("AuthorizationError", of="sns")),
        mute=True,
        minutes=4,
    ),
)
