"""What a read of many items of the ledger finds: records, and items that are there and cannot be read.

An item that a hand has edited, or that a later release wrote, accounts for its times all the same: they must
not be planned or backfilled a second time, nor be called unrecorded. Which times those are is said by its key
alone, so nothing else of the item is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Generic, TypeVar

from cronce.core.instants import from_key
from cronce.core.records import RunRef
from cronce.core.values import dataclass

R = TypeVar("R")
RUN = "RUN#"
GAP = "GAP#"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """An item of the ledger that is there and cannot be read.

    Attributes:
        job: whose.
        sk: its sort key.
        problem: what is wrong; it names the item.
    """

    job: str
    sk: str
    problem: str

    @property
    def is_gap(self) -> bool:
        """Whether its key is that of a gap."""
        return self.sk.startswith(GAP)

    @property
    def run(self) -> RunRef | None:
        """The run whose record it is; None: it is none."""
        try:
            return (
                RunRef.parse(f"{self.job}@{self.sk.removeprefix(RUN)}") if self.sk.startswith(RUN) else None
            )
        except ValueError:
            return None

    @property
    def stretch(self) -> tuple[datetime, datetime] | None:
        """The first and the last time of the gap that it is; None: it is none, or its key does not say it."""
        if not self.is_gap:
            return None
        first, _, rest = self.sk.removeprefix(GAP).partition("#")
        try:
            return from_key(first), from_key(rest.partition("#")[0])
        except ValueError:
            return None

    def may_account_for(self, at: datetime) -> bool:
        """Whether a time may have its entry here. A gap whose key says nothing may hold any time.

        A key that is neither a run's nor a gap's is no ledger entry: the ledger is written under exact keys.
        """
        if self.is_gap:
            return self.stretch is None or self.stretch[0] <= at <= self.stretch[1]
        return self.run == RunRef(self.job, at)

    def may_touch(self, first: datetime, last: datetime) -> bool:
        """Whether it is a gap that may reach into a stretch."""
        if not self.is_gap:
            return False
        return self.stretch is None or (self.stretch[0] <= last and self.stretch[1] >= first)


@dataclass(frozen=True, kw_only=True, slots=True)
class Found(Generic[R]):
    """Answer to a read of many items.

    Attributes:
        records: those that can be read.
        unread: those that are there and cannot be.
    """

    records: list[R]
    unread: list[Unread]


def accounting_for(unread: Sequence[Unread], at: datetime) -> Unread | None:
    """The item that cannot be read and may be a time's entry; None: there is none."""
    return next((one for one in unread if one.may_account_for(at)), None)
