"""Pictures in files made of boxes, HEIC, AVIF and JPEG 2000: how large they are and in how many bytes they are packed.

Only what has to be known before a decoder is let loose is read (ISO/IEC 14496-12 and 23008-12, ITU-T T.800).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ..base.errors import FileError
from .reading import Source

__all__ = [
    "CODESTREAM_MAGIC",
    "JP2_MAGIC",
    "Codestream",
    "HeifParts",
    "brands_of",
    "heif_parts",
    "is_avif",
    "is_heic",
    "jpeg_2000_codestream",
]

JP2_MAGIC = b"\0\0\0\x0cjP  \r\n\x87\n"
CODESTREAM_MAGIC = b"\xff\x4f\xff\x51"

#: Brands of pictures; anything else that begins in this way is a video.
HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
AVIF_BRANDS = (b"avif", b"avis")

#: Boxes beside each other, and bytes that describe a picture; phones write some hundred tiles and thumbnails.
_MOST_BOXES, _MOST_META_BYTES = 20_000, 20_000_000


@dataclass(frozen=True)
class HeifParts:
    """A HEIC or AVIF file: its content, size (height, width), the bytes of its pixels, and the number of its curve."""

    content: bytes
    size: tuple[int, int]
    packed_bytes: int
    transfer: int | None  #: ITU-T H.273: 1 and 6 video, 8 linear, 13 sRGB, 16 PQ, 18 HLG


@dataclass(frozen=True)
class Codestream:
    """What a JPEG 2000 codestream says about itself."""

    size: tuple[int, int]
    components: int
    bits: int
    tiles: int
    packed_bytes: int
    lossy: bool


def brands_of(start: bytes) -> tuple[bytes, ...] | None:
    """Return what a file calls itself, from its first bytes; None if it is not made of boxes."""
    if start[4:8] != b"ftyp":
        return None
    length = min(int.from_bytes(start[:4], "big"), len(start))
    return (start[8:12], *(start[at : at + 4] for at in range(16, length - 3, 4)))


def is_avif(brands: tuple[bytes, ...]) -> bool:
    """Tell whether a file of these brands is AVIF."""
    return any(brand in AVIF_BRANDS for brand in brands)


def is_heic(brands: tuple[bytes, ...]) -> bool:
    """Tell whether a file of these brands is HEIC, or another HEIF."""
    return any(brand in HEIC_BRANDS for brand in brands)


def heif_parts(source: Source) -> HeifParts:
    """Return what a HEIC or AVIF file says about its pictures: the largest size, and the bytes of all."""
    content = source.whole()
    try:
        meta = next((box for box in _boxes(content, 0, len(content)) if box[0] == b"meta"), None)
        if meta is None or meta[2] - meta[1] > _MOST_META_BYTES:
            raise FileError(f"{source.path} is damaged or incomplete: nothing in it describes a picture")
        inside = {kind: (start, end) for kind, start, end in _boxes(content, meta[1] + 4, meta[2])}
        sizes, transfer = _properties(content, *inside[b"iprp"])
        packed = _packed_bytes(content, *inside[b"iloc"], source)
    except (KeyError, struct.error, ValueError, IndexError):
        raise FileError(f"{source.path} is damaged or incomplete: its description is cut off") from None
    if not sizes:
        raise FileError(f"{source.path} is damaged or incomplete: it does not say how large its picture is")
    return HeifParts(content, (max(h for h, _ in sizes), max(w for _, w in sizes)), packed, transfer)


def _boxes(content: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield kind, begin and end of the boxes between two places."""
    for _ in range(_MOST_BOXES):
        if start + 8 > end:
            return
        length, kind = struct.unpack_from(">I4s", content, start)
        head = 8
        if length == 1:
            (length,), head = struct.unpack_from(">Q", content, start + 8), 16
        elif length == 0:
            length = end - start
        if length < head:
            raise ValueError("a box is shorter than its head")
        yield kind, start + head, min(start + length, end)
        start += length
    raise ValueError("too many boxes")


def _properties(content: bytes, start: int, end: int) -> tuple[list[tuple[int, int]], int | None]:
    """Return the sizes (height, width) that there are, and the number of the tone curve."""
    sizes, transfer = [], None
    for kind, begin, stop in _boxes(content, start, end):
        if kind != b"ipco":
            continue
        for name, at, _ in _boxes(content, begin, stop):
            if name == b"ispe":
                width, height = struct.unpack_from(">2I", content, at + 4)
                sizes.append((height, width))
            elif name == b"colr" and content[at : at + 4] == b"nclx":
                (transfer,) = struct.unpack_from(">H", content, at + 6)
    return sizes, transfer


def _packed_bytes(content: bytes, start: int, end: int, source: Source) -> int:
    """Return how many bytes of the file the items have; they may share them."""
    version = content[start]
    sizes = content[start + 4 : start + 6]
    offset_size, length_size, base_size = sizes[0] >> 4, sizes[0] & 15, sizes[1] >> 4
    index_size = sizes[1] & 15 if version in (1, 2) else 0
    wide = 4 if version == 2 else 2
    at = start + 6 + wide
    items = int.from_bytes(content[start + 6 : at], "big")
    source.budget.check_segments(items)
    extents: list[tuple[int, int]] = []

    def number(size: int) -> int:
        nonlocal at
        if at + size > end:
            raise ValueError("a list is cut off")
        value, at = int.from_bytes(content[at : at + size], "big"), at + size
        return value

    for _ in range(items):
        number(wide + (2 if version in (1, 2) else 0) + 2)
        base, count = number(base_size), number(2)
        for _ in range(count):
            number(index_size)
            extents.append((base + number(offset_size), number(length_size)))
        source.budget.check_segments(len(extents))
    total = reached = 0
    for offset, length in sorted(extents):
        stop = min(offset + length, len(content))
        total, reached = total + max(0, stop - max(offset, reached)), max(reached, stop)
    return total


def jpeg_2000_codestream(source: Source) -> tuple[bytes, Codestream]:
    """Return a JPEG 2000 file and what its codestream says, wherever in the file it is."""
    content = source.whole()
    try:
        start, end = 0, len(content)
        if not content.startswith(CODESTREAM_MAGIC):
            start, end = next((a, b) for kind, a, b in _boxes(content, 0, end) if kind == b"jp2c")
        if content[start : start + 4] != CODESTREAM_MAGIC:
            raise ValueError("no codestream")
        right, bottom, left, top, wide, tall, tile_x, tile_y, components = struct.unpack_from(
            ">8IH", content, start + 8
        )
        bits = max(1 + (content[start + 42 + 3 * c] & 0x7F) for c in range(components))
        tiles = -(-(right - tile_x) // wide) * -(-(bottom - tile_y) // tall)
        lossy = _is_irreversible(content, start + 2, end)
    except (StopIteration, struct.error, ValueError, IndexError, ZeroDivisionError):
        raise FileError(f"{source.path} is damaged or incomplete: its JPEG 2000 codestream is cut off") from None
    return content, Codestream((bottom - top, right - left), components, bits, tiles, end - start, lossy)


def _is_irreversible(content: bytes, at: int, end: int) -> bool:
    """Tell whether the wavelets of the main header lose something."""
    while at + 4 <= end:
        marker, length = struct.unpack_from(">2H", content, at)
        if marker == 0xFF52:  # coding style: the last of its fields is the transform
            return content[at + 13] == 0
        if marker == 0xFF90 or length < 2:
            break
        at += 2 + length
    raise ValueError("no coding style")
