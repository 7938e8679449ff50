"""What is around local AWS: its process, the template, a copy of the project, lines for a person.

* What cannot be started says what to do. A client is pointed away from the user's own account.
* Only what the emulator refuses is left out of a template.
* Logs, what jobs print, notices and alarms are shown as a person reads them; metrics and what the platform
  writes are not. What was shown is not shown again, and what is printed twice is shown twice.
"""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import Any, Self

import pytest
from urllib3.connectionpool import HTTPConnectionPool

from cronce_tools.emulator.__main__ import ENDING, _stop, _Stopped, main
from cronce_tools.emulator.deployment import DeploymentError, client, last_words, without_refused
from cronce_tools.emulator.follow import Follower, shown, told
from cronce_tools.emulator.jobs_check import check_jobs
from cronce_tools.emulator.local_note import write_note
from cronce_tools.emulator.process import HOST, Emulator, EmulatorError, Endpoint, free_port, unused_port
from cronce_tools.emulator.project import copy_project
from cronce_tools.local.template import Template

ROOT = Path(__file__).resolve().parents[2]


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as server:
        server.bind((HOST, 0))
        server.listen()
        port = server.getsockname()[1]
        with pytest.raises(EmulatorError, match=f"port {port} is taken .*: name another one"):
            unused_port(port)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_what_is_no_port_is_said(port: int) -> None:
    with pytest.raises(EmulatorError, match=f"{port} is no port"):
        unused_port(port)


def test_what_is_no_number_is_no_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--port", "abc"]) == 1
    assert capsys.readouterr().err == "'abc' is no port: name one from 1 to 65535\n"


def test_a_failed_command_says_its_last_words_and_not_its_tracebacks() -> None:
    said = """\
Building layer 'RuntimeLayer'
 Running PythonPipBuilder:CopySource
jobs.menu: SyntaxError: invalid syntax (jobs/menu.py:1)
Traceback (most recent call last):
  File "jobs/menu.py", line 1
SyntaxError: invalid syntax
make: *** [build] Error 1
"""
    words = ["jobs.menu: SyntaxError: invalid syntax (jobs/menu.py:1)", "SyntaxError: invalid syntax"]
    assert last_words(said).splitlines() == words
    assert len(last_words(20 * f"{words[0]}\n").splitlines()) == 8


def test_a_free_port_can_be_used() -> None:
    port = free_port()
    assert unused_port(port) == port


def test_an_environment_that_is_missing_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    emulator = Emulator(python=tmp_path / "python")
    with (
        pytest.raises(EmulatorError, match=r"is missing: `make \.venv-emulator/ready` makes it"),
        emulator,
    ):
        pass
    with pytest.raises(EmulatorError, match="is not running"):
        _ = emulator.pid


def test_an_emulator_that_ends_at_once_is_said_with_its_last_words(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no room\nexit 3\n")
    python.chmod(0o755)
    emulator = Emulator(python=python)
    with pytest.raises(EmulatorError, match="did not start:\nno room"), emulator:
        pass
    assert not emulator.folder.exists()


def test_clients_do_not_see_the_users_own_account() -> None:
    variables = Endpoint(url="http://127.0.0.1:1").environment()
    assert variables["AWS_CONFIG_FILE"] == variables["AWS_SHARED_CREDENTIALS_FILE"] == "/dev/null"
    assert variables["AWS_ACCESS_KEY_ID"] == "test"


def test_only_what_the_emulator_refuses_is_left_out() -> None:
    plain = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "x"}}
    resources = {
        "Plain": plain,
        "OnMath": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Metrics": []}},
        "Both": {"Type": "AWS::CloudWatch::CompositeAlarm", "Properties": {}},
    }
    assert without_refused(resources) == ({"Plain": plain}, ("Both", "OnMath"))


def test_nothing_of_this_template_is_left_out() -> None:
    resources = Template.load().resources
    assert without_refused(resources) == (resources, ())


def test_a_copy_has_the_project_and_the_jobs_that_are_added(tmp_path: Path) -> None:
    more = tmp_path / "more/jobs"
    more.mkdir(parents=True)
    (more / "extra.py").write_text("")
    copy = copy_project(tmp_path / "copy", more.parent)
    assert (copy / "template.yaml").read_text() == (ROOT / "template.yaml").read_text()
    assert (copy / "functions/jobs/extra.py").exists()
    assert (copy / "functions/executor.py").exists()
    (more / "extra.py").unlink()
    copy_project(copy, more.parent)
    assert not (copy / "functions/jobs/extra.py").exists()


def test_an_event_is_a_line_with_its_time_function_and_fields() -> None:
    line = {
        "level": "WARNING",
        "location": "x:1",
        "message": "run.failed",
        "timestamp": "2026-03-01T12:00:03.100+00:00",
        "service": "executor",
        "run": "menu@2026-03-01T12:00:00Z",
        "error": "first\nsecond",
        "attempt": 2,
    }
    assert shown("executor", json.dumps(line)) == (
        "12:00:03 executor   ! run.failed run=menu@2026-03-01T12:00:00Z error=first... attempt=2"
    )


@pytest.mark.parametrize(
    "message",
    ["START RequestId: x", "END RequestId: x", "REPORT RequestId: x", "\n", json.dumps({"_aws": {}})],
)
def test_metrics_and_what_the_platform_writes_are_not_shown(message: str) -> None:
    assert shown("executor", message) is None


@pytest.mark.parametrize("message", ["hello", "{", "[]", '{"day": 3}', "START now"])
def test_what_a_job_prints_is_shown_as_it_is(message: str) -> None:
    assert shown("executor", message + "\n") == f"         executor   | {message}"


