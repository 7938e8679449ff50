"""What is installed, in every environment and in the layer, is exactly what was locked.

Invariants:
- each line of each locked file names one version and the hashes of its files, and no address;
- the tests run with the versions that ship;
- what is locked stands for every request in its `.in` file.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYER = ROOT / "layers/runtime/requirements.txt"
LOCKED = {"layer": LAYER} | {path.stem: path for path in (ROOT / "requirements").glob("*.txt")}

PIN = re.compile(r"([A-Za-z0-9._-]+)==([\w.!+-]+)( ; [^\\]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")
IGNORED = re.compile(r"(?m)^ *#.*\n|^\n")


def text_of(name: str) -> str:
    return IGNORED.sub("", LOCKED[name].read_text())


def pins(name: str) -> dict[str, str]:
    return {match[1]: match[2] for match in PIN.finditer(text_of(name))}


def hashes(name: str) -> dict[str, set[str]]:
    return {match[1]: set(match[4].split(" \\\n")) for match in PIN.finditer(text_of(name))}


def requests(name: str) -> set[str]:
    text = IGNORED.sub("", (ROOT / f"requirements/{name}.in").read_text())
    lines = [line for line in text.splitlines() if not line.startswith("-r ")]
    return {re.split(r"[^\w.-]", line)[0].lower().replace("_", "-") for line in lines}


@pytest.mark.parametrize("name", sorted(LOCKED))
def test_every_line_is_one_version_with_the_hashes_of_its_files(name: str) -> None:
    assert PIN.sub("", text_of(name)) == "", "what remains is not name==version with hashes"


@pytest.mark.parametrize("name", sorted(LOCKED))
def test_no_file_names_an_address(name: str) -> None:
    assert not re.search(
        r"://|--(extra-)?index-url|--find-links|--trusted-host|\bfile:", LOCKED[name].read_text()
    )


@pytest.mark.parametrize("name", sorted(LOCKED))
def test_what_is_asked_for_is_locked(name: str) -> None:
    assert requests(name)
    assert requests(name) <= {pin.lower().replace("_", "-") for pin in pins(name)}


def test_the_tests_run_with_the_versions_and_files_that_ship() -> None:
    assert pins("layer").items() <= pins("dev").items()
    assert all(hashes("dev")[name] == files for name, files in hashes("layer").items())


@pytest.mark.parametrize("name", ["cffi", "ruff"])
def test_a_package_with_a_file_for_each_platform_has_a_hash_for_each(name: str) -> None:
    """Linux and macOS on two processors, times what the package makes of it."""
    assert len(hashes("dev")[name]) >= 8
