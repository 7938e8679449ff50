"""What goes wrong with a patrol itself: reported, and kept away from all its other parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from cronce.core.errors import StoreError, UnreadableItemError
from cronce.core.ports import Telemetry
from cronce.core.values import dataclass
from cronce.engine.metrics import ITEMS_UNREADABLE


@dataclass(kw_only=True, slots=True)
class PatrolLog:
    """Trouble of one patrol.

    Attributes:
        telemetry: where it is reported.
        unreadable: items that could not be understood.
        problems: parts of the patrol that could not be done; with any, it is not a complete one.
    """

    telemetry: Telemetry
    unreadable: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @contextmanager
    def part(self, what: str) -> Iterator[None]:
        """One part of the patrol: whatever happens in it does not keep the other parts from being done."""
        try:
            yield
        except UnreadableItemError as error:
            self.cannot_read(what, str(error))
        except StoreError as error:
            self.failed(what, str(error))
        except Exception as error:  # noqa: BLE001 - one oddity must not silence the alerts of all others
            self.failed(what, f"{type(error).__name__}: {error}")

    @contextmanager
    def beside(self, what: str) -> Iterator[None]:
        """Something that can be left out: reported, and the patrol is a complete one all the same."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - as above
            self.telemetry.warn("patrol.left_out", part=what, problem=f"{type(error).__name__}: {error}")

    def cannot_read(self, what: str, problem: str) -> None:
        """Report an item that could not be understood."""
        self.unreadable.append(what)
        self.telemetry.warn("item.unreadable", item=what, problem=problem)
        self.telemetry.count(ITEMS_UNREADABLE)

    def failed(self, what: str, problem: str) -> None:
        """Report a part that could not be done."""
        self.problems.append(what)
        self.telemetry.warn("patrol.part_failed", part=what, problem=problem)
