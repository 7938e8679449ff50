"""Chance that depends on what is asked, not on what was asked before.

Every draw is a hash of the seed and of a name for the occasion ("the 7th call of tick 12:00"). So a history
is the same whatever the interpreter's hash seed, and taking one fault or one job out of it leaves all the
other draws as they were: that is what makes shrinking work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")
_RANGE = float(1 << 64)


@dataclass(frozen=True, slots=True)
class Chance:
    """Draws of one seed.

    Attributes:
        seed: of the history.
    """

    seed: int

    def bits(self, occasion: str) -> int:
        """64 random bits."""
        return int.from_bytes(blake2b(f"{self.seed}/{occasion}".encode(), digest_size=8).digest(), "big")

    def fraction(self, occasion: str) -> float:
        """Evenly from 0 to below 1."""
        return self.bits(occasion) / _RANGE

    def happens(self, occasion: str, probability: float) -> bool:
        """Whether something of that probability happens."""
        return probability > 0 and self.fraction(occasion) < probability

    def number(self, occasion: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.bits(occasion) % (high - low + 1)

    def one_of(self, occasion: str, choices: Sequence[T]) -> T:
        """One of several, all alike."""
        return choices[self.bits(occasion) % len(choices)]

    def span(self, occasion: str, low: float, high: float) -> timedelta:
        """A time in whole milliseconds, from `low` to `high` seconds; short ones are likelier."""
        draw = self.fraction(occasion) ** 2
        return timedelta(milliseconds=int(1000 * (low + draw * (high - low))))
