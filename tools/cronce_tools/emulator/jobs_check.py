"""Says what is wrong with the jobs before anything is built: a build takes a minute, this a second."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from cronce_tools.emulator.deployment import DeploymentError, last_words


def check_jobs(project: Path) -> None:
    """Have `cronce validate` look at the jobs of a project, in a process of its own: they may do anything.

    Raises:
        DeploymentError: one of them cannot be used, or nobody can say.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", "cronce_tools.cli", "validate", "--json", "--project", str(project)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return
    try:
        problems: dict[str, str] = json.loads(done.stdout)["problems"]
        said = "\n".join(f"problem in {module}: {problem}" for module, problem in sorted(problems.items()))
    except (ValueError, KeyError, TypeError):
        said = f"the jobs cannot be looked at (exit code {done.returncode})\n{last_words(done.stderr)}"
    raise DeploymentError(f"{said}\nNothing was built: mend it first (`make jobs` looks again).")
