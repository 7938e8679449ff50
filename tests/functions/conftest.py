"""A deployed stack for each test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import botocore.loaders
import botocore.session
import pytest

from cronce.bootstrap.process import using_clock
from cronce.testing import ManualClock
from cronce_tools.local.cloud import Cloud
from tests.functions.deployed import START, Deployed, set_environment
from tests.support.jobs_modules import jobs_set_aside

LOADER = botocore.loaders.Loader()
"""Reads the services' descriptions once for all tests; that is most of what making a client takes."""


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The functions' environment, in processes that have made nothing yet."""
    set_environment(monkeypatch)
    monkeypatch.setattr(botocore.session, "create_loader", lambda *_: LOADER)
    with using_clock(ManualClock(START)):
        yield


@pytest.fixture
def stack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Deployed]:
    """A stack without jobs."""
    set_environment(monkeypatch)
    monkeypatch.setattr(botocore.session, "create_loader", lambda *_: LOADER)
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    clock = ManualClock(START)
    cloud = Cloud(clock)
    deployed = Deployed(clock=clock, cloud=cloud, folder=folder, output=lambda: capsys.readouterr().out)
    with jobs_set_aside(), cloud.running(), using_clock(clock):
        deployed.deploy()
        monkeypatch.setenv("CRONCE_TOPIC_ARN", deployed.topic)
        yield deployed
