"""`cronce new`: a job module and its test, written so that both pass all checks as they are."""

from __future__ import annotations

import builtins
import keyword
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from cronce.aws.clock import SystemClock
from cronce.core.job import Job, job
from cronce.core.schedule import Cron
from cronce.engine.run_handle import Run
from cronce_tools.cli import working_copy
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit, UsageError
from cronce_tools.cli.times import shown

LINE = 110
"""Characters of a line, as pyproject.toml has it."""
TAKEN = frozenset({"job", "jobs", *keyword.kwlist, *keyword.softkwlist, *dir(builtins)})
"""Names that the module's function must not have."""
EXCUSE = "# ruff: noqa: E501"

JOB = '''\
"""{name}: {words}."""

from __future__ import annotations

from cronce import Cron, Run, job


@job("{name}", schedule={when})
def {function}(run: Run) -> None:
    """Write what the job does here. A step that has finished is never executed again."""
    run.step("hello", run.log.info, "hello")
'''

TEST = '''\
"""The job {name}: its worker killed at every place, and on the deployed handlers, with AWS in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cronce.testing import assert_resumable
from cronce_tools.local.stack import local_stack
from jobs.{function} import {function}

DUE = datetime({due:%Y}, {due.month}, {due.day}, {due.hour}, {due.minute}, tzinfo=UTC)
"""{local}, one of its times."""


def test_{function}_is_resumable() -> None:
    assert_resumable({function}, at=DUE)


def test_{function}_runs_at_its_time() -> None:
    with local_stack(DUE - timedelta(minutes=2)) as stack:
        stack.play(minutes=3)
        ends = {{run.ref.scheduled_at: run.status for run in stack.runs("{name}")}}
        assert ends[DUE] == "SUCCEEDED"
'''


def new_job(call: Call, name: str, cron: str, tz: str) -> int:
    """Write a job and its test.

    Returns:
        The exit code.

    Raises:
        DefinitionError: name, expression or zone are not what a job takes.
        UsageError: there is such a job or file already. Nothing was written.
    """
    declared = _declared(name, cron, tz)
    function = _function(name)
    texts = {
        call.project / f"functions/jobs/{function}.py": _job_text(declared, function),
        call.project / f"tests/jobs/test_{function}.py": _test_text(declared, function, SystemClock().now()),
    }
    known = working_copy.catalog(call.project).jobs.get(name)
    if known is not None:
        raise UsageError(f"there is a job {name!r} already, in {known.module}")
    _write({file: formatted(text, file) for file, text in texts.items()})
    written = [str(file.relative_to(call.project)) for file in texts]
    if call.output.as_json:
        call.output.document(
            {"job": name, "files": written, "schedule_in_words": declared.schedule.describe()}
        )
        return Exit.YES
    call.output.line(f"wrote {' and '.join(written)}: {declared.schedule.describe()}")
    call.output.note(f"try it: .venv/bin/pytest {written[1]}")
    return Exit.YES


def _declared(name: str, cron: str, tz: str) -> Job:
    """The job as its module will declare it, so that everything is refused before anything is written."""

    @job(name, schedule=Cron(cron, tz=tz))
    def declared(run: Run) -> None:
        del run

    return declared


def _function(name: str) -> str:
    """Name of the function and of its module."""
    function = name.replace("-", "_")
    return f"job_{function}" if function in TAKEN or not function.isidentifier() else function


def _job_text(declared: Job, function: str) -> str:
    schedule = declared.schedule
    assert isinstance(schedule, Cron)  # noqa: S101 - made above
    zone = "" if schedule.tz == "UTC" else f', tz="{schedule.tz}"'
    return JOB.format(
        name=declared.name,
        words=schedule.describe(),
        when=f'Cron("{schedule.expression}"{zone})',
        function=function,
    )


def _test_text(declared: Job, function: str, now: datetime) -> str:
    due = declared.schedule.next_after(now)
    assert due is not None  # noqa: S101 - an expression that never fires is refused
    return TEST.format(
        name=declared.name,
        function=function,
        due=due.astimezone(UTC),
        local=shown(due, declared.schedule.tz),
    )


def formatted(text: str, file: Path) -> str:
    """The text as the project's formatter has it. Names and expressions may be longer than any line."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(file), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    text = done.stdout if done.returncode == 0 else text
    return text if all(len(line) <= LINE for line in text.splitlines()) else f"{EXCUSE}\n{text}"


def _write(files: dict[Path, str]) -> None:
    """Write all of them, or none.

    Raises:
        UsageError: one is there already, or cannot be written.
    """
    for file in files:
        if file.exists():
            raise UsageError(f"{file} is there already: nothing was written")
    written: list[Path] = []
    try:
        for file, text in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as target:
                written.append(file)
                target.write(text)
    except OSError as error:
        for file in written:
            file.unlink(missing_ok=True)
        raise UsageError(
            f"{error.filename} cannot be written: {error.strerror}: nothing was written"
        ) from None
