"""Reads what the stream of the Runs table hands to the dispatcher. Pure: nothing is called or written.

The mapping's filter passes only runs that became PENDING with dispatch = stream. What it should not have
passed (a filter that somebody edited) is left out here again, because the sweep's own writes must not
dispatch a second time. A record that cannot be read is returned with the reason and its sequence number: it
is reported as a failure of its own, so that after a bounded number of tries the stream puts it into the
failure queue, where a person finds it. The run behind it, if there is one, is started by the sweep. Only a
record without a sequence number cannot be reported; it is in the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cronce.aws.outline import outline
from cronce.core.errors import EventError
from cronce.core.records import RunRef
from cronce.core.run import Dispatch, RunStatus
from cronce.core.values import dataclass

SOURCE = "aws:dynamodb"
SHOWN = 120
"""Characters of a malformed thing that its reason shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamedRun:
    """A run to start, and the record's place in the stream, by which a failure is reported."""

    sequence_number: str
    ref: RunRef


@dataclass(frozen=True, kw_only=True, slots=True)
class MalformedRecord:
    """A record that cannot be read: its place (None: that is what is missing) and what is wrong."""

    sequence_number: str | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamBatch:
    """One invocation's share of the stream.

    Attributes:
        runs: to start, in order.
        malformed: what could not be read.
        ignored: records that ask for nothing.
    """

    runs: tuple[StreamedRun, ...] = ()
    malformed: tuple[MalformedRecord, ...] = ()
    ignored: int = 0


def read_batch(event: object) -> StreamBatch:
    """Read a stream event.

    Raises:
        EventError: it is not the event of a DynamoDB stream.
    """
    runs: list[StreamedRun] = []
    malformed: list[MalformedRecord] = []
    records = _records(event)
    for record in records:
        try:
            run = _run(record)
        except _MalformedError as error:
            malformed.append(MalformedRecord(sequence_number=_sequence_number(record), reason=str(error)))
            continue
        if run:
            runs.append(run)
    ignored = len(records) - len(runs) - len(malformed)
    return StreamBatch(runs=tuple(runs), malformed=tuple(malformed), ignored=ignored)


def in_stream_order(numbers: Iterable[str]) -> list[str]:
    """Sequence numbers in the order of the stream: they are decimal numbers of any length.

    They come from an event, so nothing is taken for granted: what is no number has a place all the same.
    """

    def size(number: str) -> tuple[int, str]:
        digits = number.lstrip("0")
        return len(digits), digits

    return sorted(numbers, key=size)


class _MalformedError(ValueError):
    """A record cannot be read."""


def _records(event: object) -> list[object]:
    records = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, list):
        raise EventError(
            f'not the event of a DynamoDB stream: it has no list "Records": it is {outline(event)}'
        )
    for record in records:
        source = record.get("eventSource", SOURCE) if isinstance(record, Mapping) else SOURCE
        if source != SOURCE:
            raise EventError(f"not the event of a DynamoDB stream: a record comes from {_shown(source)}")
    return records


def _run(record: object) -> StreamedRun | None:
    """The run that a record asks to start; None if it asks for nothing."""
    change = _part(record, "dynamodb")
    keys = _part(change, "Keys")
    pk, sk = _text(keys, "pk"), _text(keys, "sk")
    if not sk.startswith("RUN#") or not _asks_for_a_start(record, change):
        return None
    number = _sequence_number(record)
    if number is None:
        raise _MalformedError(f"the record of {pk} / {sk} has no SequenceNumber")
    if not pk.startswith("JOB#"):
        raise _MalformedError(f"the key {_shown(pk)} of {_shown(sk)} does not begin with JOB#")
    try:
        ref = RunRef.parse(f"{pk.removeprefix('JOB#')}@{sk.removeprefix('RUN#')}")
    except ValueError as error:
        raise _MalformedError(f"the key {_shown(pk)}, {_shown(sk)} names no run: {error}") from error
    return StreamedRun(sequence_number=number, ref=ref)


def _asks_for_a_start(record: object, change: Mapping[str, object]) -> bool:
    if isinstance(record, Mapping) and record.get("eventName") == "REMOVE":
        return False
    image = _part(change, "NewImage")
    if _text(image, "status") != RunStatus.PENDING.value:
        return False
    return _text(image, "dispatch") == Dispatch.STREAM.value


def _part(holder: object, name: str) -> Mapping[str, object]:
    part = holder.get(name) if isinstance(holder, Mapping) else None
    if not isinstance(part, Mapping):
        raise _MalformedError(f"a record without {name}: {outline(holder)}")
    return part


def _text(attributes: Mapping[str, object], name: str) -> str:
    value = attributes.get(name)
    text = value.get("S") if isinstance(value, Mapping) else None
    if not isinstance(text, str):
        raise _MalformedError(f"the attribute {name} is not a text: {outline(value)}")
    return text


def _sequence_number(record: object) -> str | None:
    change = record.get("dynamodb") if isinstance(record, Mapping) else None
    number = change.get("SequenceNumber") if isinstance(change, Mapping) else None
    return number if isinstance(number, str) and number else None


def _shown(thing: object) -> str:
    text = repr(thing)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
