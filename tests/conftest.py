"""Test settings that hold for every test: the zone data that ships, and how hard hypothesis looks.

Invariants:
- zones come from the pinned tzdata wheel, never from the machine: results are the same everywhere;
- a random test that fails prints how to repeat it, and no test fails because the machine was slow.
"""

import os
import zoneinfo

from hypothesis import settings

# Before anything makes a ZoneInfo; the environment variable is for processes that tests start.
os.environ["PYTHONTZPATH"] = ""
zoneinfo.reset_tzpath(to=())
zoneinfo.ZoneInfo.clear_cache()

# Deadlines judge the machine, not the code. `make test-slow` uses the thorough profile.
settings.register_profile("normal", deadline=None, print_blob=True)
settings.register_profile("thorough", parent=settings.get_profile("normal"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "normal"))
