"""The table of what local AWS does not show: each line names a test of the template that there is.

Invariants:
* every test that the table names exists, and every line names one;
* the archive of the previous release has what the page says, and nothing else.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/deploy.md"
ARCHIVE = ROOT / "tests/e2e/previous_release/source.tar.gz"


def lines() -> list[str]:
    table = PAGE.read_text().split("### What the emulator does not show")[1].split("\n\n")[2]
    return table.splitlines()[2:]


def test_every_line_of_the_table_names_a_test_that_there_is() -> None:
    assert len(lines()) >= 15
    for line in lines():
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", line.rsplit("|", 2)[1])
        assert named, line
        for module, test in named:
            assert f"def {test}(" in (ROOT / "tests/template" / module).read_text(), line


def test_the_previous_release_is_a_template_with_its_code() -> None:
    with tarfile.open(ARCHIVE) as archive:
        names = archive.getnames()
    assert {name.split("/", 1)[0] for name in names} == {"template.yaml", "layers", "functions"}
    assert {"functions/executor.py", "layers/runtime/requirements.txt"} <= set(names)
    assert ARCHIVE.stat().st_size < 300_000
