"""What the first page of a TIFF file says about itself (TIFF 6.0, BigTIFF), read with limits.

Only the tags that tell how to unpack the picture are read, wherever a file puts them and however many others it has.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..base.errors import FileError
from .budget import MOST_SEGMENTS
from .reading import Source

__all__ = ["TIFF_MAGIC", "Page", "read_first_page", "read_page"]

TIFF_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

#: NumPy's names for TIFF's kinds of integers; all other kinds are kept as bytes.
_INTEGERS = {1: "u1", 3: "u2", 4: "u4", 6: "i1", 8: "i2", 9: "i4", 13: "u4", 16: "u8", 17: "i8", 18: "u8"}
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}

#: A tag has at most an entry for every piece of the picture, or an ICC profile (printers' have some megabytes).
_MOST_TAG_BYTES = max(20_000_000, 8 * MOST_SEGMENTS)
_MOST_TAGS = 65535

#: Pages are only counted, and not for ever.
_MOST_PAGES = 1000

_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC = 256, 257, 258, 259, 262
_STRIP_OFFSETS, _ORIENTATION, _SAMPLES, _ROWS, _STRIP_BYTES = 273, 274, 277, 278, 279
_PLANAR, _PREDICTOR, _COLOUR_MAP, _TILE_WIDTH, _TILE_HEIGHT = 284, 317, 320, 322, 323
_TILE_OFFSETS, _TILE_BYTES, _INK_SET, _FORMAT, _DEPTH, _PROFILE = 324, 325, 332, 339, 32997, 34675
_DESCRIPTION = 270

#: Tags that go to the decoders of fax and JPEG as they are: fill order, fax options, JPEG tables, YCbCr subsampling.
FILL_ORDER = 266
DECODER_TAGS = (FILL_ORDER, 292, 293, 347, 530)

_WANTED = {
    _WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC, _STRIP_OFFSETS, _ORIENTATION, _SAMPLES, _ROWS, _STRIP_BYTES,
    _PLANAR, _PREDICTOR, _COLOUR_MAP, _TILE_WIDTH, _TILE_HEIGHT, _TILE_OFFSETS, _TILE_BYTES, _INK_SET, _FORMAT, _DEPTH,
    _PROFILE, _DESCRIPTION, *DECODER_TAGS,
}  # fmt: skip


@dataclass(frozen=True)
class Page:
    """The tags of a page, integers as arrays and everything else as bytes."""

    source: Source
    order: Literal["<", ">"]
    tags: Mapping[int, np.ndarray | bytes]
    pages: int  #: how many the file has, counted up to a limit

    def number(self, tag: int, default: int | None = None) -> int:
        """Return a tag that is one number."""
        value = self.tags.get(tag)
        if isinstance(value, np.ndarray) and value.size:
            return int(value[0])
        if default is None:
            raise FileError(f"{self.source.path} is not a readable TIFF: tag {tag} is missing")
        return default

    def numbers(self, tag: int) -> list[int]:
        """Return a tag that is a list of numbers; empty if there is none."""
        value = self.tags.get(tag)
        return [int(n) for n in value] if isinstance(value, np.ndarray) else []

    @cached_property
    def height(self) -> int:
        """Rows."""
        return self.number(_HEIGHT)

    @cached_property
    def width(self) -> int:
        """Columns."""
        return self.number(_WIDTH)

    @cached_property
    def samples(self) -> int:
        """Values per pixel."""
        return self.number(_SAMPLES, 1)

    @cached_property
    def bits(self) -> int:
        """Bits of a value; 0 if they differ between samples."""
        found = set(self.numbers(_BITS) or [1])
        return found.pop() if len(found) == 1 else 0

    @cached_property
    def kind(self) -> int:
        """What a value is: 1 unsigned, 2 signed, 3 float, 5 and 6 complex; 0 if that differs between samples."""
        found = {1 if kind == 4 else kind for kind in self.numbers(_FORMAT) or [1]}  # 4: the writer did not know
        return found.pop() if len(found) == 1 else 0

    @cached_property
    def compression(self) -> int:
        """How the pieces are packed."""
        return self.number(_COMPRESSION, 1)

    @cached_property
    def photometric(self) -> int:
        """What the values mean."""
        return self.number(_PHOTOMETRIC, 2 if self.samples >= 3 else 1)

    @cached_property
    def separate_planes(self) -> bool:
        """Each sample has pieces of its own."""
        return self.number(_PLANAR, 1) == 2 and self.samples > 1

    @cached_property
    def predictor(self) -> int:
        """1: none, 2: differences along a row, 3: the same for floats."""
        return self.number(_PREDICTOR, 1)

    @cached_property
    def tiled(self) -> bool:
        """Tiles rather than strips."""
        return _TILE_WIDTH in self.tags

    @cached_property
    def piece(self) -> tuple[int, int]:
        """Height and width of a strip or a tile."""
        if self.tiled:
            return self.number(_TILE_HEIGHT), self.number(_TILE_WIDTH)
        return min(self.number(_ROWS, self.height), self.height), self.width

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Where each piece begins in the file, and how many bytes it has."""
        offsets = self.numbers(_TILE_OFFSETS if self.tiled else _STRIP_OFFSETS)
        counts = self.numbers(_TILE_BYTES if self.tiled else _STRIP_BYTES)
        if len(offsets) != len(counts):
            raise FileError(f"{self.source.path} is not a readable TIFF: its lists of pieces differ in length")
        return list(zip(offsets, counts, strict=True))

    def with_strips(self, rows: int, places: list[tuple[int, int]]) -> Page:
        """Return the page with its rows cut into other strips."""
        offsets, counts = np.array(places, np.uint64).T
        cut = {_ROWS: np.array([rows]), _STRIP_OFFSETS: offsets, _STRIP_BYTES: counts}
        return replace(self, tags={**self.tags, **cut})

    @cached_property
    def orientation(self) -> int:
        """How the picture lies, as in EXIF."""
        return self.number(_ORIENTATION, 1)

    @cached_property
    def profile(self) -> bytes | None:
        """The ICC profile."""
        value = self.tags.get(_PROFILE)
        return value.tobytes() if isinstance(value, np.ndarray) else value

    @cached_property
    def description(self) -> str:
        """What the writer says about the picture."""
        value = self.tags.get(_DESCRIPTION, b"")
        return value.rstrip(b"\0").decode(errors="replace") if isinstance(value, bytes) else ""

    @cached_property
    def colours(self) -> np.ndarray:
        """The palette as 8-bit (N, 3)."""
        stored = np.array(self.numbers(_COLOUR_MAP), np.uint16)
        if self.bits > 8 or stored.size != 3 << self.bits:
            raise FileError(f"{self.source.path} is not a readable TIFF: its palette does not fit its {self.bits} bits")
        if stored.max() > 255:  # some writers store 8 bits
            stored >>= 8
        return np.ascontiguousarray(stored.reshape(3, -1).T).astype(np.uint8)

    @cached_property
    def is_plain_volume(self) -> bool:
        """One picture and the usual inks: no stack in depth, no inks of its own."""
        return self.number(_DEPTH, 1) == 1 and self.number(_INK_SET, 1) == 1


