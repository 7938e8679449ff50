"""How answers are shown: JSON, a table with colours on a terminal, plain columns anywhere else.

What jobs and people wrote (errors, reasons) is shown, never obeyed: see `harmless`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

GOOD, BAD, WAITS, QUIET = "green", "red", "yellow", "dim"
"""Colours by what they say."""


_LINES = re.compile(r"[\n\t]")


def harmless(text: str, *, keep: re.Pattern[str] | None = None) -> str:
    """Text without anything that a terminal obeys or that hides what is written: such letters as escapes.

    Args:
        text: of anybody, for example an error with the colours of the program that raised it.
        keep: letters that may stay all the same.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or (keep and keep.match(letter)) else _escaped(letter)
        for letter in text
    )


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of a table, with a style that a terminal shows."""

    text: str
    style: str = ""


Row = Sequence[str | Cell]


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """Where answers go.

    Attributes:
        as_json: one JSON document on standard output, nothing else there.
    """

    as_json: bool = False

    def document(self, value: object) -> None:
        """One JSON document, readable: only what a terminal would obey is an escape in it."""
        for line in json.dumps(value, indent=2, ensure_ascii=False).split("\n"):
            print("".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in line))

    def table(self, headings: Sequence[str], rows: Sequence[Row]) -> None:
        """Rows below headings; without borders and at full width where there is no terminal."""
        if not sys.stdout.isatty():
            for line in plain(headings, rows):
                print(line)
            return
        from rich.table import Table  # noqa: PLC0415 - only who has a terminal pays for it
        from rich.text import Text  # noqa: PLC0415

        table = Table(box=None, pad_edge=False, header_style="bold")
        for number, heading in enumerate(headings):
            table.add_column(heading, no_wrap=number == 0, overflow="fold")  # the first is there to be copied
        for row in rows:
            cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
            table.add_row(*(Text(harmless(cell.text), cell.style) for cell in cells))
        _console().print(table)

    def pairs(self, facts: Sequence[tuple[str, str]]) -> None:
        """Names and what they stand for, a line each."""
        width = max((len(name) for name, _ in facts), default=0)
        for name, text in facts:
            print(f"{name.ljust(width)}  {harmless(text)}")

    def line(self, text: str = "", style: str = "") -> None:
        """One line of an answer; several, if an error has them."""
        text = harmless(text, keep=_LINES)
        if style and sys.stdout.isatty():
            _console().print(text, style=style, markup=False, emoji=False, highlight=False, soft_wrap=True)
        else:
            print(text)

    def note(self, text: str) -> None:
        """Something beside the answer, for a person: on standard error."""
        print(harmless(text), file=sys.stderr)


def plain(headings: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Aligned columns, two spaces apart, one line a row."""
    texts = [[harmless(cell.text if isinstance(cell, Cell) else cell) for cell in row] for row in rows]
    lines = [list(headings), *texts]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def _console() -> Console:
    from rich.console import Console as Made  # noqa: PLC0415

    return Made(file=sys.stdout, highlight=False)


def counted(number: int, thing: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


Json = dict[str, Any]
"""A JSON object."""
