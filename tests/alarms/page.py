"""The table of faults in the documentation: it is written from what the tests find."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/alarms.md"
BEGIN, END = "<!-- faults -->\n", "<!-- /faults -->\n"
HEAD = (
    "| fault | alarms, after minutes | notices, after minutes | once it is mended, after minutes |\n"
    "|---|---|---|---|\n"
)


def rows_of_the_page() -> dict[str, str]:
    """The rows of the page, by fault."""
    table = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    return {line.split(" | ")[0].removeprefix("| "): line for line in table.removeprefix(HEAD).splitlines()}


def write_rows(rows: list[str]) -> None:
    """Put these rows onto the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + HEAD + "".join(f"{row}\n" for row in rows) + END + after)
