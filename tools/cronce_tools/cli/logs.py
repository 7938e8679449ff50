"""Where the log of a run is."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from cronce_tools.cli.stacks import Reached

CONSOLES = {"cn-": "console.amazonaws.cn", "us-gov-": "console.amazonaws-us-gov.com"}
"""Web consoles of the other partitions, by how their Regions begin."""
CONSOLE = "console.aws.amazon.com"


def log_place(stack: Reached, stream: str, request_id: str | None) -> str:
    """Where to read what a run wrote: a page of the CloudWatch console, or on local AWS a command.

    Args:
        stack: whose executor it was.
        stream: the log stream.
        request_id: of the invocation.
    """
    group = stack.outputs.get("ExecutorLogGroupName", "")
    if stack.is_local:
        words = f" --filter-pattern '\"{request_id}\"'" if request_id else ""
        return f"aws logs filter-log-events --log-group-name {group} --log-stream-names '{stream}'{words}"
    host = next((host for start, host in CONSOLES.items() if stack.region.startswith(start)), CONSOLE)
    asked = f"?filterPattern={_twice(chr(34) + request_id + chr(34))}" if request_id else ""
    return (
        f"https://{stack.region}.{host}/cloudwatch/home?region={stack.region}#logsV2:log-groups/log-group/"
        f"{_twice(group)}/log-events/{_twice(stream)}{asked.replace('?', '$3F').replace('=', '$3D')}"
    )


def _twice(text: str) -> str:
    """The console reads what stands behind `#` with `$` for `%`, and quotes names once more itself."""
    return quote(quote(text, safe=""), safe="").replace("%", "$")
