"""URLs kept in Parameter Store.

Invariants:
- a URL is used for five minutes without being asked for, then asked for again;
- a store that is busy or silent costs a signal another try; a URL that was read before is used on;
- an answer that stays the same (no parameter, no permission, no URL) is said at once, and no older URL is
  used in its place;
- a look-up that nobody answers leaves half of a signal's time for the signal.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from cronce.aws.clock import SystemClock
from cronce.aws.ping_urls import KEPT_FOR, ParameterUrls
from cronce.aws.pinger import Bounds, HttpPinger
from cronce.bootstrap.pings import pings_of
from cronce.bootstrap.process import Process
from cronce.core.errors import PingError
from cronce.core.job import Ping
from cronce.core.pings import WITHIN, Kind, Signal
from cronce.testing import ManualClock, RecordingTelemetry
from tests.support.ping_server import answers, ping_server

LONGEST_PAUSE = 1.0
"""Seconds that the SDK waits before its second try. (botocore, retry mode "standard".)"""
NAME = "/shop/pings/menu"
SUCCESS = Signal(of="menu", form=Ping.GET, kind=Kind.SUCCESS)


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetParameter")


PASSING = [refused("ThrottlingException"), refused("InternalServerError"), ReadTimeoutError(endpoint_url="x")]
FINAL = [refused("ParameterNotFound"), refused("AccessDeniedException")]


class Store:
    """SSM that answers in turn, the last answer for ever: a URL, or an error."""

    def __init__(self, *turns: str | Exception) -> None:
        self.turns = list(turns)
        self.asked = 0

    def get_parameter(self, **arguments: Any) -> dict[str, Any]:
        assert arguments == {"Name": NAME, "WithDecryption": True}
        self.asked += 1
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(turn, Exception):
            raise turn
        return {"Parameter": {"Value": turn}}

    def urls(self, clock: ManualClock | None = None) -> ParameterUrls:
        return ParameterUrls(lambda: self, lambda _: NAME, clock or ManualClock())


def test_a_url_is_asked_for_again_after_its_time() -> None:
    clock, store = ManualClock(), Store("https://a.example/1", "https://a.example/2")
    urls = store.urls(clock)
    assert [urls.url("menu"), urls.url("menu"), store.asked] == ["https://a.example/1"] * 2 + [1]
    clock.advance(timedelta(seconds=KEPT_FOR))
    assert [urls.url("menu"), store.asked] == ["https://a.example/2", 2]


@pytest.mark.parametrize("error", PASSING, ids=str)
def test_a_busy_store_costs_a_signal_another_try(error: Exception) -> None:
    with ping_server(answers(200)) as server:
        store = Store(error, error, f"{server.url}/x")
        pinger = HttpPinger(store.urls().url, SystemClock(), Bounds(pause=0.01))
        assert pinger.send(SUCCESS, timedelta(seconds=60)).outcome() is None
    assert (store.asked, server.asked) == (3, ["/x"])


@pytest.mark.parametrize("error", FINAL, ids=str)
def test_an_answer_that_stays_the_same_is_said_at_once(error: Exception) -> None:
    store = Store(error)
    found = HttpPinger(store.urls().url, SystemClock()).send(SUCCESS, timedelta(seconds=60)).outcome()
    assert found is not None
    assert found.startswith(f"the SSM parameter {NAME} cannot be read: ")
    assert store.asked == 1


@pytest.mark.parametrize("error", PASSING, ids=str)
def test_a_url_that_was_read_before_is_used_while_the_store_is_busy_and_asked_for_each_time(
    error: Exception,
) -> None:
    clock, store = ManualClock(), Store("https://a.example/1", error, error, "https://a.example/2")
    urls = store.urls(clock)
    urls.url("menu")
    clock.advance(timedelta(seconds=KEPT_FOR))
    assert [urls.url("menu") for _ in range(3)] == ["https://a.example/1"] * 2 + ["https://a.example/2"]
    assert store.asked == 4


@pytest.mark.parametrize("turn", [*FINAL, "no URL any more"], ids=str)
def test_a_url_that_was_taken_away_is_used_no_more(turn: str | Exception) -> None:
    clock, store = ManualClock(), Store("https://a.example/1", turn)
    urls = store.urls(clock)
    urls.url("menu")
    clock.advance(timedelta(seconds=KEPT_FOR))
    with pytest.raises(PingError):
        urls.url("menu")


def test_a_look_up_that_nobody_answers_leaves_time_for_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    clients: list[Callable[[], Any]] = []

    class Remembers(Process):
        def client_when_needed(self, service: str, **bounds: Any) -> Callable[[], Any]:
            clients.append(super().client_when_needed(service, **bounds))
            return clients[-1]

    pings_of(Remembers(SystemClock()), RecordingTelemetry(), str)
    config = clients[0]().meta.config
    tries = config.retries["total_max_attempts"]
    longest = max(config.connect_timeout, config.read_timeout) * tries + LONGEST_PAUSE * (tries - 1)
    assert longest <= WITHIN.total_seconds() / 2
