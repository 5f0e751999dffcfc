"""Reading of the NPZ files that relblur writes, in a child process."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..base._typing import AnyArray, PathLike
from ..base.errors import FileError
from .reading import Source, first_line, in_child, opened

__all__ = ["ZIP_MAGIC", "check_format", "is_npz", "read_npz"]

ZIP_MAGIC = b"PK\x03\x04"


def is_npz(path: PathLike) -> bool:
    """Return whether a file is an NPZ, by its first bytes."""
    try:
        with opened(path) as source:
            return source.read(0, 4) == ZIP_MAGIC
    except FileError:
        return False


def read_npz(path: PathLike, names: Collection[str] | None = None) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return the arrays (all, or those named) and the description in a file of :func:`~.disk.write_npz`."""
    with opened(path) as source:
        source.check_file()
        arrays, metadata = in_child(f"{__name__}:_unpacked", source, names)
    if not isinstance(metadata, dict):
        raise FileError(f"{path} is not a relblur file: its metadata is not a table; save it again")
    return arrays, metadata


def _unpacked(source: Source, names: Collection[str] | None) -> tuple[dict[str, AnyArray], Any]:
    try:
        source.stream.seek(0)
        with np.load(source.stream, allow_pickle=False) as archive:
            metadata = json.loads(str(archive["metadata"][()]))
            chosen = [name for name in archive.files if name != "metadata" and (names is None or name in names)]
            arrays = {name: np.asarray(archive[name]) for name in chosen}
        for name, array in arrays.items():
            if array.dtype.kind not in "fiub" or array.ndim > 3:
                raise ValueError(f"{name} holds {str(array.dtype)[:60]} of shape {str(array.shape)[:60]}")
            if array.ndim >= 2:
                source.check_pixels(*array.shape[:2])
    except (FileError, MemoryError):
        raise
    except Exception as error:  # damaged archives raise many types, and so do hostile headers
        detail = first_line(error)[:200]
        raise FileError(f"{source.path} is not a complete relblur file ({detail}); save it again") from None
    return arrays, metadata


def check_format(path: PathLike, metadata: Mapping[str, Any], expected: str, version: int) -> None:
    """Refuse a file of another kind, or of a later relblur."""
    if metadata.get("format") != expected:
        raise FileError(
            f"{path} holds {str(metadata.get('format'))[:60]!r}, not a {expected}; choose a file made by its save"
        )
    written = metadata.get("format_version", 0)
    if not isinstance(written, int) or written > version:
        raise FileError(f"{path} was written by a newer relblur (format {str(written)[:20]}); upgrade relblur")
    if not isinstance(metadata.get("settings"), dict):
        raise FileError(f"{path} lacks its settings; it is not a complete {expected}, save it again")
