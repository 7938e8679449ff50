"""What is done to the deployed stacks while the tests wait: all of it begins at once, in threads of its own.

Three stacks live side by side in one account and Region:

* `main`, on which most happens;
* `degraded`, whose stream mapping and whose watchdog's rule are switched off as soon as it is there;
* `upgraded`, first deployed as the previous release, and then, with runs in flight, as this one.

A fourth, `local`, is that of `make local`, with an emulator of its own.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from cronce.engine.metrics import PATROL_COMPLETED, TICK_COMPLETED
from cronce_tools.emulator.deployment import build, deploy
from cronce_tools.emulator.process import Endpoint
from cronce_tools.emulator.project import copy_project
from cronce_tools.emulator.real_time import now, pause
from tests.e2e.driver import Driver, Item, run_id, wait_for
from tests.e2e.local_session import Session, use

HERE = Path(__file__).parent
JOBS = HERE / "functions"
PREVIOUS = HERE / "previous_release/source.tar.gz"

PARAMETERS = {"ExecutorTimeout": "60", "RetentionDays": "7"}
MINUTE = 60
POISON, POISON_BEFORE_RUNS = "RUN#no-time", "RUN#neither"
"""Sort keys of items that pass the mapping's filter and are no runs."""
BEFORE_TICK = 4
"""Seconds before a full minute: enough to switch the mapping off and to write an item."""
MEETINGS = 3
"""Minutes in which ticks try to meet; at first their processes are cold."""
BEATS = (-5, -4, -3)
"""Minutes, before the one of the deployment, in which both heartbeats of `degraded` were heard."""


@dataclass
class WallTimes:
    """Seconds that things took, told at the end."""

    seconds: dict[str, float] = field(default_factory=dict)

    def since(self, started: float, what: str) -> None:
        """Note the seconds since a `time.perf_counter()`."""
        self.seconds[what] = time.perf_counter() - started


@dataclass(frozen=True)
class Kill:
    """A process that was killed: what it did last, and when it died (seconds since 1970)."""

    effect: Item
    at: float


@dataclass(frozen=True)
class Redelivery:
    """A run that lay in the stream behind a poison record, in the same batch."""

    behind: Item


@dataclass(frozen=True)
class Upgrade:
    """A run of the previous release that was under way, and both sets of what was made."""

    driver: Driver
    slow: Item
    before: dict[str, str]
    after: dict[str, str]


class Stage:
    """Builds, deploys and begins. Every attribute is a promise of what comes.

    Args:
        endpoint: of the emulator.
        folder: for projects.
        times: where wall times go.
        stacks: which of them are wanted.
    """

    def __init__(self, endpoint: Endpoint, folder: Path, times: WallTimes, stacks: set[str]) -> None:
        self.endpoint = endpoint
        self.folder = folder
        self.times = times
        self._pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="stage")
        self.project = copy_project(folder / "this", JOBS)
        self._may_deploy = threading.Event()
        if "upgraded" in stacks:  # first of all, because it has the longest way
            self.upgraded: Future[Upgrade] = self._pool.submit(self._upgrade)
        try:
            self._deploy_this(stacks)
        finally:
            self._may_deploy.set()
        if "local" in stacks:
            self.local: Future[Session] = self._pool.submit(use, folder / "local")

    def _deploy_this(self, stacks: set[str]) -> None:
        """Build, and deploy what is deployed once."""
        started = time.perf_counter()
        build(self.project)
        self.times.since(started, "make build")
        if "degraded" in stacks:
            self.degraded = self._deployed("cronce-degraded", self.project, "sam deploy, the first stack")
            self._degrade()
        if "main" in stacks:
            self.main = self._deployed("cronce-main", self.project, "sam deploy")
            self._begin()

    def _begin(self) -> None:
        """What is done to `main`."""
        self.deployed_at = now()
        self.main.put_run("poison", POISON)
        self.killed = self._pool.submit(self._kill)
        self.ticks = self._pool.submit(self._tick_at_once)
        self.redelivered = self._pool.submit(self._redeliver)

    def close(self) -> None:
        """Wait for what is still under way; all of it is bounded."""
        self._pool.shutdown(cancel_futures=True)

    def _deployed(self, name: str, project: Path, what: str) -> Driver:
        started = time.perf_counter()
        stack = deploy(project, name, self.endpoint, PARAMETERS)
        self.times.since(started, what)
        return Driver(stack)

    def _kill(self) -> Kill:
        """Kill the process of the first run of `killed`, as soon as it is in the middle of its step."""

        def look() -> Item | None:
            found = (each for each in self.main.effects("killed") if each["what"] == "during")
            return next((each for each in found if each["attempt"] == 1), None)

        effect = wait_for("the step to be interrupted", look, 150)
        os.kill(int(effect["process"]), signal.SIGKILL)
        return Kill(effect, now())

    def _tick_at_once(self) -> list[Item]:
        """Two more ticks, at the very moment at which the rule ticks, when every job is due.

        The calendar of `unhurried` makes each tick hold the lease for a second. If the processes start so
        differently that nobody was refused it, they meet in the next minute.
        """
        answers: list[Item] = []
        with ThreadPoolExecutor(max_workers=2) as both:
            while len(answers) < 2 * MEETINGS and {"tick": "busy"} not in answers:
                pause(MINUTE - now() % MINUTE)
                calls = [both.submit(self.main.invoke, "SchedulerAlias", {}) for _ in range(2)]
                answers += [call.result() for call in calls]
        return answers

    def _degrade(self) -> None:
        """Switch off what wakes runs quickly and what watches; both heartbeats were heard before."""
        self.degraded.switch_mapping(on=False)
        self.degraded.disable_rule("WatchdogFunctionPatrol")
        dimensions = [{"Name": "stack", "Value": self.degraded.stack.name}]
        for name in (TICK_COMPLETED, PATROL_COMPLETED):
            data = [
                {"MetricName": name, "Dimensions": dimensions, "Timestamp": now() + beat * MINUTE, "Value": 1}
                for beat in BEATS
            ]
            self.degraded.client("cloudwatch").put_metric_data(Namespace="cronce", MetricData=data)

    def _redeliver(self) -> Redelivery:
        """A poison record lies before a minute's runs when the stream is handed out again."""
        first = self.main.first_run("minutely", status="SUCCEEDED", seconds=120)
        pause(MINUTE - BEFORE_TICK - now() % MINUTE)
        self.main.switch_mapping(on=False)
        try:
            self.main.put_run("poison", POISON_BEFORE_RUNS)

            def look() -> Item | None:
                return next((run for run in self.main.runs("minutely") if run["sk"] > first["sk"]), None)

            return Redelivery(wait_for("a run behind the poison record", look, MINUTE))
        finally:
            self.main.switch_mapping(on=True)

    def _upgrade(self) -> Upgrade:
        """The previous release, with a run under way, becomes this one."""
        old = copy_project(self.folder / "previous", JOBS, release=PREVIOUS)
        started = time.perf_counter()
        build(old)
        self.times.since(started, "make build, previous release")
        self._may_deploy.wait(5 * MINUTE)  # the first deployment makes the bucket for all of them
        driver = self._deployed("cronce-upgraded", old, "sam deploy, previous release")
        before = dict(driver.physical_ids)
        slow = driver.first_run("slow", status="RUNNING", seconds=120)
        wait_for("a step of the previous release", lambda: driver.effects("slow", run_id(slow)), 60)
        driver = self._deployed("cronce-upgraded", self.project, "sam deploy, upgrade")
        return Upgrade(driver, slow, before, dict(driver.physical_ids))
