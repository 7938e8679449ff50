"""What happened, for people: kept only while somebody wants to read it."""

from __future__ import annotations

from collections import deque
from dataclasses import fields
from datetime import datetime
from typing import Any

from cronce.testing.keys import Item, Key
from tests.simulation.hub import Hub

LINES = 400
"""The last so many lines are kept."""
_DULL = {
    "rev",
    "due_at",
    "claim_until",
    "dispatches",
    "request_id",
    "log_stream",
    "scheduled_local",
    "forget_at",
}
# Fields of a run that a reader of a failure rarely asks for.


class Timeline:
    """Lines of time, actor, text.

    Args:
        hub: tells the time.
        wanted: whether lines are kept at all.
    """

    def __init__(self, hub: Hub, *, wanted: bool) -> None:
        self._hub = hub
        self.wanted = wanted
        self._lines: deque[tuple[datetime, str, str]] = deque(maxlen=LINES)

    def note(self, actor: str, text: str) -> None:
        """One line."""
        if self.wanted:
            self._lines.append((self._hub.now, actor, text))

    def write(self, actor: str, call: str, changes: list[tuple[Key, Item | None, Item | None]]) -> None:
        """What a call has written."""
        if not self.wanted:
            return
        for key, before, after in changes:
            self.note(actor, f"{call}: {key[0]} {key[1]}: {_difference(before, after)}")

    def text(self, last: int, about: str = "") -> str:
        """The last lines.

        Args:
            last: how many.
            about: a job: lines about other jobs are left out.
        """
        lines = [line for line in self._lines if not about or _concerns(line, about)][-last:]
        return "\n".join(f"{at:%d %H:%M:%S.%f}"[:-3] + f"  {actor:<34} {text}" for at, actor, text in lines)


def _concerns(line: tuple[datetime, str, str], job: str) -> bool:
    text = f"{line[1]} {line[2]}"
    names_a_job = "JOB#" in text or "@" in text
    return job in text or not names_a_job


def _difference(before: Item | None, after: Item | None) -> str:
    if after is None:
        return "deleted"
    shown: list[str] = []
    for field in fields(after):
        old: Any = getattr(before, field.name, None)
        new: Any = getattr(after, field.name)
        if field.name not in _DULL and (
            old != new if before is not None else new not in (None, (), 0, False)
        ):
            shown.append(f"{field.name}={_short(new)}")
    return ("" if before is not None else "new ") + (", ".join(shown) or "(bookkeeping)")


def _short(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%d %H:%M:%S}"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(value)[:120]
