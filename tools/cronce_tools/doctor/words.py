"""Wordings that several checks share."""

from __future__ import annotations

from collections.abc import Sequence

from cronce_tools.doctor.finding import Finding
from cronce_tools.doctor.settings import Difference

REMADE = (
    "change anything in {} in template.yaml and deploy: CloudFormation does not see what was changed by hand "
    "until something else of it changes"
)
"""The remedy for what no single command mends."""
NAMED = 5
"""How many of many are named."""


def difference(subject: str, found: Difference, command: str, logical_id: str = "it") -> Finding:
    """A setting that is not as expected.

    Args:
        subject: whose setting.
        found: what differs.
        command: that mends it, if the setting has an option of it.
        logical_id: name in the template of what must be remade if it has none.
    """
    remedy = f"{command} {found.option}" if found.option else REMADE.format(logical_id)
    return Finding(what=f"{subject}: {found.text}", why=found.why, remedy=remedy)


def some(names: Sequence[str]) -> str:
    """The first of many, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
