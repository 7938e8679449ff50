"""What scenarios share.

Invariants:
- a package of jobs that a test writes is gone from the interpreter when the test is over.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.job_package import Package


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = Package(tmp_path)
    yield package
    for module in [name for name in sys.modules if name.split(".")[0] == package.name]:
        del sys.modules[module]
