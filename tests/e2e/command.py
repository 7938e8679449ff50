"""The `cronce` command of a working copy, as a person or a script calls it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Cronce:
    """The command; it answers with JSON.

    Args:
        project: the working copy that it belongs to.
        environment: variables that lead to AWS.
        options: which stack, if it is not to find one.
    """

    def __init__(self, project: Path, environment: Mapping[str, str], *options: str) -> None:
        self._options = [*options, "--json"]
        paths = os.pathsep.join(str(project / name) for name in ("tools", "layers/runtime", "functions"))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CRONCE_"))}
        self._environment = {**kept, **environment, "PYTHONPATH": paths}

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        """What a command answers, if it ends with this code."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "cronce_tools.cli", *arguments, *self._options],
            env=self._environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        return json.loads(done.stdout)
