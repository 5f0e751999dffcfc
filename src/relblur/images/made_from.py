"""The signature of a folder of results: from what it was made, and which files in it relblur wrote.

Only a folder that is signed and holds nothing else may be deleted or replaced.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .replacing import NO_LINKS, replacing

__all__ = ["MADE_FROM", "listing", "read_signature", "sign", "strangers"]

MADE_FROM = "made_from.json"

_MADE_BY = "relblur"
_LONGEST = 100_000_000  # bytes; a signature has about two thousand, and a hundred more for each chunk of a Zarr


def listing(folder: Path) -> list[str]:
    """Return the names of all that is not a folder in a folder and below, links not followed."""
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found += [f"{entry.name}/{below}" for below in listing(folder / entry.name)]
            else:
                found.append(entry.name)
    return sorted(found)


def sign(folder: Path, made_from: Mapping[str, Any]) -> None:
    """Write down what the files in a folder were made from."""
    wrote = {name: (folder / name).lstat().st_size for name in listing(folder) if name != MADE_FROM}
    with replacing(folder / MADE_FROM) as stream:
        stream.write(json.dumps({"made_by": _MADE_BY, **made_from, "wrote": wrote}, indent=2).encode())


def read_signature(folder: Path) -> dict[str, Any] | None:
    """Return what :func:`sign` wrote; None if the folder is not signed, or is a link."""
    try:
        if folder.is_symlink():
            return None
        descriptor = os.open(folder / MADE_FROM, os.O_RDONLY | NO_LINKS | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as stream:
            signature = json.loads(stream.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(signature, dict) or signature.get("made_by") != _MADE_BY:
        return None
    return signature if isinstance(signature.get("wrote"), dict) else None


def strangers(folder: Path, signature: Mapping[str, Any]) -> list[str]:
    """Return the files in a signed folder that relblur did not write."""
    return [name for name in listing(folder) if name != MADE_FROM and name not in signature["wrote"]]


def missing(folder: Path, signature: Mapping[str, Any]) -> list[str]:
    """Return the files that relblur wrote and that are gone, or have another size now."""
    wrong = []
    for name, size in signature["wrote"].items():
        try:
            if (folder / name).lstat().st_size != size:
                wrong.append(name)
        except OSError:
            wrong.append(name)
    return wrong
