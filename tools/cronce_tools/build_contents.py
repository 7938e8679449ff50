"""What a build consists of: the packages in the layer, and how large it is beside Lambda's limits.

Limits: AWS Lambda developer guide, "Lambda quotas". The 50 MB of a zipped package are for uploads through
Lambda's own API; `sam deploy` uploads through S3, where they do not count. The 250 MB of everything unpacked,
function and layers together, hold in any case.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

MB = 1024 * 1024
LARGEST_UNPACKED = 250 * MB
LARGEST_DIRECT_UPLOAD = 50 * MB

LAYER_PACKAGES = frozenset(
    {
        "aws_lambda_powertools",
        "boto3",
        "botocore",
        "cronce",
        "croniter",
        "dateutil",
        "jmespath",
        "s3transfer",
        "six",
        "typing_extensions",
        "tzdata",
        "urllib3",
    }
)
"""What can be imported from the layer. Every package in it is paid for by every function."""
_NO_PACKAGES = ("*.dist-info", "*.data", "__pycache__", "requirements.txt")
# Beside the packages: what installers keep, compiled single modules, and the list itself.


@dataclass(frozen=True, kw_only=True)
class Size:
    """Bytes of a folder.

    Attributes:
        unpacked: of its files.
        zipped: of a zip file with them.
    """

    unpacked: int
    zipped: int

    def __str__(self) -> str:
        """Both in MB."""
        return f"{self.zipped / MB:.1f} MB zipped, {self.unpacked / MB:.1f} MB unpacked"


def packages_in(layer: Path) -> frozenset[str]:
    """The packages and modules at the top of a layer."""
    entries = (entry for entry in layer.iterdir() if not any(entry.match(each) for each in _NO_PACKAGES))
    return frozenset(entry.name.removesuffix(".py") for entry in entries)


def content_problems(layer: Path) -> list[str]:
    """What is in the layer and should not be, and the other way round, one sentence each."""
    found = packages_in(layer)
    more = [
        f"layer: {name} is in it, which nobody expects: what only your jobs need belongs into "
        "functions/requirements.txt; if it belongs here, name it in LAYER_PACKAGES"
        for name in sorted(found - LAYER_PACKAGES)
    ]
    return more + [f"layer: {name} is not in it" for name in sorted(LAYER_PACKAGES - found)]


def size_of(folder: Path) -> Size:
    """How large a folder is, as it is and zipped."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    with tempfile.TemporaryFile() as target:
        with ZipFile(target, "w", ZIP_DEFLATED) as archive:
            for path in files:
                archive.write(path, path.relative_to(folder))
        zipped = target.seek(0, 2)
    return Size(unpacked=sum(path.stat().st_size for path in files), zipped=zipped)


def size_problem(function: str, code: Size, layer: Size) -> str | None:
    """Why Lambda would refuse a function with its layer, if it would."""
    together = code.unpacked + layer.unpacked
    if together <= LARGEST_UNPACKED:
        return None
    return (
        f"{function}: {together / MB:.1f} MB unpacked with its layer, and Lambda takes "
        f"{LARGEST_UNPACKED // MB} MB: leave packages out, or move work to a function of its own"
    )


def upload_note(name: str, size: Size) -> str | None:
    """What follows from a zip file that Lambda's own API would refuse."""
    if size.zipped <= LARGEST_DIRECT_UPLOAD:
        return None
    return f"{name}: over {LARGEST_DIRECT_UPLOAD // MB} MB zipped, so it can be uploaded through S3 only"
