"""Entries of pages from saved results, and their provenance: input files with SHA-256, command, version."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..base.errors import FileError, InputError
from ..blur.result import MapResult
from ..images.images import read_image
from ..images.reading import read_bytes
from .io import load
from .page import Entry
from .summary import SUMMARY_FILE

__all__ = ["MAP_FILES", "digest", "provenance", "read_entries"]

#: Maps that identify a folder of results, in order of precedence.
MAP_FILES = ("blur_map.npz", "depth.npz", "stack.npz")

_LONGEST_SUMMARY = 10_000_000  # bytes


def provenance(inputs: Sequence[Path] = (), command: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the provenance of a page as rows of a table: input files, command, version, date."""
    rows = []
    for path in inputs:
        size, sha256 = digest(path)
        rows.append((path.name, "a folder" if sha256 is None else f"{size} bytes, SHA-256 {sha256}"))
    if command:
        rows.append(("command", shlex.join(command)))
    where = f"relblur {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return [*rows, ("page made", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by {where}")]


def digest(path: Path) -> tuple[int | None, str | None]:
    """Return size and SHA-256 of a file; None for a path that is not a readable file, such as a folder."""
    try:
        with open(path, "rb") as stream:
            return path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None, None


def read_entries(path: Path) -> tuple[list[Entry], list[tuple[str, str]]]:
    """Return the maps at a path as entries of a page, and the unreadable ones as (name, reason).

    The path is a saved map, a folder of results, or a folder that contains such folders (a run over many pairs).
    """
    title = path.resolve().name
    if not path.is_dir():
        result = load(path)
        if not isinstance(result, MapResult):
            raise InputError(
                f"{path} is an image, not a result; name a folder of results, or a .npz that relblur saved"
            )
        return [Entry(title, result, provenance=provenance())], []
    if _has_map(path):
        return [_read_folder(path, title)], []
    try:
        folders = [each for each in sorted(path.iterdir()) if _has_map(each) and not each.name.startswith(".")]
    except OSError as error:
        raise FileError(f"the folder {path} cannot be read: {error.strerror}") from None
    if not folders:
        raise FileError(
            f"{path} contains no result of relblur ({', '.join(MAP_FILES)}); "
            "name a folder that 'relblur estimate', 'depth' or 'stack' wrote"
        )
    entries: list[Entry] = []
    failures: list[tuple[str, str]] = []
    for folder in folders:
        try:
            entries.append(_read_folder(folder, folder.name))
        except FileError as error:
            failures.append((folder.name, str(error)))
    return entries, failures


def _has_map(folder: Path) -> bool:
    return any((folder / name).is_file() for name in MAP_FILES)


def _read_folder(folder: Path, title: str) -> Entry:
    result = load(next(folder / name for name in MAP_FILES if (folder / name).is_file()))
    assert isinstance(result, MapResult)
    fused = folder / "fused.png"
    pictures = [("sharp everywhere", read_image(fused))] if fused.is_file() else []
    return Entry(title, result, pictures, _read_json(folder / SUMMARY_FILE), provenance=provenance())


def _read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one if it is missing or damaged."""
    try:
        if path.stat().st_size > _LONGEST_SUMMARY:
            return {}
        content = json.loads(read_bytes(path))
    except (OSError, FileError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