def read_first_page(source: Source) -> Page:
    """Return the first page of a TIFF file."""
    return read_page(source, 0)


def read_page(source: Source, number: int) -> Page:
    """Return a page of a TIFF file, counted from 0."""
    start = source.read(0, 16)
    order: Literal["<", ">"] = "<" if start[:2] == b"II" else ">"
    big = start[2:4] in (b"+\0", b"\0+")
    try:
        first = struct.unpack_from(f"{order}Q", start, 8)[0] if big else struct.unpack_from(f"{order}I", start, 4)[0]
        tags, following = _read_list(source, order, big, first)
        for _ in range(number):
            if following == 0:
                raise FileError(f"{source.path} has no page {number + 1}")
            first = following
            tags, following = _read_list(source, order, big, first)
    except struct.error:
        raise FileError(f"{source.path} is not a readable TIFF: it ends too early") from None
    return Page(source, order, tags, _count_pages(source, order, big, (first, following)))


def _read_list(source: Source, order: str, big: bool, offset: int) -> tuple[dict[int, np.ndarray | bytes], int]:
    """Return the wanted tags of the list at an offset, and the offset of the next list."""
    entry, inline = (20, 8) if big else (12, 4)
    count, head = _entries(source, order, big, offset)
    table = source.read(offset + head, count * entry + inline)
    tags: dict[int, np.ndarray | bytes] = {}
    for index in range(count):
        tag, kind, length = struct.unpack_from(f"{order}HH{'Q' if big else 'I'}", table, index * entry)
        size = _SIZES.get(kind, 0) * length
        if tag not in _WANTED or size == 0:
            continue
        if size > _MOST_TAG_BYTES:
            raise FileError(f"{source.path} is not a readable TIFF: tag {tag} claims {size} bytes")
        at = index * entry + entry - inline
        if size <= inline:
            content = table[at : at + size]
        else:
            content = source.read(struct.unpack_from(f"{order}{'Q' if big else 'I'}", table, at)[0], size)
        if len(content) < size:
            raise FileError(f"{source.path} is not a readable TIFF: tag {tag} reaches beyond the file")
        tags[tag] = np.frombuffer(content, order + _INTEGERS[kind]) if kind in _INTEGERS else content
    return tags, struct.unpack_from(f"{order}{'Q' if big else 'I'}", table, count * entry)[0]


def _entries(source: Source, order: str, big: bool, offset: int) -> tuple[int, int]:
    """Return how many tags the list at an offset has, and the bytes of that number."""
    head = 8 if big else 2
    (count,) = struct.unpack(f"{order}{'Q' if big else 'H'}", source.read(offset, head))
    if not 0 < count <= _MOST_TAGS:
        raise FileError(f"{source.path} is not a readable TIFF: a page claims {count} tags")
    return count, head


def _count_pages(source: Source, order: str, big: bool, offsets: tuple[int, int]) -> int:
    seen, offset = {offsets[0]}, offsets[1]
    entry, inline = (20, 8) if big else (12, 4)
    while offset and offset not in seen and len(seen) < _MOST_PAGES:
        try:
            count, head = _entries(source, order, big, offset)
            link = source.read(offset + head + count * entry, inline)
            following = struct.unpack(f"{order}{'Q' if big else 'I'}", link)[0]
        except (struct.error, FileError):  # a page that is not there
            break
        seen.add(offset)
        offset = following
    return len(seen)
