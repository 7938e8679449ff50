"""The deployed handlers minute by minute, and what CloudWatch makes of them: every alarm of the template.

The local stack is AWS for the handlers. Here is what AWS does around them and says in metrics of its own:
rules that fire or do not, functions that crash before their handler is called, events that are dropped,
queues of what was given up, Lambda's Errors and Throttles. What cronce publishes is read from the lines that
the handlers print.

Where AWS does not say how fast it is, it is slow here. A function error lets the stream wait for the next
minute. CloudWatch judges once a minute at a moment of its own choice: what a minute's points show counts as
seen a minute after its end.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cronce.bootstrap.process import forget
from cronce_tools.local.alarm_model import State
from cronce_tools.local.alarms import AlarmWatch, alarms
from cronce_tools.local.metrics import MINUTE, Series
from cronce_tools.local.stack import AFTER_THE_MINUTE, STACK, event
from cronce_tools.local.template import Template
from tests.alarms.memory_stack import memory_stack
from tests.alarms.played import PlayedStack, StartStack
from tests.support.jobs_modules import forget_jobs, jobs_set_aside
from tests.template.stack import Stack

RULES = ("scheduler", "watchdog")
FUNCTIONS = {name: f"{name.capitalize()}Function" for name in (*RULES, "dispatcher", "executor")}
RULE_QUEUE, STREAM_QUEUE, EXECUTOR_QUEUE = (
    "RuleDeadLetterQueue",
    "DispatchFailureQueue",
    "ExecutorFailureQueue",
)
QUEUES = (RULE_QUEUE, STREAM_QUEUE, EXECUTOR_QUEUE)
ERRORS, THROTTLES = "Errors", "Throttles"
BOTH_RULES = timedelta(seconds=8)
"""Until then the watchdog's rule has fired too."""
MADE_BEFORE = timedelta(minutes=10)
"""A deployment makes alarms first, rules last. So long before, their warm-up is over when a fault begins."""
DELIVERIES = 200
"""Bound of deliveries in one minute."""


def of_function(metric: str, function: str) -> Series:
    """A metric of Lambda about a function of the stack."""
    return Series.named("AWS/Lambda", metric, {"FunctionName": FUNCTIONS[function]})


def of_queue(queue: str) -> Series:
    """How many messages wait in a queue of the stack."""
    return Series.named("AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": queue})


