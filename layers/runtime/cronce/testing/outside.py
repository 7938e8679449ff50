"""Effects of a job outside its steps: what every attempt, every invocation and every resume does again.

Seen, in the thread that calls the job's function, while it is not within a step:

* what Python tells its audit hooks: connections, data sent by the standard library's clients (`http.client`,
  which most HTTP libraries stand on, `smtplib`, `ftplib`), files opened for writing, removed or renamed,
  directories made or removed, processes started, SQLite databases opened;
* calls of boto3 by the name of their operation, unless it only reads (`Get...`, `List...`, `Query`, ...);
  with moto too, which makes no connection;
* calls of the functions that the author names: real ones, or doubles that only fill a list.

Not seen: what other threads do, what C extensions do on their own (a database driver that talks through a C
library), what is sent over a socket that is open already and belongs to none of those clients, writing to an
open file, changes of variables. An author who has such an effect names the function that makes it.

The audit hook is added once per process, when it is first needed, and stays: Python has no way to remove it.
Outside of `call` it does nothing.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

T = TypeVar("T")
Function = Callable[..., object]

EVENTS = {
    "socket.connect": "connects to",
    "socket.sendto": "sends to",
    "socket.sendmsg": "sends to",
    "http.client.send": "sends an HTTP request",
    "smtplib.send": "sends to a mail server",
    "ftplib.sendcmd": "sends to an FTP server",
    "subprocess.Popen": "starts",
    "os.system": "starts",
    "os.exec": "starts",
    "os.posix_spawn": "starts",
    "os.spawn": "starts",
    "os.remove": "removes",
    "os.rename": "renames",
    "os.truncate": "truncates",
    "os.link": "links",
    "os.symlink": "links",
    "os.mkdir": "makes the directory",
    "os.rmdir": "removes the directory",
    "sqlite3.connect": "opens the database",
}
"""Audit events of Python's own table that stand for an effect, and what is said of them."""
WHAT_IT_ACTS_ON = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
"""Which argument of the event to name, if it is not the first."""
SHOW_NOTHING = frozenset({"http.client.send", "smtplib.send", "ftplib.sendcmd"})
"""The argument of these is a connection or data: it is not shown."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
AWS_READS = ("Get", "List", "Describe", "Query", "Scan", "Head", "BatchGet", "Search", "Lookup")
"""How operations of AWS begin that change nothing."""

_watching: Outside | None = None
_hooked = False


class Outside:
    """Looks for effects outside steps.

    Args:
        effects: functions each call of which is an effect.
        reads: functions within which nothing is taken for one.

    Raises:
        TypeError: what was given is no function.
    """

    def __init__(self, effects: Iterable[Function] = (), reads: Iterable[Function] = ()) -> None:
        self._effects = {_identity(each): _name(each) for each in functions("effects", effects)}
        self._reads = {_identity(each) for each in functions("reads", reads)}
        self._thread = 0
        self._looks = False
        self._before: Any = None
        self._file: str | None = None
        self.found: dict[str, str] = {}
        """What was done by the place in the code: the first thing for each line."""

    def call(self, function: Callable[[T], object], argument: T) -> object:
        """Call a job's function, and look meanwhile."""
        global _watching  # noqa: PLW0603 - the audit hook is one for the whole process
        _hook()
        outer, _watching = _watching, self
        self._thread, self._file, self._before = threading.get_ident(), _file(function), sys.getprofile()
        self._look(True)
        try:
            return function(argument)
        finally:
            self._look(False)
            _watching = outer

    @contextmanager
    def looking(self, yes: bool) -> Iterator[None]:
        """Within the block, look or look away: what happens in a step is as it should be."""
        if threading.get_ident() != self._thread:
            yield
            return
        before = self._looks
        self._look(yes)
        try:
            yield
        finally:
            self._look(before)

    def _look(self, yes: bool) -> None:
        self._looks = yes
        sys.setprofile(self._profiled if yes else self._before)

    def audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Something happens in this process that Python tells its audit hooks."""
        if not self._looks or threading.get_ident() != self._thread:
            return
        what = _written(arguments) if event == "open" else _audited(event, arguments)
        if what is not None:
            self._note(what, inspect.currentframe())

    def _profiled(self, frame: FrameType, event: str, argument: object) -> None:
        """A function is called."""
        what: str | None = None
        if event == "call":
            name = self._effects.get(frame.f_code)
            what = f"calls {name}" if name else _aws_call(frame)
        elif event == "c_call" and argument in self._effects:
            what = f"calls {self._effects[argument]}"
        if what is not None:
            self._note(what, frame)

    def _note(self, what: str, frame: FrameType | None) -> None:
        """Remember it by the line of the job's function, unless it happens within a function that reads."""
        place: FrameType | None = None
        while frame is not None and frame.f_code is not Outside.call.__code__:
            code = frame.f_code
            if code in self._reads or code.co_filename.startswith("<frozen importlib") or _aws_reads(frame):
                return
            if code.co_filename == self._file or (place is None and code.co_filename != __file__):
                place = frame
            frame = frame.f_back
        if place is not None:
            file = Path(place.f_code.co_filename)
            shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
            self.found.setdefault(f"{shown}:{place.f_lineno}, in {place.f_code.co_name}", what)


