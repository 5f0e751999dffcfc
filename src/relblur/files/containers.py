"""Where PNG, JPEG and WebP files keep their pixels, and in how many bytes.

Only these bytes count when a picture is compared with what it came from: text, profiles and padding do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..base.errors import FileError
from .budget import MOST_WHOLE_BYTES
from .reading import Source

__all__ = ["PNG_MAGIC", "WebP", "jpeg_content", "png_content", "webp_parts"]

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"

#: PNG chunks beside the pixels (profiles, EXIF, text), and how many; libpng writes pixels by 8192 bytes.
_MOST_CHUNK_BYTES = 20_000_000
_MOST_CHUNKS, _LEAST_MEAN_BYTES = 2000, 1000

#: Progressive JPEG in use has ten scans; each costs as much as a whole picture.
_MOST_SCANS = 40

#: Tables, EXIF, previews and profiles are cut into pieces of 64 kB.
_MOST_JPEG_SEGMENTS = 5000
_MOST_SKIPPED = 100_000

#: The end of a scan: a marker that is neither filling, nor a byte 255 among the data, nor a place to start again.
_JPEG_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")


@dataclass(frozen=True)
class WebP:
    """A WebP file: its content, size (height, width), the bytes of its pixels, and what is said about them."""

    content: bytes
    size: tuple[int, int]
    packed_bytes: int
    profile: bytes | None
    exif: bytes


def png_content(source: Source) -> tuple[bytes, int]:
    """Return a PNG as far as its end, and how many bytes its pixels are packed in."""
    at, chunks, packed, kind = 8, 0, 0, b""
    while at < source.size and kind != b"IEND":
        head = source.read(at, 8)
        length, kind = int.from_bytes(head[:4], "big"), head[4:]
        at, chunks = min(at + 12 + length, source.size), chunks + 1
        if kind in (b"IDAT", b"fdAT"):
            packed += length
        elif length > _MOST_CHUNK_BYTES:
            raise FileError(f"{source.path} is damaged or incomplete: a PNG chunk claims {length} bytes")
        if chunks > _MOST_CHUNKS + packed // _LEAST_MEAN_BYTES:
            raise FileError(
                f"{source.path} is cut into more than {_MOST_CHUNKS} chunks of hardly any pixels; save it anew"
            )
    source.budget.check_file(MOST_WHOLE_BYTES + source.size - at)  # what follows the end is not read
    return source.read(0, at), min(packed, at)


def jpeg_content(source: Source) -> tuple[bytes, int]:
    """Return a JPEG and how many bytes its scans have; one of very many scans is refused."""
    content = source.whole()
    at, packed, scans, segments, skipped = 2, 0, 0, 0, 0
    while (marker := _JPEG_MARKER.search(content, at)) and content[marker.start() + 1] != 0xD9:
        skipped, at = skipped + marker.start() - at, marker.start()
        scan, segments = content[at + 1] == 0xDA, segments + 1
        at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
        if scan:
            scans += 1
            following = _JPEG_MARKER.search(content, at)
            end = following.start() if following else len(content)
            packed, at = packed + max(0, end - at), end
        if scans > _MOST_SCANS or segments > _MOST_JPEG_SEGMENTS or skipped > _MOST_SKIPPED:
            raise FileError(
                f"{source.path} is damaged or incomplete: it has {scans} scans, {segments} segments, and {skipped} "
                "bytes of neither"
            )
    return content, packed


def webp_parts(source: Source) -> WebP:
    """Return what a WebP file says about itself (RFC 9649)."""
    length = 8 + int.from_bytes(source.read(4, 4), "little")
    content = source.read(0, min(length, MOST_WHOLE_BYTES))
    parts: dict[bytes, bytes] = {}
    at, packed = 12, 0
    while at + 8 <= len(content):
        kind, length = content[at : at + 4], int.from_bytes(content[at + 4 : at + 8], "little")
        if kind in (b"VP8 ", b"VP8L", b"ALPH", b"ANMF"):
            packed += min(length, len(content) - at)
        parts.setdefault(kind, content[at + 8 : at + 8 + min(length, _MOST_CHUNK_BYTES)])
        at += 8 + length + length % 2
    return WebP(content, _webp_size(parts), packed, parts.get(b"ICCP"), parts.get(b"EXIF", b""))


def _webp_size(parts: dict[bytes, bytes]) -> tuple[int, int]:
    """Return height and width: the larger of the canvas and the picture."""
    sizes = [(0, 0)]
    if canvas := parts.get(b"VP8X"):
        sizes.append((int.from_bytes(canvas[7:10], "little") + 1, int.from_bytes(canvas[4:7], "little") + 1))
    if lossy := parts.get(b"VP8 "):
        sizes.append((int.from_bytes(lossy[8:10], "little") & 0x3FFF, int.from_bytes(lossy[6:8], "little") & 0x3FFF))
    if lossless := parts.get(b"VP8L"):
        bits = int.from_bytes(lossless[1:5], "little")
        sizes.append(((bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1))
    return max(height for height, _ in sizes), max(width for _, width in sizes)
