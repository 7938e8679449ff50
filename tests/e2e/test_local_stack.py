"""`make local`: it says where it is and what happens, takes a change, and leaves nothing behind.

* Clients reach it where it says, and `cronce` finds it. A job that was changed runs after an update, beside
  those that run already.
* A job that cannot be used is said, without the whole log. A port that is taken is said.
* Ctrl-C leaves no process and no file behind, and a second one changes nothing about it.
"""

from __future__ import annotations

import pytest

from cronce_tools.emulator.process import ROOT
from tests.e2e.local_session import PROCESSES, Session
from tests.e2e.stage import Stage, WallTimes


@pytest.fixture(scope="session")
def session(stage: Stage, times: WallTimes) -> Session:
    used = stage.local.result(timeout=420)
    times.seconds.update(used.seconds)
    return used


def test_it_runs_where_it_says(session: Session) -> None:
    assert f"Local AWS at http://127.0.0.1:{session.port}, stack cronce-local" in session.introduction
    assert f"AWS_ENDPOINT_URL=http://127.0.0.1:{session.port} " in session.introduction
    assert session.items > 0


def test_the_command_finds_it_by_itself(session: Session) -> None:
    said = session.listed
    assert (said["stack"], said["region"]) == ("cronce-local", "eu-central-1")
    assert "local-minute" in {job["job"] for job in said["jobs"]}


def test_a_changed_job_is_picked_up_by_an_update(session: Session) -> None:
    assert session.update == 0  # its run was seen, else there were no session


def test_a_port_that_is_taken_is_said(session: Session) -> None:
    status, said = session.second
    assert status == 1
    assert f"port {session.port} is taken" in said


def test_a_job_that_cannot_be_used_is_said_in_few_lines(session: Session) -> None:
    status, said = session.broken
    assert status == 1
    assert "jobs.broken: DefinitionError: cron expression 'each minute'" in said
    assert "Nothing was built" in said
    assert len(said.splitlines()) < 15
    assert "Traceback" not in said


def test_ctrl_c_ends_it_and_nothing_is_left(session: Session) -> None:
    assert (session.status, session.files_left) == (0, [])


@pytest.mark.skipif(
    not PROCESSES.exists(), reason="no /proc here: what processes were started with is not seen"
)
def test_ctrl_c_leaves_no_process(session: Session) -> None:
    assert session.processes_left == set()


def test_make_starts_this_very_command() -> None:
    recipe = (ROOT / "Makefile").read_text()
    assert "-m cronce_tools.emulator --port '$(PORT)'" in recipe
    assert "-m cronce_tools.emulator update" in recipe
