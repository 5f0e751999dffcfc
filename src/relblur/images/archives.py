"""Reading of the NPZ files that relblur writes, with a check of every entry."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..base._typing import AnyArray, PathLike
from ..base.errors import FileError
from .reading import FREE_RESULT_BYTES, Budget, opened

__all__ = ["ZIP_MAGIC", "check_format", "is_npz", "read_npy_header", "read_npz"]

ZIP_MAGIC = b"PK\x03\x04"

#: Largest number of entries: a map has five.
_MOST_ENTRIES = 32

#: Largest size of the description of settings and camera, bytes.
_MOST_DESCRIPTION_BYTES = 10_000_000

#: Largest size of the list of entries, bytes.
_MOST_LIST_BYTES = 1_000_000


def read_npy_header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order (True: columns first) and type of an array in NumPy's format."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(stream)


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
        source.budget.check_file()
        try:
            _check_list(source.read(source.size - 22, 22), path)
            with zipfile.ZipFile(source.stream) as archive:
                entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
                _check_expansion(entries.values(), source.budget)
                text = _read_entry(archive, entries.pop("metadata"), "U", source.budget)
                metadata = json.loads(str(text[()]))
                arrays = {
                    name: _read_entry(archive, entry, "fiub", source.budget)
                    for name, entry in entries.items()
                    if names is None or name in names
                }
        except FileError:
            raise
        except Exception as error:  # damaged archives raise many types, and so do hostile headers
            what = " ".join(str(error).split()) or type(error).__name__
            raise FileError(f"{path} is not a complete relblur file ({what[:200]}); save it again") from None
    if not isinstance(metadata, dict):
        raise FileError(f"{path} is not a relblur file: its metadata is not a table; save it again")
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


def _check_list(end: bytes, path: PathLike) -> None:
    """Refuse an archive with a long list of entries before the list is read.

    Files of relblur end with the 22 bytes that state the length of the list (APPNOTE.TXT 4.3.16).
    """
    if end[:4] != b"PK\5\6" or int.from_bytes(end[12:16], "little") > _MOST_LIST_BYTES:
        raise FileError(f"{path} is damaged, or too many entries are listed in it; save it again")


def _check_expansion(entries: Collection[zipfile.ZipInfo], budget: Budget) -> None:
    """Refuse an archive that unpacks to far more than a map, before memory is allocated."""
    if len(entries) > _MOST_ENTRIES:
        raise FileError(f"{budget.path} declares {len(entries)} arrays; a map has five")
    unpacked = sum(entry.file_size for entry in entries)
    # Several entries may declare the same bytes, so their sum is limited to the size of the file.
    packed = min(sum(entry.compress_size for entry in entries), budget.file_bytes)
    budget.check_expansion(unpacked, packed, free=FREE_RESULT_BYTES)


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kinds: str, budget: Budget) -> AnyArray:
    """Return one array; check that its header agrees with the size of the entry before memory is allocated."""
    name = entry.filename[:60]
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # the other decoders read far ahead
        raise ValueError(f"{name} is packed in another way than relblur packs")
    with archive.open(entry) as stream:
        shape, _, dtype = read_npy_header(stream)
        size = dtype.itemsize * math.prod(int(n) for n in shape)
        if dtype.kind not in kinds or len(shape) > 3 or min(shape, default=0) < 0:
            raise ValueError(f"{name} holds {str(dtype)[:60]} of shape {str(shape)[:60]}")
        if stream.tell() + size != entry.file_size:
            raise ValueError(f"{name} declares {size} bytes and has {entry.file_size - stream.tell()}")
        if len(shape) >= 2:
            budget.check_pixels(*shape[:2])
        if kinds == "U" and size > _MOST_DESCRIPTION_BYTES:
            raise ValueError(f"{name} has {size} bytes")
    with archive.open(entry) as stream:  # the checksum is compared at its end
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
