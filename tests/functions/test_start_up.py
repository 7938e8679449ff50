"""What the process of each function loads: what it does not need would make each of its cold starts longer.

Invariants:
- a function loads its own part of the engine and none of the others'; the scheduler dispatches, too;
- who pings nobody loads nothing that pings;
- dispatcher and watchdog load neither the scheduler's planning nor what executes jobs;
- all AWS clients of a process come from one session, which reads AWS's descriptions once; one that is seldom
  needed is made when it is, once; nobody looks through the folders of all services.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cronce.aws.clients import SERVICES, new_session
from cronce.bootstrap.process import made
from cronce.bootstrap.scheduler import scheduler
from cronce.bootstrap.watchdog import watchdog

ROOT = Path(__file__).parents[2]
PARTS = {"scheduler", "dispatcher", "executor", "watchdog"}
PLANNING = {"cronce.core.planning", "cronce.engine.tick", "cronce.engine.sweep", "cronce.engine.claims"}
EXECUTION = {"cronce.engine.run_slice", "cronce.engine.registry", "cronce.engine.claims"}
STORE = {"cronce.aws.store", "cronce.core.jobstate", "cronce.core.alerts"}


def loaded(function: str) -> set[str]:
    """The modules in a process that has imported the handler, and nothing else."""
    code = f"import json, sys, {function}\nprint(json.dumps(sorted(sys.modules)))"
    path = f"{ROOT / 'functions'}:{ROOT / 'layers/runtime'}"
    ran = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return set(json.loads(ran.stdout))


@pytest.mark.parametrize(
    "function, unwanted",
    [
        ("scheduler", {"cronce.engine.executor", "cronce.engine.watchdog", "cronce.core.health"}),
        ("dispatcher", PLANNING | EXECUTION | STORE),
        ("executor", {"cronce.core.planning", "cronce.engine.sweep", "cronce.core.health"}),
        ("watchdog", PLANNING | EXECUTION | {"cronce.engine.dispatcher"}),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_function_loads_what_it_needs(function: str, unwanted: set[str]) -> None:
    found = loaded(function)
    others = PARTS - {function} - ({"dispatcher"} if function == "scheduler" else set())
    assert f"cronce.engine.{function}" in found
    assert found & (unwanted | {f"cronce.engine.{other}" for other in others}) == set()
    assert "boto3" not in found
    assert found & {"cronce.aws.pinger", "cronce.aws.ping_urls"} == set()
    assert not [module for module in found if module.startswith("cronce.testing")]


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("make", [scheduler, watchdog])
def test_all_clients_of_a_process_come_from_one_session_and_seldom_ones_when_they_are_needed(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], object]
) -> None:
    monkeypatch.setenv("CRONCE_TOPIC_ARN", "arn:aws:sns:eu-west-1:123456789012:shop")
    session: Any = made(lambda process: process.session)
    asked: list[str] = []

    def create_client(service: str, **arguments: Any) -> Any:
        asked.append(service)
        return type(session).create_client(session, service, **arguments)

    monkeypatch.setattr(session, "create_client", create_client)
    make()
    assert asked == ["dynamodb"]
    seldom = made(lambda process: process.client_when_needed("sns"))
    assert asked == ["dynamodb"]
    with ThreadPoolExecutor() as threads:
        clients = set(threads.map(lambda _: seldom(), range(20)))
    assert (len(clients), asked) == (1, ["dynamodb", "sns"])


def test_a_client_is_made_without_a_look_through_all_services(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    listdir = os.listdir

    def counted(folder: str) -> list[str]:
        looked.append(folder)
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", counted)
    session = new_session()
    for service in SERVICES:
        session.create_client(service, region_name="eu-west-1")
    assert len(looked) < 3 * len(SERVICES)  # versions of a description; there are hundreds of services
