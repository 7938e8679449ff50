"""What is told to a service outside AWS, and when.

Invariants:
- a run's start is told at its first claim, its success and failure once they are on record; only runs of the
  schedule, only of jobs that ask for it, and by a plain URL only successes;
- a run has one id for the service, whoever sends it, and two runs have two;
- a URL is changed as the form says and in no other way; one that would be sent in the clear is refused;
- no word about a URL or an answer shows either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from cronce.core import pings
from cronce.core.errors import DefinitionError
from cronce.core.job import Job, Ping, job
from cronce.core.pings import Kind, Signal
from cronce.core.records import RunRecord
from cronce.core.run import TRANSITIONS, Reason, RunStatus, Trigger
from cronce.core.schedule import Cron
from tests.contract import makers

BASE = makers.running(makers.ref())
RID = UUID("00000000-0000-5000-8000-000000000001")


def declared(ping: Any = None) -> Job:
    return job("menu", schedule=Cron("0 * * * *"), ping=ping)(lambda run: None)


def run(**values: Any) -> RunRecord:
    """A run after its first claim."""
    return replace(BASE, **{"attempt": 1, "slice": 1, "trigger": Trigger.SCHEDULE, **values})


def kind(signal: Signal | None) -> str | None:
    return signal.kind.value if signal else None


@pytest.mark.parametrize("attempt, slice_, told", [(1, 1, "start"), (1, 2, None), (2, 1, None), (2, 3, None)])
def test_a_start_is_told_at_the_first_claim_only(attempt: int, slice_: int, told: str | None) -> None:
    claimed = run(attempt=attempt, slice=slice_)
    assert kind(pings.at_claim(declared("healthchecks"), claimed, "shop")) == told
    assert pings.at_claim(declared("get"), claimed, "shop") is None
    assert pings.at_claim(declared(), claimed, "shop") is None


STATES = sorted({(to, reason) for (_, to), reasons in TRANSITIONS.items() for reason in reasons}, key=str)


@pytest.mark.parametrize("status, reason", STATES)
def test_of_all_states_success_and_failure_alone_are_told(status: RunStatus, reason: Reason | None) -> None:
    ended = run(status=status, reason=reason)
    told = {RunStatus.SUCCEEDED: "success", RunStatus.FAILED: "fail"}.get(status)
    assert kind(pings.at_end(declared("healthchecks"), ended, "shop")) == told
    assert kind(pings.at_end(declared("get"), ended, "shop")) == (told if told == "success" else None)
    assert pings.at_end(declared(), ended, "shop") is None


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.BACKFILL])
def test_what_a_person_started_is_not_told(trigger: Trigger) -> None:
    for ping in Ping:
        asked = run(trigger=trigger, status=RunStatus.SUCCEEDED)
        assert pings.at_claim(declared(ping), asked, "shop") is None
        assert pings.at_end(declared(ping), asked, "shop") is None


def test_a_run_has_one_id_in_all_its_attempts_and_no_other_run_has_it() -> None:
    of = declared("healthchecks")

    def rid(record: RunRecord, prefix: str = "shop") -> UUID | None:
        signal = pings.at_end(of, replace(record, status=RunStatus.SUCCEEDED), prefix)
        return signal.rid if signal else None

    first = pings.at_claim(of, run(), "shop")
    assert first is not None
    assert first.rid == rid(run()) == rid(run(attempt=3, slice=7, owner="other"))
    later = replace(BASE.ref, scheduled_at=BASE.ref.scheduled_at.replace(year=2031))
    assert len({rid(run()), rid(run(), "shop-eu"), rid(run(ref=later))}) == 3
    assert str(first.rid) == str(first.rid).lower()
    assert first.rid is not None
    assert first.rid.version == 5


@pytest.mark.parametrize(
    "url, asked",
    [
        ("https://hc-ping.com/u-u-i-d", "https://hc-ping.com/u-u-i-d/fail?rid={}"),
        ("https://hc-ping.com/u-u-i-d/", "https://hc-ping.com/u-u-i-d/fail?rid={}"),
        ("https://hc-ping.com/key/menu?create=1", "https://hc-ping.com/key/menu/fail?create=1&rid={}"),
        ("https://own.example:8443/ping/x", "https://own.example:8443/ping/x/fail?rid={}"),
    ],
)
def test_healthchecks_form_adds_to_path_and_query(url: str, asked: str) -> None:
    signal = Signal(of="menu", form=Ping.HEALTHCHECKS, kind=Kind.FAIL, rid=RID)
    assert signal.address(url) == asked.format(RID)
    assert replace(signal, form=Ping.GET, kind=Kind.SUCCESS).address(url) == url
    assert pings.heartbeat().address(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "https://hc-ping.com/5ec2e7",
        "https://own.example:8443/5ec2e7?a=b&c=%20d",
        "http://localhost:8000/5ec2e7",
        "http://127.0.0.1/5ec2e7",
        "http://[::1]:8000/5ec2e7",
        "HTTPS://hc-ping.com/5ec2e7",
    ],
)
def test_a_url_that_nobody_can_read_on_the_way_is_taken(url: str) -> None:
    assert pings.url_problem(url) is None


@pytest.mark.parametrize(
    "url, problem",
    [
        ("http://hc-ping.com/5ec2e7", "https:// is needed"),
        ("http://127.0.0.1.example.com/5ec2e7", "https:// is needed"),
        ("http://localhost@example.com/5ec2e7", "https:// is needed"),
        ("ftp://hc-ping.com/5ec2e7", "begins with https://"),
        ("file:///5ec2e7", "begins with https://"),
        ("hc-ping.com/5ec2e7", "begins with https://"),
        ("https:///5ec2e7", "begins with https://"),
        ("", "begins with https://"),
        ("https://ann:5ec2e7@hc-ping.com/", "user's name"),
        ("https://hc-ping.com/5ec2e7#part", "fragment"),
        ("https://hc-ping.com/5ec2e7 x", "no URL"),
        ("https://hc-ping.com/5ec2e7\r\nHost: x", "no URL"),
        ("https://hc-ping.com/5ec2e7ü", "no URL"),
        ("https://hc-ping.com:port/5ec2e7", "no URL"),
        ("https://hc-ping.com:99999/5ec2e7", "no URL"),
        ("https://[::1/5ec2e7", "no URL"),
        ("https://hc-ping.com/5ec2e7" + 1000 * "x", "no URL"),
    ],
)
def test_any_other_url_is_refused_in_words_that_do_not_show_it(url: str, problem: str) -> None:
    found = pings.url_problem(url)
    assert found is not None
    assert problem in found
    assert "5ec2e7" not in found


@pytest.mark.parametrize(
    "status, body, arrived",
    [
        (200, b"OK", True),
        (200, b"", True),
        (204, b"", True),
        (200, b"\xff\xfe", True),
        (200, b"Backups (not found): none", True),
        (200, b"OK (not found)", False),
        (200, b"OK (rate limited)", False),
        (199, b"", False),
        (301, b"OK", False),
        (404, b"OK", False),
        (500, b"OK", False),
    ],
)
def test_an_answer_is_judged_by_status_and_by_what_healthchecks_says(
    status: int, body: bytes, arrived: bool
) -> None:
    assert (pings.refusal(status, body) is None) is arrived


@pytest.mark.parametrize("given, form", [(None, None), *((str(ping), ping) for ping in Ping)])
def test_a_job_says_in_which_form(given: str | None, form: Ping | None) -> None:
    assert declared(given).ping is form


@pytest.mark.parametrize("wrong", ["cronitor", "", True, 1])
def test_a_form_that_is_none_is_a_traceback_at_the_authors_line(wrong: object) -> None:
    with pytest.raises(DefinitionError, match="job 'menu': ping takes one of 'healthchecks', 'get', not"):
        declared(wrong)


def test_a_url_in_the_code_is_refused_and_not_shown() -> None:
    with pytest.raises(DefinitionError, match="the URL is kept outside the code") as raised:
        declared("https://hc-ping.com/5ec2e7")
    assert "5ec2e7" not in str(raised.value)
    assert "docs/pings.md" in str(raised.value)
