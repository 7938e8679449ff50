"""docs/security.md says what is so.

Invariants:
- it lists the checks that the template suppresses, no others, and each suppression says why;
- it names every wildcard that a role has; the tests that it names exist.
"""

import re

import pytest

from tests.template.stack import FUNCTIONS, ROOT, Stack
from tests.template.test_permissions import WILDCARDS

PAGE = (ROOT / "docs/security.md").read_text()


def suppressed(stack: Stack) -> dict[str, set[str]]:
    """The checks that each resource is excused from."""
    found = {}
    for name, resource in stack.template["Resources"].items():
        skips = resource.get("Metadata", {}).get("checkov", {}).get("skip", [])
        if skips:
            found[name] = {skip["id"] for skip in skips}
            assert all(len(skip["comment"]) > 30 for skip in skips), name
    return found


def test_suppressed_checks_are_those_of_the_page(stack: Stack) -> None:
    listed = set(re.findall(r"(?m)^\| `(CKV_\w+)`", PAGE))
    assert set().union(*suppressed(stack).values()) == listed


def test_only_functions_are_excused_and_the_executors_concurrency_is_not(stack: Stack) -> None:
    copies = {f"{function}EventInvokeConfig" for function in FUNCTIONS}  # the translator makes them
    assert suppressed(stack).keys() - copies == set(FUNCTIONS)
    assert "CKV_AWS_115" not in suppressed(stack)["ExecutorFunction"]


@pytest.mark.parametrize("wildcard", sorted(WILDCARDS))
def test_a_wildcard_has_its_reason_on_the_page(wildcard: str) -> None:
    assert f"| `{wildcard}` | " in PAGE


def test_the_tests_that_it_names_exist() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert len(named) >= 10
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []
