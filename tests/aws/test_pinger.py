"""Signals by HTTP, against a service on this machine that behaves well and badly.

Invariants:
- a signal arrives as one GET of the URL in the service's form; it is tried again only where that may help;
- whatever the other side does, the sender is free when the time is over, and nothing is sent after it;
- it goes to the URL's own host: no redirect is followed, no proxy is asked, TLS is insisted on;
- what went wrong is said in words that show neither URL nor what the other side wrote; nothing raises.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from time import perf_counter
from uuid import UUID

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cronce.aws.clock import SystemClock
from cronce.aws.pinger import TOO_LONG, Bounds, HttpPinger
from cronce.core.errors import PingError
from cronce.core.job import Ping
from cronce.core.pings import Kind, Signal
from tests.support import ping_server as service
from tests.support.ping_server import Behaviour, answers, closed_port, ping_server

SECRET = "/5ec2e7-path"
RID = UUID("00000000-0000-5000-8000-000000000001")
START = Signal(of="menu", form=Ping.HEALTHCHECKS, kind=Kind.START, rid=RID)
SUCCESS = Signal(of="menu", form=Ping.HEALTHCHECKS, kind=Kind.SUCCESS, rid=RID)
PLAIN = Signal(of="menu", form=Ping.GET, kind=Kind.SUCCESS)
STUBBORN = Bounds(tries=3, a_try=30, pause=0.01)
PATIENCE = timedelta(seconds=60)
"""For who answers, well or badly: never used up, however busy this machine is."""
QUICK = Bounds(tries=3, a_try=0.2, pause=0.01)
WITHIN = timedelta(seconds=0.6)
"""For who hangs."""
SLACK = 30.0
"""Seconds that a busy machine may take beyond the time of a signal; what hangs would do so for ever."""


def outcome(
    url: str | Callable[[str], str],
    signal: Signal = SUCCESS,
    *,
    trusted: ssl.SSLContext | None = None,
    hangs: bool = False,
) -> str | None:
    """Send a signal to a URL, or to what a function says, and wait for what comes of it."""
    url_of = url if callable(url) else lambda _: f"{url}{SECRET}"
    within, bounds = (WITHIN, QUICK) if hangs else (PATIENCE, STUBBORN)
    begun = perf_counter()
    found = HttpPinger(url_of, SystemClock(), bounds, trusted).send(signal, within).outcome()
    assert perf_counter() - begun < WITHIN.total_seconds() + SLACK
    return found


@pytest.mark.parametrize(
    "signal, asked",
    [
        (START, f"{SECRET}/start?rid={RID}"),
        (SUCCESS, f"{SECRET}?rid={RID}"),
        (Signal(of="menu", form=Ping.HEALTHCHECKS, kind=Kind.FAIL, rid=RID), f"{SECRET}/fail?rid={RID}"),
        (PLAIN, SECRET),
    ],
    ids=["start", "success", "fail", "plain"],
)
def test_a_signal_is_one_get_of_its_address(signal: Signal, asked: str) -> None:
    with ping_server(answers(200)) as server:
        assert outcome(server.url, signal) is None

    assert server.asked == [asked]
    (head,) = server.heads
    assert head.startswith("GET ")
    assert "\r\nConnection: close\r\n" in head
    assert "\r\nUser-Agent: cronce\r\n" in head


GOOD: dict[str, Behaviour] = {
    "as it should": answers(200),
    "created": answers(201),
    "without a body": answers(204, ""),
    "stays connected": answers(200, stays=True),
    "a body that never ends": service.drips_body,
    "a flood": service.floods,
}


@pytest.mark.parametrize("form", list(Ping))
@pytest.mark.parametrize("behaviour", GOOD)
def test_a_good_status_is_enough_whatever_comes_after_it(behaviour: str, form: Ping) -> None:
    with ping_server(GOOD[behaviour]) as server:
        assert outcome(server.url, Signal(of="menu", form=form, kind=Kind.SUCCESS)) is None
    assert len(server.asked) == 1


BAD: dict[str, tuple[Behaviour, str, int]] = {
    "500": (answers(500), "it answered 500", 3),
    "503": (answers(503), "it answered 503", 3),
    "404": (answers(404), "it answered 404", 1),
    "400": (answers(400), "it answered 400", 1),
    "429": (answers(429), "it answered 429", 1),
    "redirect": (service.redirects, "it answered 302: redirects are not followed", 1),
    "no such check": (
        answers(200, "OK (not found)"),
        "it answered 200, and ignored it: there is no such check",
        1,
    ),
    "too many": (
        answers(200, "OK (rate limited)"),
        "it answered 200, and ignored it: too many pings a minute",
        1,
    ),
    "reset": (service.resets, "it could not be reached: ConnectionResetError", 3),
    "closed": (service.says_nothing, "it could not be reached: RemoteDisconnected", 3),
    "no HTTP": (service.echoes, "it could not be reached: BadStatusLine", 3),
    "endless header": (service.floods_headers, "it could not be reached: LineTooLong", 3),
}


@pytest.mark.parametrize("behaviour", BAD)
def test_bad_behaviour_ends_in_time_with_words_of_our_own(behaviour: str) -> None:
    behave, problem, tries = BAD[behaviour]
    with ping_server(behave) as server:
        found = outcome(server.url)

    assert found is not None
    assert found.startswith(problem)
    assert len(server.asked) == tries
    assert all(target == f"{SECRET}?rid={RID}" for target in server.asked)
    for hidden in (SECRET.strip("/"), "127.0.0.1", str(RID)):
        assert hidden not in found


@pytest.mark.parametrize("behave", [service.hangs, service.is_deaf, service.drips_headers])
def test_one_that_hangs_ends_in_time(behave: Behaviour) -> None:
    with ping_server(behave) as server:
        assert outcome(server.url, hangs=True) in {TOO_LONG, "it could not be reached: TimeoutError"}
    assert len(server.asked) <= QUICK.tries


def test_nobody_listens() -> None:
    assert outcome(closed_port()) == "it could not be reached: ConnectionRefusedError"


def test_a_host_that_is_not_there_is_not_named() -> None:
    found = outcome(lambda _: "https://5ec2e7.invalid/x", hangs=True)
    assert found in {"it could not be reached: gaierror", TOO_LONG}


def test_a_second_try_helps() -> None:
    with ping_server(service.in_turn(answers(502), service.resets, answers(200))) as server:
        assert outcome(server.url) is None
    assert len(server.asked) == 3


def test_a_url_that_cannot_be_had_is_said_and_anything_else_is_named_by_its_kind() -> None:
    def refused(_: str) -> str:
        raise PingError("the SSM parameter /shop/pings/menu cannot be read")

    def broken(of: str) -> str:
        raise RuntimeError(f"{of} {SECRET}")

    assert outcome(refused) == "the SSM parameter /shop/pings/menu cannot be read"
    assert outcome(broken) == "it failed: RuntimeError"


def test_what_hangs_where_nothing_can_be_shut_down_is_left_behind_and_sends_nothing_later() -> None:
    """As a look-up of a name does, or of a URL."""
    asked, go_on, gone_on = threading.Event(), threading.Event(), threading.Event()

    with ping_server(answers(200)) as server:

        def slow(_: str) -> str:
            asked.set()
            go_on.wait()
            gone_on.set()
            return f"{server.url}{SECRET}"

        assert outcome(slow, hangs=True) == TOO_LONG
        assert asked.is_set()
        (left_behind,) = (thread for thread in threading.enumerate() if thread.name == "ping")
        go_on.set()
        left_behind.join()
        assert gone_on.is_set()
    assert server.asked == []


def test_it_does_not_wait_before_it_is_asked_to() -> None:
    with ping_server(service.hangs) as server:
        sending = HttpPinger(lambda _: server.url, SystemClock(), QUICK).send(SUCCESS, WITHIN)
        assert sending.problem == TOO_LONG  # so far
    assert sending.outcome() is not None  # the server is gone


def test_it_ends_by_itself_though_nobody_waits() -> None:
    """A run's start is asked for its outcome when the run is over, which may be hours later."""
    with ping_server(service.drips_headers) as server:
        HttpPinger(lambda _: server.url, SystemClock(), QUICK).send(SUCCESS, timedelta(seconds=0.1))
        for thread in [thread for thread in threading.enumerate() if thread.name == "ping"]:
            thread.join(SLACK)
            assert not thread.is_alive()


