"""What an examination has at hand: the stack's account, its ledger, and what is expected of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from cronce.bootstrap.operator import Operator
from cronce_tools.doctor.aws import Aws
from cronce_tools.doctor.expected import Expected
from cronce_tools.doctor.finding import Finding
from cronce_tools.doctor.release import Releases
from cronce_tools.doctor.values import Deployment

F = TypeVar("F")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A stack that is examined.

    Attributes:
        aws: calls of its account and Region.
        deployment: what CloudFormation says of it.
        releases: what its template and the working copy's say.
        expected: what is expected of it.
        operator: its ledger.
        project: the working copy.
        now: when.
        is_local: it is the one of `make local`.
    """

    aws: Aws
    deployment: Deployment
    releases: Releases
    expected: Expected
    operator: Operator
    project: Path
    now: datetime
    is_local: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Check(Generic[F]):
    """One check: looking asks AWS or the ledger, judging does not.

    Attributes:
        name: in one word or two.
        look: gathers the facts.
        judge: what is wrong with them.
        why: why nobody should be left without it, one clause.
        is_real_only: local AWS takes these settings and does nothing with them.
    """

    name: str
    look: Callable[[Place], F]
    judge: Callable[[Expected, F], Iterable[Finding]]
    why: str
    is_real_only: bool = False


AnyCheck = Check[Any]
