"""How the executor finds a job's code."""

from __future__ import annotations

from typing import Protocol

from cronce.core.job import Job
from cronce.core.values import dataclass


@dataclass(frozen=True, slots=True)
class LoadProblem:
    """Why a job's module gave no job: it does not import, or takes too long to."""

    text: str


class JobLoader(Protocol):
    """Finds one job's code."""

    def __call__(self, module: str, name: str, /) -> Job | LoadProblem | None:
        """The job of that name in a module; None: no such module or job is deployed. Never raises."""
        ...