def functions(name: str, given: object) -> tuple[Function, ...]:
    """Functions that an argument names; whether they are any, `Outside` says.

    Raises:
        TypeError: it is no list of anything.
    """
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise TypeError(f"{name} takes a list of functions, such as {name}=[send], not {given!r}")
    return tuple(given)


def _hook() -> None:
    """Add the audit hook, once."""
    global _hooked  # noqa: PLW0603 - it cannot be removed, so it must not be added twice
    if not _hooked:
        sys.addaudithook(_told)
        _hooked = True


def _told(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching is not None and (event == "open" or event in EVENTS):
        _watching.audited(event, arguments)


def _audited(event: str, arguments: tuple[Any, ...]) -> str | None:
    if event in SHOW_NOTHING:
        return EVENTS[event]
    position = WHAT_IT_ACTS_ON.get(event, 0)
    target = arguments[position] if len(arguments) > position else ""
    return f"{EVENTS[event]} {target!r}"


def _written(arguments: tuple[Any, ...]) -> str | None:
    """A file that is opened for writing; None: for reading, or it is no file in the file system."""
    path, mode, flags = arguments
    writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & WRITING)
    if not writes or isinstance(path, int) or str(path) == os.devnull:
        return None
    return f"writes the file {path!r}"


def _aws_call(frame: FrameType) -> str | None:
    """The call of boto3 that a frame stands for, if it may change something."""
    operation = _aws_operation(frame)
    return None if operation is None or operation.startswith(AWS_READS) else f"calls AWS: {operation}"


def _aws_reads(frame: FrameType) -> bool:
    """Whether a frame stands for a call of boto3 that changes nothing, whatever connection it needs."""
    operation = _aws_operation(frame)
    return operation is not None and operation.startswith(AWS_READS)


def _aws_operation(frame: FrameType) -> str | None:
    if frame.f_code.co_name != "_make_api_call":
        return None
    operation = frame.f_locals.get("operation_name")
    return operation if isinstance(operation, str) else None


def _identity(function: object) -> object:
    """What a call of the function is recognised by: its code, or for a builtin the function itself."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isbuiltin(function):
        return function
    if not inspect.isroutine(function) and callable(function) and not isinstance(function, type):
        function = type(function).__call__  # an object that is called like a function
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    if not isinstance(code, CodeType):
        raise TypeError(f"effects and reads take functions, not {function!r}")
    return code


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))


def _file(function: Callable[..., object]) -> str | None:
    """The file of a job's function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_filename if isinstance(code, CodeType) else None
