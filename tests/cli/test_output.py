"""How answers are shown.

* On a terminal a table has colours, unless NO_COLOR says otherwise; the first of a row is never broken.
* Anywhere else it is plain text: no escapes, no borders, one line a row, however long.
* JSON is one document, with nothing beside it.
* What jobs and people wrote is shown, never obeyed by the terminal.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from typing_extensions import override

from cronce.core.errors import StoreError
from cronce_tools.cli.exits import Exit, UnreachableError, UsageError, explained
from cronce_tools.cli.murmur import Murmur
from cronce_tools.cli.output import BAD, Cell, Output, counted
from cronce_tools.cli.times import instant_of, shown, shown_for, window_of
from cronce_tools.cli.waiting import progress

NOW = datetime(2026, 10, 30, 10, tzinfo=UTC)
LONG = "word " * 60
MISTAKE = "a mistake in this command"
RUN = "a-job-with-a-rather-long-name@2026-10-30T10:00:00Z"


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    @override
    def isatty(self) -> bool:
        return True


@contextmanager
def terminal(**environment: str) -> Iterator[Terminal]:
    """Within the block a terminal of 80 columns."""
    screen = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        patch.delenv("NO_COLOR", raising=False)
        for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", **environment}.items():
            patch.setenv(name, value)
        yield screen


def test_a_terminal_has_colours() -> None:
    with terminal() as screen:
        Output().table(("run", "status"), [(RUN, Cell("FAILED", BAD))])
        Output().line("no: it failed", BAD)
    text = screen.getvalue()
    assert text.count("\x1b[31m") == 2
    assert RUN in text


def test_no_colour_is_respected() -> None:
    with terminal(NO_COLOR="1") as screen:
        Output().table(("run", "status"), [(RUN, Cell("FAILED", BAD))])
        Output().line("no: it failed", BAD)
    assert "FAILED" in screen.getvalue()
    assert "\x1b[3" not in screen.getvalue()


def test_what_stands_first_is_never_broken() -> None:
    with terminal() as screen:
        Output().table(("run", "remark"), [(RUN, LONG)])
    assert RUN in screen.getvalue()
    assert len(screen.getvalue().splitlines()) > 3


def test_square_brackets_are_shown_as_they_are() -> None:
    with terminal() as screen:
        Output().table(("error",), [("KeyError: '[red]x[/red]'",)])
        Output().line("KeyError: '[bold]'", BAD)
        with progress() as show:
            show("step [/red]")
    assert "[red]x[/red]" in screen.getvalue()
    assert "[bold]" in screen.getvalue()


def test_a_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(("run", "status", "remark"), [(RUN, Cell("FAILED", BAD), LONG), ("b", "", "c")])
    Output().line("no: it failed", BAD)
    heading, first, second, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["run", "status", "remark"]
    assert first == f"{RUN}  FAILED  {LONG}".rstrip()
    assert second.split() == ["b", "c"]
    assert line == "no: it failed"


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).document({"name": "Müller"})
    assert json.loads(capsys.readouterr().out) == {"name": "Müller"}


HOSTILE = "\x1b[2Jred\x07\r\x9b31m\u202egpj.\x00\udcff"
OBEYED = set("\x1b\x07\r\x9b\u202e\x00\udcff")


def test_what_a_terminal_would_obey_is_shown_as_an_escape(capsys: pytest.CaptureFixture[str]) -> None:
    output, said = Output(), r"\x1b[2Jred\x07\r\x9b31m\u202egpj.\x00\udcff"
    output.table(("error",), [(HOSTILE,)])
    output.pairs([("why", HOSTILE)])
    output.line(f"first\n\t{HOSTILE}", BAD)
    output.note(HOSTILE)
    Murmur().warn("job.unreadable", problem=HOSTILE)
    captured = capsys.readouterr()
    assert captured.out == f"error\n{said}\nwhy  {said}\nfirst\n\t{said}\n"
    assert captured.err == f"{said}\nnote: job.unreadable problem={said}\n"
    with terminal(NO_COLOR="1", TERM="dumb") as screen:
        output.table(("error",), [(Cell(HOSTILE, BAD),)])
        output.line(HOSTILE, BAD)
    assert not OBEYED & set(screen.getvalue())


def test_json_is_harmless_too_and_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"error": f"{HOSTILE}\n\u00a0\U000e0001", "name": "Müller"}
    Output(as_json=True).document(document)
    out = capsys.readouterr().out
    assert not OBEYED & set(out)
    assert json.loads(out) == document


def test_no_word_becomes_a_picture() -> None:
    with terminal() as screen:
        Output().line("step:100: failed", BAD)
    assert ":100:" in screen.getvalue()


def test_progress_is_a_line_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as show:
        for text in ("PENDING", "PENDING", "RUNNING"):
            show(text)
    assert capsys.readouterr() == ("", "PENDING\nRUNNING\n")


def test_what_somebody_should_look_at_is_said_beside(capsys: pytest.CaptureFixture[str]) -> None:
    murmur = Murmur()
    murmur.event("operator.pause", job="menu")
    murmur.count("RunsFailed")
    murmur.flush()
    murmur.warn("job.unreadable", job="menu", problem="no planned_to")
    assert capsys.readouterr() == ("", "note: job.unreadable job=menu problem=no planned_to\n")


@pytest.mark.parametrize(
    "error, code, said",
    [
        (UsageError("a\nb"), Exit.USAGE, "a b"),
        (UnreachableError("gone"), Exit.UNREACHABLE, "gone"),
        (StoreError("read job x: 5 times"), Exit.UNREACHABLE, "read job x: 5 times"),
        (
            ValueError("x"),
            Exit.BUG,
            "a mistake in this command: ValueError: x (CRONCE_TRACEBACK=1 shows where)",
        ),
    ],
)
def test_an_error_is_one_line_and_a_code(error: Exception, code: Exit, said: str) -> None:
    assert explained(error) == (code, said)


@pytest.mark.parametrize(
    "length, said",
    [
        (timedelta(0), "0 ms"),
        (timedelta(milliseconds=850), "850 ms"),
        (timedelta(seconds=4.25), "4.2 s"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(seconds=725), "12 min 5 s"),
        (timedelta(hours=3, minutes=20, seconds=5), "3 h 20 min"),
        (timedelta(days=2, minutes=5), "2 d"),
    ],
)
def test_a_duration_is_short(length: timedelta, said: str) -> None:
    assert shown_for(length) == said


@pytest.mark.parametrize(
    "text, at",
    [
        ("2026-10-30", "2026-10-30T04:00:00+00:00"),
        ("today", "2026-10-30T04:00:00+00:00"),
        ("yesterday", "2026-10-29T04:00:00+00:00"),
        ("2026-10-30T06:00", "2026-10-30T10:00:00+00:00"),
        ("2026-10-30 06:00", "2026-10-30T10:00:00+00:00"),
        ("2026-10-30T06:00Z", "2026-10-30T06:00:00+00:00"),
        ("2026-10-30T06:00+02:00", "2026-10-30T04:00:00+00:00"),
        ("90m", "2026-10-30T08:30:00+00:00"),
        ("1d2h", "2026-10-29T08:00:00+00:00"),
    ],
)
def test_a_time_is_read_by_the_zones_clock(text: str, at: str) -> None:
    assert instant_of(text, "America/New_York", NOW) == datetime.fromisoformat(at)


def test_a_day_that_begins_at_one_begins_when_the_clock_jumps() -> None:
    """In Cairo the clock skips midnight on the last Friday of April."""
    at = instant_of("2026-04-24", "Africa/Cairo", NOW)
    assert shown(at, "Africa/Cairo") == "Fri 2026-04-24 01:00 EEST"


def test_a_day_as_an_end_is_the_whole_day() -> None:
    first, after = window_of("2026-10-30", "2026-10-30", "UTC", NOW)
    assert first is not None
    assert after is not None
    assert after - first == timedelta(days=1)


def test_a_number_and_its_thing() -> None:
    assert [counted(number, "run") for number in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
