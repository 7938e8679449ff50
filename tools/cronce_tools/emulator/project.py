"""A copy of the project with more jobs in it, to be built and deployed beside the project itself."""

from __future__ import annotations

import shutil
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


def copy_project(target: Path, *additions: Path) -> Path:
    """Copy what is deployed, and add jobs.

    Args:
        target: a folder that is not there yet, or an earlier copy, which is brought up to date.
        additions: folders that are laid over `functions/`.

    Returns:
        The copy.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.rmtree(target / name, ignore_errors=True)
            shutil.copytree(source, target / name, ignore=NOT_COPIED)
        else:
            shutil.copy2(source, target / name)
    for folder in additions:
        shutil.copytree(folder, target / "functions", dirs_exist_ok=True, ignore=NOT_COPIED)
    for name in ENVIRONMENTS:
        link = target / name
        if not link.is_symlink():
            link.symlink_to(ROOT / name)
    return target
