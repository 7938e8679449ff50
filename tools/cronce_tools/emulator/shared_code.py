"""Code and layers are unpacked once for all processes of functions, which see them through links.

The emulator as it is unpacks all of it for each process: fifty megabytes and thousands of files for a layer
with boto3. That is most of a cold start here, and of the clean-up at the end. In Lambda both are read-only.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = "unpacked"
"""In the emulator's own folder for temporary files."""
_LOCK = threading.Lock()


class SharedZip(zipfile.ZipFile):
    """An archive whose whole content is unpacked once, and linked wherever it is wanted."""

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        """Put links to everything in the archive into a folder; a choice of members is unpacked as ever."""
        if members is not None or not self.filename:
            super().extractall(path, members, pwd)
            return
        for entry in self._unpacked().iterdir():
            Path(path or ".", entry.name).symlink_to(entry)

    def _unpacked(self) -> Path:
        content = hashlib.sha256(Path(str(self.filename)).read_bytes()).hexdigest()
        target = Path(tempfile.gettempdir()) / FOLDER / content
        with _LOCK:
            if not target.exists():
                target.parent.mkdir(exist_ok=True)
                fresh = Path(tempfile.mkdtemp(dir=target.parent))
                super().extractall(fresh)
                fresh.rename(target)
        return target


def shared_zipfile() -> SimpleNamespace:
    """The module `zipfile` with such archives."""
    return SimpleNamespace(**{**vars(zipfile), "ZipFile": SharedZip})
