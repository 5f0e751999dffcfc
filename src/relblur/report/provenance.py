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

__all__ = ["digest", "provenance"]

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


def digest(path: Path) -> tuple[int | None, str | None]:
    """Return size and SHA-256 of a file; None of what cannot be read as one, such as a folder."""
    try:
        with open(path, "rb") as stream:
            return path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None, None


def _content(path: Path) -> str:
    size, sha256 = digest(path)
    if sha256 is None:
        return "a folder" if path.is_dir() else "no longer there"
    return f"{size} bytes, SHA-256 {sha256}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
