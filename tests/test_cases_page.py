"""The numbers in test names and the page that explains them.

Invariants:
- every P and I number in a test's name has one line in docs/cases.md;
- every line of docs/cases.md is held by a test.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/cases.md"

TEST = re.compile(r"^ *def (test_\w+)\(", re.MULTILINE)
NUMBER = re.compile(r"(?<=_)[pi]\d+(?=_)")
LINE = re.compile(r"^- \*\*([PI]\d+)\*\* \S", re.MULTILINE)


def numbers_in(name: str) -> set[str]:
    """The cases that a test's name mentions."""
    return {number.upper() for number in NUMBER.findall(name)}


def numbers_of_the_tests() -> set[str]:
    names = (name for path in ROOT.glob("tests/**/test_*.py") for name in TEST.findall(path.read_text()))
    return {number for name in names for number in numbers_in(name)}


def numbers_of_the_page() -> list[str]:
    return LINE.findall(PAGE.read_text())


def test_every_number_in_a_test_name_has_its_line() -> None:
    assert sorted(numbers_of_the_tests() - set(numbers_of_the_page())) == []


def test_every_line_is_held_by_a_test() -> None:
    assert sorted(set(numbers_of_the_page()) - numbers_of_the_tests()) == []


def test_no_number_stands_there_twice() -> None:
    lines = numbers_of_the_page()
    assert len(lines) == len(set(lines))


def test_all_numbers_of_a_name_are_seen_and_no_word_is_taken_for_one() -> None:
    assert numbers_in("test_" + "p19_i3_a_job_of_4_jobs_p1") == {"P19", "I3"}
    assert numbers_in("test_" + "g5_g6_step_12_is_not_repeated") == set()
