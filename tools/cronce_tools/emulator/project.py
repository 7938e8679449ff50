"""A copy of the project with more jobs in it, to be built and deployed beside the project itself."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from cronce_tools.emulator.process import ROOT

COPIED = (
    "template.yaml", "samconfig.toml", "Makefile", "pyproject.toml", "parameters", "requirements", "layers",
    "functions", "tools",
)  # fmt: skip
"""What a build and a deployment need. The template and the code are taken as they are."""
ENVIRONMENTS = (".venv", ".venv-sam", ".venv-emulator")
"""They are not copied but linked: the commands of the Makefile find them where they expect them."""
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc")


def copy_project(target: Path, *additions: Path, source: Path = ROOT, release: Path | None = None) -> Path:
    """Copy what is deployed, and add jobs.

    Args:
        target: a folder that is not there yet, or an earlier copy, which is brought up to date.
        additions: folders that are laid over `functions/`.
        source: the project.
        release: archive with the template, layers and functions of a release, to be taken instead.

    Returns:
        The copy.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        original = source / name
        if original.is_dir():
            shutil.rmtree(target / name, ignore_errors=True)
            shutil.copytree(original, target / name, ignore=NOT_COPIED)
        else:
            shutil.copy2(original, target / name)
    if release:
        _take_release(release, target)
    for folder in additions:
        shutil.copytree(folder, target / "functions", dirs_exist_ok=True, ignore=NOT_COPIED)
    for name in ENVIRONMENTS:
        link = target / name
        if not link.is_symlink():
            link.symlink_to(source / name)
    return target


def _take_release(archive: Path, target: Path) -> None:
    """Put the sources of a release in the place of those of the project."""
    with tarfile.open(archive) as sources:
        for name in {member.name.split("/", 1)[0] for member in sources.getmembers()}:
            if (target / name).is_dir():
                shutil.rmtree(target / name)
        sources.extractall(target, filter="data")
