"""A package of job modules, written to disk for a test."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from cronce.engine.registry import discover

PREAMBLE = "from cronce.core.job import job\nfrom cronce.core.schedule import Cron\n"
FINE = "@job('{name}', schedule=Cron('0 6 * * *'))\ndef {function}(run): pass\n"
NUMBERS = count()


def declares(*names: str) -> str:
    """A module that declares jobs."""
    return PREAMBLE + "".join(FINE.format(name=name, function=name.replace("-", "_")) for name in names)


class Package:
    """A package of jobs in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.name = f"jobs_{next(NUMBERS)}"
        self.folder = root / self.name
        self.folder.mkdir()

    def add(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def found(self) -> tuple[dict[str, str], dict[str, str]]:
        """Jobs with their modules, and problems by module, without the package's name."""
        catalog = discover(self.name)
        jobs = {name: self.short(declared.module) for name, declared in catalog.jobs.items()}
        return jobs, {self.short(module): text for module, text in catalog.problems.items()}

    def short(self, module: str) -> str:
        return module.removeprefix(self.name).removeprefix(".")
