"""What is seen of a run that is watched: each call of a step's function, and where its worker dies.

A death is an exception, `Crashed`, from which on nothing of the process reaches the store and no step's
function is called. What a dead process would not do, and this one does: `finally` blocks and `except
BaseException` of the job, and items of other threads that are under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from threading import Lock
from typing import Any
from uuid import UUID

from cronce.testing.outside import Outside

PLAIN = (str, int, float, bool, bytes, date, time, datetime, timedelta, Decimal, UUID, type(None))
"""What is compared by its value. Anything else (a client, a lock, a function) is taken for the same."""
OPAQUE = "(not compared)"


class Crashed(BaseException):
    """The worker dies. Not an `Exception`: no job takes it for a failure of its own."""


class Moment(StrEnum):
    """When a worker dies."""

    DONE = "crash_before_recording"
    """The function of the step or item has returned; nothing of that is recorded."""
    RECORDED = "crash_after"
    """The step is recorded. Of an item: what is due is recorded, and the next item would begin."""
    RETURNED = "returned"
    """Everything is done; the end of the run is not recorded."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker dies: a moment of a step ("build") or of the 600th item of an `each` ("send:600")."""

    moment: Moment
    step: str = ""

    def __str__(self) -> str:
        return f'{self.moment}="{self.step}"' if self.step else "its end, everything being done"


class Kind(StrEnum):
    """How a step was called."""

    STEP = "step"
    """`run.step`."""
    ONCE = "once"
    """`run.once`."""
    EACH = "each"
    """`run.each`."""
    SLEEP = "sleep"
    """`run.sleep` or `run.sleep_until`."""


Work = tuple[str, str | None]
"""A step's name, and of an `each` the item's key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of a step's function.

    Attributes:
        step: the step's name.
        item: the item's key; None: the step is no `each`.
        idempotency_key: under which it was to work, whether or not the function takes it.
        attempt: of the run.
        arguments: positional ones and named ones, as far as they are plain data.
        fencing_tokens: that of the worker, and those of the leases taken so far.
    """

    step: str
    item: str | None
    idempotency_key: str
    attempt: int
    arguments: Any = field(repr=False)
    fencing_tokens: frozenset[int] = field(repr=False)

    @property
    def work(self) -> Work:
        """What it was to do."""
        return self.step, self.item


@dataclass(frozen=True, kw_only=True, slots=True)
class Crash:
    """What there was when a worker died.

    Attributes:
        calls: how many calls had been made.
        recorded: the steps and items that were recorded.
    """

    calls: int
    recorded: frozenset[Work]


@dataclass(kw_only=True, slots=True)
class Asked:
    """What the latest call of the job's function asked its run for.

    Attributes:
        kinds: of the steps, in order.
        items: the keys of the items of each `each`.
        every: their `checkpoint_every`.
    """

    kinds: dict[str, Kind] = field(default_factory=dict)
    items: dict[str, Sequence[str]] = field(default_factory=dict)
    every: dict[str, int] = field(default_factory=dict)


class Watch:
    """What is seen of one run, over all its workers.

    Args:
        outside: sees effects outside steps.
        place: where the first worker that comes by dies; None: nowhere.
        takes: how long a function works, by the step's name.
    """

    def __init__(self, outside: Outside, place: Place | None, takes: Mapping[str, timedelta]) -> None:
        self.outside = outside
        self.place = place
        self.takes = takes
        self.work: Callable[[timedelta], None] = lambda _: None
        """Lets a function work so long."""
        self.calls: list[Call] = []
        self.raised: list[Exception] = []
        """What the job's function raised, attempt by attempt."""
        self.asked = Asked()
        self.dead = False
        """The worker is dead: nothing of it may reach the store."""
        self.stopped = False
        """The function was told to stop: by its death, or by the engine."""
        self.swallowed = False
        """A function that was told to stop went on: it swallowed what told it."""
        self.crash: Crash | None = None
        """What there was when the worker died; None: nobody has died."""
        self.recorded: Callable[[], frozenset[Work]] = frozenset
        """Looks up what is recorded."""
        self.lease_tokens: Callable[[], frozenset[int]] = frozenset
        """Looks up the tokens of all leases taken so far."""
        self._done: Counter[str] = Counter()
        self._due = False
        self._lock = Lock()

    def alive(self) -> None:
        """Go on, unless dead.

        Raises:
            Crashed: dead.
        """
        if self.dead:
            self.stopped = True
            raise Crashed(str(self.place))

    def reached(self, moment: Moment, step: str = "") -> None:
        """Somebody is at a place.

        Raises:
            Crashed: it is the one.
        """
        self.alive()
        due = self._due and moment is Moment.RECORDED
        if self.crash is None and (due or Place(moment, step) == self.place):
            self.crash = Crash(calls=len(self.calls), recorded=self.recorded())
            self.dead = True
            self.alive()

    def done(self, call: Call) -> None:
        """The function of a step or item has returned.

        Raises:
            Crashed: the worker dies here.
        """
        self.reached(Moment.DONE, call.step)
        if call.item is None:
            return
        with self._lock:
            self._done[call.step] += 1
            at = f"{call.step}:{self._done[call.step]}"
            self._due = self._due or self.place == Place(Moment.RECORDED, at)
        self.reached(Moment.DONE, at)

    def pulled(self) -> None:
        """The next item would begin.

        Raises:
            Crashed: the worker dies after the one before.
        """
        if self._due:
            self.reached(Moment.RECORDED)


def copied(value: Any) -> Any:
    """Plain data as it is now, whatever becomes of the original; the rest as `OPAQUE`."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, list | tuple):
        return [copied(one) for one in value]
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: copied(getattr(value, one.name)) for one in fields(value)}
    return OPAQUE
