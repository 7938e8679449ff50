"""What a message says of a wrong event: its names, not its values.

An event may carry what must not be in a log: a run's input, say, in a record of the stream.
"""

from __future__ import annotations

from collections.abc import Mapping

NAMES = 8
"""Names that are listed."""
NAME_LENGTH = 40
"""Characters of a name that are shown."""


def outline(thing: object) -> str:
    """The names of a mapping, or the type of anything else."""
    if isinstance(thing, Mapping):
        names = [str(name)[:NAME_LENGTH] for name in list(thing)[:NAMES]]
        more = ", ..." if len(thing) > NAMES else ""
        return f"a mapping of {', '.join(map(repr, names))}{more}" if names else "an empty mapping"
    return "nothing" if thing is None else f"a {type(thing).__name__}"
