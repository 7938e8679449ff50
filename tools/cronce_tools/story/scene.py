"""What a scene is: something happens, and then figures are counted in the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cronce_tools.story.world import World


@dataclass(frozen=True)
class Figure:
    """One thing that was counted.

    Attributes:
        what: in words.
        value: what was found.
        kept: whether that is what was promised.
    """

    what: str
    value: object
    kept: bool


def promised(what: str, found: object, expected: object) -> Figure:
    """A figure that has one right value."""
    kept = found == expected
    return Figure(what, found if kept else f"{found} (promised: {expected})", kept)


def shown(what: str, found: object, *, kept: bool = True) -> Figure:
    """A figure that is right under a condition of its own."""
    return Figure(what, found, kept)


@dataclass(frozen=True)
class Scene:
    """A part of the story.

    Attributes:
        title: what happens, in one line.
        play: makes it happen, and counts.
    """

    title: str
    play: Callable[[World], list[Figure]]
