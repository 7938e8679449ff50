"""What is told to a service outside AWS, and when: for the day when the account or its Region is gone.

Such a service (a dead-man's switch) alarms when a signal does NOT come. That decides most of what is here:

    the heartbeat       after a patrol that vouches for the stack: it judged everything, told all that it had
                        to, nobody refused a notice, and the scheduler completes its ticks. Anything less, and
                        it stays away. A job that failed does not hold it back: that is told, by name, in
                        another way.
    a run's start       at its first claim, once, however many attempts and invocations it takes
    a run's success     after SUCCEEDED is on record, never before: a false alarm outside is a nuisance, a
                        false "all is well" is what the service was to prevent
    a run's failure     after a FAILED that the executor has recorded. One that the sweep records (the worker
                        is dead) is told by the success that does not come.

Only runs of the schedule: what a person starts or backfills must neither satisfy a check that waits for the
schedule's own run, nor start its timer. A failed run that a person retries is still the schedule's.

Signals are best effort. A process that dies between record and signal sends none; the service then alarms
although the run succeeded, and `cronce did-run` tells. A run's id for the service (Healthchecks' `rid`) is
made of the run's own id, so that every process sends the same one without having to keep it.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID, uuid5

from cronce.core.job import Ping
from cronce.core.run import RunStatus, Trigger
from cronce.core.values import dataclass

if TYPE_CHECKING:
    from cronce.core.job import Job
    from cronce.core.records import RunRecord

HEARTBEAT = "heartbeat"
"""What the stack's own signal is called in log lines."""
WITHIN = timedelta(seconds=6)
"""How long a signal may take, look-up of its URL and second try included. Healthchecks recommends ten seconds
and several tries to a machine's cron; here an invocation is paid for meanwhile, and a run's slot is free."""
MARGIN = timedelta(seconds=2)
"""No signal lasts longer than to so long before its invocation ends: Lambda would kill the process."""
URL_LIMIT = 1000
"""Characters of a URL: those of real services have a tenth of it."""
BODY_READ = 100
"""Bytes of an answer that are looked at; Healthchecks' are shorter."""

_RUNS = UUID("6d3f2c52-6a0b-5b0e-9d3c-0c1d7f2a4e11")
"""Namespace of `rid`: any UUID of our own (RFC 9562, version 5)."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SUFFIXES = {"start": "/start", "success": "", "fail": "/fail"}
_IGNORED = {b"OK (not found)": "there is no such check", b"OK (rate limited)": "too many pings a minute"}
"""Healthchecks answers 200 also to a check that it does not have, and to more than five pings a minute, and
says so in the body. (Healthchecks, "Pinging API".)"""


class Kind(StrEnum):
    """What a signal says."""

    START = "start"
    """A run has begun."""
    SUCCESS = "success"
    """A run, or the stack, is well."""
    FAIL = "fail"
    """A run failed for good."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Signal:
    """Something to tell.

    Attributes:
        of: the job, or `HEARTBEAT`.
        form: how the service is spoken to.
        kind: what it is told.
        rid: the run, as the service is to know it; None: it is no run's.
    """

    of: str
    form: Ping
    kind: Kind
    rid: UUID | None = None

    def address(self, url: str) -> str:
        """The URL to be asked for.

        Args:
            url: the service's own, one in which `url_problem` finds nothing. What it has of a query stays.
        """
        if self.form is Ping.GET:
            return url
        parts = urlsplit(url)
        rid = f"rid={self.rid}" if self.rid else ""
        path = parts.path.rstrip("/") + _SUFFIXES[self.kind]
        return urlunsplit(parts._replace(path=path, query="&".join(filter(None, (parts.query, rid)))))


def heartbeat() -> Signal:
    """The stack is well."""
    return Signal(of=HEARTBEAT, form=Ping.GET, kind=Kind.SUCCESS)


def at_claim(job: Job, claimed: RunRecord, prefix: str) -> Signal | None:
    """What to tell after a claim; None: nothing.

    Args:
        job: whose.
        claimed: the run as claimed.
        prefix: that of the stack's idempotency keys.
    """
    first = (claimed.attempt, claimed.slice) == (1, 1)
    return _of_run(job, claimed, Kind.START, prefix) if first else None


def at_end(job: Job, run: RunRecord, prefix: str) -> Signal | None:
    """What to tell once a run's state is on record; None: nothing. See `at_claim`."""
    kind = {RunStatus.SUCCEEDED: Kind.SUCCESS, RunStatus.FAILED: Kind.FAIL}.get(run.status)
    return _of_run(job, run, kind, prefix) if kind else None


def _of_run(job: Job, run: RunRecord, kind: Kind, prefix: str) -> Signal | None:
    if job.ping is None or run.trigger is not Trigger.SCHEDULE:
        return None
    if job.ping is Ping.GET and kind is not Kind.SUCCESS:
        return None  # a plain URL can say one thing only
    return Signal(of=job.name, form=job.ping, kind=kind, rid=uuid5(_RUNS, f"{prefix}/{run.ref.id}"))


def url_problem(url: str) -> str | None:
    """What is wrong with a URL, in words that do not show it; None: it can be used."""
    if not url.isascii() or not url.isprintable() or " " in url or len(url) > URL_LIMIT:
        return f"it is no URL: printable ASCII without spaces, at most {URL_LIMIT} characters"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "it is no URL"
    if not host or parts.scheme not in {"https", "http"}:
        return "it is no URL that begins with https:// and a host"
    if parts.scheme == "http" and host not in _LOOPBACK:
        return "it begins with http://, which anybody on the way can read: https:// is needed"
    if parts.username is not None or parts.fragment:
        return "it has a user's name or a fragment (#), which are not sent"
    return None


def refusal(status: int, body: bytes) -> str | None:
    """What is wrong with an answer, in words of our own; None: the signal has arrived.

    Args:
        status: of the answer.
        body: what was read of it, at most `BODY_READ` bytes.
    """
    if 300 <= status < 400:
        return f"it answered {status}: redirects are not followed, they may lead to anybody"
    if not 200 <= status < 300:
        return f"it answered {status}"
    ignored = _IGNORED.get(body.strip())
    return f"it answered {status}, and ignored it: {ignored}" if ignored else None


def may_be_tried_again(status: int) -> bool:
    """Whether another try a moment later may do better: not after 429, which asks for patience."""
    return status >= 500