def test_a_proxy_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, closed_port())
    with ping_server(answers(200)) as server:
        assert outcome(server.url) is None
    assert server.asked == [f"{SECRET}?rid={RID}"]


# --- TLS ---


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate of 127.0.0.1 that nobody has signed but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.IPAddress(ip_address("127.0.0.1"))
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return file


@pytest.fixture
def secured(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_a_service_that_is_who_it_says_is_told(certificate: Path, secured: ssl.SSLContext) -> None:
    trusted = ssl.create_default_context(cafile=str(certificate))
    with ping_server(answers(200), secured) as server:
        assert outcome(server.url, trusted=trusted) is None
    assert server.asked == [f"{SECRET}?rid={RID}"]


def test_one_that_nobody_vouches_for_is_told_nothing(secured: ssl.SSLContext) -> None:
    with ping_server(answers(200), secured) as server:
        assert outcome(server.url) == "it could not be reached: SSLCertVerificationError"
    assert server.asked == []


@pytest.mark.parametrize("behave", [service.is_deaf, service.drips_headers, service.hangs])
def test_one_that_hangs_under_tls_ends_in_time(
    certificate: Path, secured: ssl.SSLContext, behave: Behaviour
) -> None:
    trusted = ssl.create_default_context(cafile=str(certificate))
    with ping_server(behave, secured) as server:
        assert outcome(server.url, trusted=trusted, hangs=True) is not None


def test_one_that_does_not_speak_tls_is_told_nothing() -> None:
    with ping_server(service.blurts) as server:
        found = outcome(lambda _: server.url.replace("http:", "https:") + SECRET)
    assert found is not None
    assert found.startswith("it could not be reached: SSL")
    assert server.heads
    assert SECRET not in str(server.heads)


def test_a_handshake_that_never_comes_ends_in_time() -> None:
    with ping_server(service.is_deaf) as server:
        found = outcome(lambda _: server.url.replace("http:", "https:") + SECRET, hangs=True)
    assert found in {"it could not be reached: TimeoutError", TOO_LONG}