@dataclass
class Replay:
    """A stack, minute by minute.

    Attributes:
        stack: the local stack.
        watch: judges the alarms.
        folder: holds the package `jobs`.
        place: where releases lie.
        releases: how many there were.
        rules_off: rules that are disabled, by the function that they call.
        rules_barred: rules whose events cannot be delivered.
        crashing: functions whose process dies before the handler is called.
        throttled: functions that find no free place.
        losing_events: accepted invocations of the executor vanish.
        waiting: messages in the queues of what was given up.
    """

    stack: PlayedStack
    watch: AlarmWatch
    folder: Path
    place: Path
    releases: int = 0
    rules_off: set[str] = field(default_factory=set)
    rules_barred: set[str] = field(default_factory=set)
    crashing: set[str] = field(default_factory=set)
    throttled: set[str] = field(default_factory=set)
    losing_events: bool = False
    waiting: Counter[str] = field(default_factory=Counter)
    _events: deque[tuple[datetime, bytes]] = field(default_factory=deque)

    @property
    def now(self) -> datetime:
        """The virtual present."""
        return self.stack.clock.now()

    def play_until(self, end: datetime) -> None:
        """Play every minute that begins before an instant."""
        while (minute := _floor(self.now) + MINUTE) < end:
            self.play(minute)

    def play(self, minute: datetime) -> None:
        """One minute: tick, stream, executors, patrol; then CloudWatch looks at its points."""
        self.stack.clock.set(minute + AFTER_THE_MINUTE)
        self._fire("scheduler")
        self._deliver()
        self.stack.clock.set(max(self.now, minute + BOTH_RULES))
        self._fire("watchdog")
        self.stack.hear()
        for queue in QUEUES:
            self.stack.metrics.record(of_queue(queue), minute, self.waiting[queue])
        if _floor(self.now) == minute:  # else a job has worked on, and the minutes after this one were played
            self.watch.judge(self.stack.metrics, minute + MINUTE)

    def deploy(self, changed: Mapping[str, str]) -> None:
        """Another release: new processes, in which nothing that was made or imported before is left.

        Args:
            changed: modules of jobs whose text is another one than in the folder.
        """
        release = self.place / str(self.releases)
        shutil.copytree(self.folder / "jobs", release / "jobs", ignore=shutil.ignore_patterns("__pycache__"))
        for name, text in changed.items():
            (release / "jobs" / f"{name}.py").write_text(text)
        sys.path[0] = str(release)
        self.releases += 1
        forget()
        forget_jobs()

    def _fire(self, rule: str) -> None:
        if rule in self.rules_off:
            return
        if rule in self.rules_barred:
            self.waiting[RULE_QUEUE] += 1
        elif rule in self.throttled:  # the event waits, and is dropped after a minute
            self.stack.metrics.record(of_function(THROTTLES, rule), self.now, 1)
        else:
            self._invoke(rule, event(rule))

    def _deliver(self) -> None:
        """Hand on what the stream has, and what waits for an executor."""
        stream_stopped = False
        for _ in range(DELIVERIES):
            records = [] if stream_stopped else self.stack.stream.next_batch()
            if records:
                answer = self._invoke("dispatcher", {"Records": records})
                stream_stopped = answer is None
                before = len(self.stack.stream.given_up)
                self.stack.stream.report(records, answer)
                self.waiting[STREAM_QUEUE] += len(self.stack.stream.given_up) > before
            self._accept()
            if self._events and "executor" not in self.throttled:
                _, payload = self._events.popleft()
                if self._invoke("executor", json.loads(payload)) is None:
                    self.waiting[EXECUTOR_QUEUE] += 1
            elif not records:
                break
        else:
            raise RuntimeError(f"not quiet after {DELIVERIES} deliveries")
        self._throttle()

    def _accept(self) -> None:
        accepted = self.stack.cloud.invocations
        if not self.losing_events:
            self._events += [(self.now, payload) for payload in accepted]
        accepted.clear()

    def _throttle(self) -> None:
        """Events for which there is no free place: tried, and given up when they are too old."""
        if "executor" not in self.throttled or not self._events:
            return
        self.stack.metrics.record(of_function(THROTTLES, "executor"), self.now, len(self._events))
        oldest = timedelta(seconds=max_event_age(self.stack.template))
        while self._events and self.now - self._events[0][0] > oldest:
            self._events.popleft()
            self.waiting[EXECUTOR_QUEUE] += 1

    def _invoke(self, function: str, payload: dict[str, Any]) -> Any:
        """What the handler returned; None if the invocation ended in an error."""
        answer = None
        if function not in self.crashing:
            try:
                answer = self.stack.invoke(function, payload)
            except Exception as error:  # noqa: BLE001 - whatever it is, to Lambda it is an error
                self.stack.console.lines.append({"message": "uncaught", "error": repr(error)})
        self.stack.metrics.record(of_function(ERRORS, function), self.now, float(answer is None))
        return answer


def max_event_age(template: Template) -> int:
    """Seconds after which Lambda gives up an event of the executor."""
    config = template.properties("ExecutorFunction")["EventInvokeConfig"]
    return int(config["MaximumEventAgeInSeconds"])


@contextmanager
def replay(
    start: datetime, folder: Path, deployed: Stack, begin: StartStack = memory_stack
) -> Iterator[Replay]:
    """A new stack until the end of the block, its alarms made minutes before its first tick.

    Args:
        start: a full minute; nothing has been played yet.
        folder: holds the package `jobs`.
        deployed: the translated template, whose alarms are judged.
        begin: what it runs on.
    """
    template = Template.parse(json.dumps(deployed.template), "the translated template")
    with jobs_set_aside(), TemporaryDirectory() as place, begin(start) as stack:
        sys.path.insert(0, "")  # the place of the release; the stack undoes it
        replayed = Replay(
            stack, AlarmWatch(alarms(template, STACK), start - MADE_BEFORE), folder, Path(place)
        )
        replayed.deploy({})
        yield replayed


def alarms_of(replayed: Replay, state: State = State.ALARM) -> set[str]:
    """The alarms that are in a state now."""
    return {name for name, each in replayed.watch.states.items() if each is state}


def _floor(instant: datetime) -> datetime:
    return instant.replace(second=0, microsecond=0)
