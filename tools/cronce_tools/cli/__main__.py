"""`python -m cronce_tools.cli`, which is what `.venv/bin/cronce` calls."""

from __future__ import annotations

import zoneinfo

from cronce_tools.cli.app import app


def main() -> None:
    """Run the command. Zones come from the pinned tzdata wheel, as they do in Lambda."""
    zoneinfo.reset_tzpath(to=())
    app(prog_name="cronce")


if __name__ == "__main__":
    main()
