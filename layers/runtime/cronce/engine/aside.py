"""How long an entry of the index that cannot be dealt with steps aside, for others to have their turn."""

from __future__ import annotations

from datetime import timedelta

ASIDE_AT_LEAST = timedelta(minutes=10)
"""An item that cannot be read is looked at again then; the pause grows with its age, so it doubles."""
ASIDE_AT_MOST = timedelta(days=1)
"""The longest such pause. An item whose key names no run waits so long at once: no repair makes it one."""
