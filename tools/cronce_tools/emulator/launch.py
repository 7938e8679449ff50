"""Start the emulator with AWS's semantics where its own differ.

A plain script for the interpreter of .venv-emulator (`cronce_tools.emulator.process` starts it): it adds the
tools to its own path and not to the environment, because everything in the environment is seen by functions.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from cronce_tools.emulator.adapter import EmulatorChangedError, install, stop_with_parent


def main() -> int:
    """Serve until SIGTERM, or until standard input is closed because the parent is gone.

    Returns:
        2 if the emulator is not the one that the adapter was written for.
    """
    try:
        install()
    except EmulatorChangedError as error:
        print(error, file=sys.stderr)
        return 2
    stop_with_parent()
    from ministack.app import main as serve  # noqa: PLC0415 - only after its parts were replaced

    serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
