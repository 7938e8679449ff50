"""`make local`, used as a person uses it: started, looked at, changed, ended by Ctrl-C."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cronce_tools.emulator.deployment import client
from cronce_tools.emulator.process import Endpoint, free_port
from cronce_tools.emulator.project import copy_project
from cronce_tools.emulator.real_time import pause
from tests.e2e.command import Cronce
from tests.e2e.driver import wait_for

PROCESSES = Path("/proc")
AGAIN = 0.1
"""Seconds between two times of Ctrl-C: ending takes longer."""
COMMAND = [sys.executable, "-m", "cronce_tools.emulator"]
JOB = """
from cronce import Cron, Run, job

@job("changed", schedule=Cron("* * * * *"))
def changed(run: Run) -> None:
    run.step("say", run.log.info, "changed indeed")
"""


@dataclass(frozen=True, kw_only=True)
class Session:
    """What came of it.

    Attributes:
        port: that was asked for.
        seconds: wall times of the start and of the update.
        introduction: what it said once it was there.
        items: how many items a client of one's own found in the table that it named.
        listed: what `cronce list` said beside it, which finds it by itself.
        update: status of the update.
        second: status and last words of another one on the same port.
        broken: status and words of an update with a job that cannot be used.
        status: of the first one, after Ctrl-C.
        folder: the copy of the project.
        files_left: folders and notes that are left of it.
        processes_left: processes that are left of it, where that can be seen.
    """

    port: int
    seconds: dict[str, float]
    introduction: str
    items: int
    listed: Any
    update: int
    second: tuple[int, str]
    broken: tuple[int, str]
    status: int
    folder: Path
    files_left: list[Path]
    processes_left: set[int]


BROKEN = """
from cronce import Cron, job

@job("broken", schedule=Cron("each minute"))
def broken(run): ...
"""


class Terminal:
    """A command and what it has written so far."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        paths = os.pathsep.join(str(folder / name) for name in ("tools", "layers/runtime"))
        environment = {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(folder / "tmp")}
        (folder / "tmp").mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [*COMMAND, "--project", str(folder), *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.text = ""
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as output:
            for line in output:
                self._lines.put(line)

    def read_all(self) -> str:
        """All that it wrote, once it has ended."""
        self._reader.join(10)
        while not self._lines.empty():
            self.text += self._lines.get()
        return self.text

    def wait_for(self, pattern: str, seconds: float) -> re.Match[str]:
        """Until something was written; the process must live."""

        def look() -> re.Match[str] | None:
            while not self._lines.empty():
                self.text += self._lines.get()
            assert self.process.poll() is None, self.text
            return re.search(pattern, self.text)

        return wait_for(pattern, look, seconds)


def started_in(folder: Path) -> set[int]:
    """The processes whose folder for temporary files is below a folder, whoever their parent is."""
    found = set()
    for environment in PROCESSES.glob("[0-9]*/environ"):
        try:
            if f"TMPDIR={folder / 'tmp'}{os.sep}".encode() in environment.read_bytes():
                found.add(int(environment.parent.name))
        except OSError:
            continue
    return found


def use(folder: Path) -> Session:
    """Start it in a copy of the project, see a run, change a job, see that run, and end it."""
    copy_project(folder)
    port, seconds = free_port(), {}
    started = time.perf_counter()
    terminal = Terminal(["--port", str(port)], folder)
    try:
        terminal.wait_for("What happens:", 240)
        seconds["make local -> deployed"] = time.perf_counter() - started
        introduction = terminal.text
        (folder / "functions/jobs/changed.py").write_text(JOB)
        started = time.perf_counter()
        update = Terminal(["update"], folder)
        terminal.wait_for(r"executor +run\.succeeded run=local-minute@", 150)
        (table,) = re.findall(r"--table-name (\S+)", introduction)
        dynamodb = client(Endpoint(url=f"http://127.0.0.1:{port}"), "dynamodb")
        items = dynamodb.scan(TableName=table)["Count"]
        listed = Cronce(folder, {})("list")
        updated = update.process.wait(240)
        seconds["make local-update"] = time.perf_counter() - started
        second = Terminal(["--port", str(port)], folder)
        refused = second.process.wait(60)
        (folder / "functions/jobs/broken.py").write_text(BROKEN)
        broken = Terminal(["update"], folder)
        terminal.wait_for(r"executor +run\.succeeded run=changed@", 150)
        not_built = broken.process.wait(240)
    finally:
        terminal.process.send_signal(signal.SIGINT)
        pause(AGAIN)
        terminal.process.send_signal(signal.SIGINT)
        status = terminal.process.wait(60)
    return Session(
        port=port,
        seconds=seconds,
        introduction=introduction,
        items=items,
        listed=listed,
        update=updated,
        second=(refused, second.read_all()),
        broken=(not_built, broken.read_all()),
        status=status,
        folder=folder,
        files_left=files_left(folder),
        processes_left=started_in(folder),
    )


def files_left(folder: Path) -> list[Path]:
    """What should have gone with it."""
    return [*(folder / "tmp").glob("cronce-emulator-*"), *(folder / ".make").glob("local-stack.json")]