class Logs:
    """Stands for the client of the logs: streams that are read on from a position."""

    def __init__(self) -> None:
        self.streams: dict[str, list[dict[str, Any]]] = {}
        self.handed_out = 0
        self.asked = 0

    def write(self, stream: str, message: str, at: int) -> None:
        events = self.streams.setdefault(stream, [])
        events.append({"timestamp": at, "message": message})

    def get_paginator(self, operation: str) -> Self:
        assert operation == "describe_log_streams"
        return self

    def paginate(self, *, logGroupName: str) -> list[dict[str, Any]]:  # noqa: N803
        return [
            {"logStreams": [{"logStreamName": name, "lastIngestionTime": len(events)}]}
            for name, events in self.streams.items()
        ]

    def get_log_events(
        self,
        *,
        logGroupName: str,  # noqa: N803
        logStreamName: str,  # noqa: N803
        startFromHead: bool,  # noqa: N803
        nextToken: str = "0",  # noqa: N803
    ) -> dict[str, Any]:
        assert startFromHead
        self.asked += 1
        page = self.streams[logStreamName][int(nextToken) :][:2]
        self.handed_out += len(page)
        return {"events": page, "nextForwardToken": str(int(nextToken) + len(page))}


class NoMessages:
    """Stands for a queue that gets nothing."""

    def taken(self) -> list[dict[str, Any]]:
        return []


def test_a_line_is_shown_once_as_often_as_it_was_written_and_in_order_of_time() -> None:
    logs = Logs()
    follower = Follower(groups={"group": "executor"}, logs=logs, probe=NoMessages())
    for at in (1, 2, 2):
        logs.write("first", f"said at {at}", at)
    logs.write("second", "between", 1)
    assert [line.split("| ")[1] for line in follower.lines()] == [
        "between",
        "said at 1",
        "said at 2",
        "said at 2",
    ]
    assert list(follower.lines()) == []
    logs.write("first", "late", 1)  # it was written later than its time
    logs.write("third", "new", 3)
    assert [line.split("| ")[1] for line in follower.lines()] == ["late", "new"]


def test_what_was_read_is_not_read_again() -> None:
    logs = Logs()
    follower = Follower(groups={"group": "executor"}, logs=logs, probe=NoMessages())
    for at in range(5):
        logs.write("first", "said", at)
    assert len(list(follower.lines())) == logs.handed_out == 5
    asked = logs.asked
    list(follower.lines())
    assert logs.asked == asked  # nothing was written
    logs.write("first", "said", 5)
    list(follower.lines())
    assert logs.handed_out == 6


def test_a_notice_is_shown_with_its_text_and_an_alarm_with_its_change() -> None:
    at = "2026-03-01T12:01:02.000Z"
    notice = {"Timestamp": at, "Subject": "menu missed", "Message": "One.\nTwo."}
    assert told(notice) == "12:01:02 notice     menu missed\n    One.\n    Two."
    change = {"AlarmName": "silent", "OldStateValue": "OK", "NewStateValue": "ALARM"}
    assert told({"Timestamp": at, "Message": json.dumps(change)}) == "12:01:02 alarm      silent: OK -> ALARM"


def test_an_update_without_a_stack_that_runs_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["update", "--project", str(tmp_path)]) == 1
    assert "no local stack runs: `make local` starts one" in capsys.readouterr().err


def test_local_aws_does_not_start_on_a_port_that_is_taken(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.touch()
    with socket.socket() as server:
        server.bind((HOST, 0))
        server.listen()
        emulator = Emulator(port=server.getsockname()[1], python=python)
        with pytest.raises(EmulatorError, match="is taken"):
            emulator.__enter__()
    assert emulator.folder == Path()  # nothing was made


def test_a_job_that_cannot_be_used_is_said_before_anything_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "functions/jobs").mkdir(parents=True)
    (tmp_path / "functions/jobs/__init__.py").touch()
    (tmp_path / "functions/jobs/bad.py").write_text("1 / 0\n")
    (tmp_path / "template.yaml").symlink_to(ROOT / "template.yaml")
    with socket.create_server((HOST, 0)) as server:
        write_note(tmp_path, Endpoint(url=f"http://{HOST}:{server.getsockname()[1]}"))
        assert main(["update", "--project", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "problem in jobs.bad: ZeroDivisionError: division by zero (jobs/bad.py:1)",
        "Nothing was built: mend it first (`make jobs` looks again).",
    ]
    assert said.out == ""


def test_a_module_that_ends_the_process_is_said_too(tmp_path: Path) -> None:
    (tmp_path / "functions/jobs").mkdir(parents=True)
    (tmp_path / "functions/jobs/__init__.py").touch()
    (tmp_path / "functions/jobs/bad.py").write_text("import os\nos._exit(7)\n")
    (tmp_path / "template.yaml").symlink_to(ROOT / "template.yaml")
    with pytest.raises(DeploymentError, match=r"the jobs cannot be looked at \(exit code 7\)"):
        check_jobs(tmp_path)


def test_ctrl_c_within_a_call_of_aws_is_no_failed_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK turns every `Exception` in a call into one of its own, and tries again."""
    monkeypatch.setattr(HTTPConnectionPool, "urlopen", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    logs = client(Endpoint(url=f"http://{HOST}:1"), "logs")
    before = {each: signal.signal(each, _stop) for each in ENDING}
    try:
        with pytest.raises(_Stopped):
            logs.describe_log_groups()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
