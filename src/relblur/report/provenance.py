"""Where a result comes from: files by content, programs by version, the command."""

from __future__ import annotations

import hashlib
import platform
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from .. import __version__

__all__ = ["provenance"]

#: Packages whose version may change a number.
PACKAGES = ("numpy", "opencv-python-headless", "scipy", "pillow", "tifffile")


def provenance(inputs: Sequence[Path] = (), command: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return rows of a table: what was read, by which command, with which programs, when."""
    rows = [(path.name, _content(path)) for path in inputs]
    if command:
        rows.append(("command", shlex.join(command)))
    rows.append(("page made", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by relblur {__version__}"))
    versions = [f"{name} {version}" for name in PACKAGES if (version := _version(name))]
    rows.append(("with", ", ".join([f"Python {platform.python_version()}", *versions])))
    rows.append(("on", f"{platform.system()} {platform.machine()}"))
    return rows


def _content(path: Path) -> str:
    try:
        with open(path, "rb") as stream:
            return f"{path.stat().st_size} bytes, SHA-256 {hashlib.file_digest(stream, 'sha256').hexdigest()}"
    except OSError:
        return "no longer there"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
