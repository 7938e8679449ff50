"""`python -m cronce_tools.cli`, which is what `.venv/bin/cronce` calls."""

from __future__ import annotations

import io
import sys
import zoneinfo

STOPPED = 130
"""Exit code of a command that was stopped by Ctrl-C, also before it had begun."""


def main() -> int:
    """Run the command. Zones come from the pinned tzdata wheel, as they do in Lambda.

    Returns:
        The exit code, if the command does not end the process itself.
    """
    zoneinfo.reset_tzpath(to=())
    _prepare_streams()
    try:
        from cronce_tools.cli.app import app  # noqa: PLC0415 - Ctrl-C may come while it is loaded

        app(prog_name="cronce")
    except KeyboardInterrupt:
        return STOPPED
    return 0


def _prepare_streams() -> None:
    """Whoever has closed a stream wants to hear nothing; letters that its encoding lacks are escapes."""
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
