"""OpenEXR files to pixels: what a file claims is checked before the library unpacks it.

The library unpacks a whole file at once and has no limits of its own. Its chunks say how many bytes they have; these
are added up, and the picture must not be far larger. (The layout: "OpenEXR File Layout" on openexr.com.)
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass, field

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError, MissingDependencyError, RelblurError
from .quiet import quietly
from .reading import Source

__all__ = ["EXR_ABOUT", "EXR_MAGIC", "exr_pixels", "exr_planes"]

EXR_MAGIC = b"\x76\x2f\x31\x01"
#: The attribute in which relblur describes its maps.
EXR_ABOUT = "relblur"

_TILED, _DEEP, _MULTIPART = 0x200, 0x800, 0x1000

#: Scan lines in a chunk, by compression: none, RLE, ZIPS, ZIP, PIZ, PXR24, B44, B44A, DWAA, DWAB.
_LINES = (1, 1, 1, 16, 32, 16, 32, 32, 32, 256)
_LOSSY = range(5, 10)

#: Attributes beside the picture hold previews and camera data.
_MOST_HEADER_BYTES = 5_000_000
_MOST_PARTS = 64


@dataclass
class _Part:
    """What one part of a file says about itself."""

    attributes: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the data window."""
        left, top, right, bottom = struct.unpack("<4i", self.attributes[b"dataWindow"])
        if right < left or bottom < top:
            raise FileError("its data window is empty")
        return bottom - top + 1, right - left + 1

    @property
    def channels(self) -> int:
        """How many channels there are."""
        count, rest = 0, self.attributes[b"channels"]
        while rest and rest[0]:
            name = rest.index(b"\0")
            count, rest = count + 1, rest[name + 17 :]
        return count

    @property
    def compression(self) -> int:
        return self.attributes[b"compression"][0]

    @property
    def chunks(self) -> int:
        """How many pieces it is cut into, at full size."""
        height, width = self.shape
        tiles = self.attributes.get(b"tiles")
        if tiles is None:
            return math.ceil(height / _LINES[self.compression])
        wide, tall = struct.unpack_from("<2I", tiles)
        if not (0 < wide <= max(width, 1024) and 0 < tall <= max(height, 1024)):
            raise FileError(f"its tiles claim {wide} x {tall} pixels")
        return math.ceil(height / tall) * math.ceil(width / wide)


def exr_pixels(source: Source) -> AnyArray:
    """Return the light in an OpenEXR file: (H, W, 3) or (H, W, 1), float32."""
    planes, _ = exr_planes(source)
    for names in (("R", "G", "B"), ("Y",)):
        if all(name in planes for name in names):
            return np.stack([planes[name] for name in names], axis=2)
    raise FileError(f"{source.path} has the channels {', '.join(planes)[:200]}; relblur takes R, G, B or Y")


def exr_planes(source: Source, free_bytes: int | None = None) -> tuple[dict[str, AnyArray], str]:
    """Return the channels of an OpenEXR file, float32, and what relblur says in its header; "" if nothing.

    Any file may unpack to ``free_bytes``.
    """
    try:
        import OpenEXR
    except ImportError:
        raise MissingDependencyError(
            f"{source.path} is OpenEXR, which needs the OpenEXR package: pip install 'relblur[exr]'"
        ) from None
    source.budget.check_file()
    _check(source, free_bytes)
    # The library opens names: that of the open file where there is one, so that nothing can be swapped.
    name = f"/proc/self/fd/{source.stream.fileno()}"
    try:
        with (
            quietly(),
            OpenEXR.File(name if os.path.exists(name) else os.fspath(source.path), separate_channels=True) as exr,
        ):
            planes = {name: np.asarray(channel.pixels, np.float32) for name, channel in exr.channels().items()}
            about = exr.header().get(EXR_ABOUT, "")
    except Exception as error:
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if "file has 0 parts" in detail or "Unable to run decoder" in detail:  # its words, new and old, for any damage
            detail = "its pixels are damaged or incomplete"
        raise FileError(f"{source.path} is not a readable OpenEXR image: {detail.replace(name, 'it')}") from None
    return planes, about if isinstance(about, str) else ""


def _check(source: Source, free_bytes: int | None) -> None:
    """Refuse a file that claims more than it can hold."""
    try:
        parts, tables = _headers(source)
        shapes = [part.shape for part in parts]
        source.budget.check_pixels(*max(shapes, key=math.prod))
        source.budget.check_pixels(sum(height * width for height, width in shapes), 1)
        chunks = sum(part.chunks for part in parts)
        source.budget.check_segments(chunks)
        unpacked = sum(4 * h * w * max(part.channels, 1) for part, (h, w) in zip(parts, shapes, strict=True))
        packed = _packed_bytes(source, tables, chunks, tiled=b"tiles" in parts[0].attributes, parts=len(parts))
        lossy = any(part.compression in _LOSSY for part in parts)
        source.budget.check_expansion(unpacked, packed, lossy=lossy, free=free_bytes)
    except FileError as error:
        if str(source.path) in str(error):
            raise
        raise FileError(f"{source.path} is not a readable OpenEXR image: {error}") from None
    except RelblurError:
        raise
    except (struct.error, KeyError, ValueError, IndexError):
        raise FileError(f"{source.path} is not a readable OpenEXR image: its header is damaged") from None


def _headers(source: Source) -> tuple[list[_Part], int]:
    """Return the parts of a file and where the tables of their chunks begin."""
    content = source.read(0, _MOST_HEADER_BYTES)
    (flags,) = struct.unpack_from("<I", content, 4)
    if flags & _DEEP:
        raise FileError("it holds deep pixels; flatten it")
    parts, at = [_Part()], 8
    while True:
        end = content.index(b"\0", at)
        name = content[at:end]
        if name:
            kind_end = content.index(b"\0", end + 1)
            (size,) = struct.unpack_from("<i", content, kind_end + 1)
            at = kind_end + 5 + size
            if size < 0 or at > len(content):
                raise FileError("its header is damaged")
            parts[-1].attributes[name] = content[kind_end + 5 : at]
            continue
        at = end + 1
        if not flags & _MULTIPART:
            return parts, at
        if content[at : at + 1] == b"\0":
            return parts, at + 1
        parts.append(_Part())
        if len(parts) > _MOST_PARTS:
            raise FileError(f"it claims more than {_MOST_PARTS} parts")


def _packed_bytes(source: Source, tables: int, chunks: int, *, tiled: bool, parts: int) -> int:
    """Return how many bytes of the file the chunks have; chunks may be named twice."""
    stored = np.frombuffer(source.read(tables, 8 * chunks), "<u8")
    if stored.size < chunks:
        raise FileError("it ends too early")
    before = (4 if parts > 1 else 0) + (16 if tiled else 4)  # the part's number, the place in the picture
    total, reached = 0, 0
    for offset in np.unique(stored).tolist():
        (size,) = struct.unpack("<i", source.read(offset + before, 4).ljust(4, b"\0"))
        end = min(offset + before + 4 + max(size, 0), source.size)
        total += max(0, end - max(offset, reached))
        reached = max(reached, end)
    return total
