"""What an examination says: findings, each with its reason and its remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a finding weighs."""

    WRONG = "wrong"
    """Something is not as it must be."""
    NOT_LOOKED_AT = "not_looked_at"
    """It was not seen, so nobody can say that it is fine."""
    HINT = "hint"
    """Worth knowing; nothing is wrong."""

    @property
    def counts(self) -> bool:
        """Whether it makes the examination end badly."""
        return self is not Level.HINT


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        what: what is wrong, with the names of what it concerns.
        why: why it matters, one clause.
        remedy: a command, or the place to look at.
        level: how much it weighs.
        check: the check that found it.
    """

    what: str
    why: str
    remedy: str
    level: Level = Level.WRONG
    check: str = ""
