"""Formats that are hardly packed: PGM and PPM to pixels, and how many bytes a GIF's first picture has."""

from __future__ import annotations

import re

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError
from .reading import Source

__all__ = ["PNM_MAGIC", "gif_packed_bytes", "pnm_pixels"]

PNM_MAGIC = (b"P5", b"P6")

#: Two letters, width, height and the largest value, with comments between them, then one blank.
_BETWEEN = rb"(?:\s|#[^\n]*\n)+"
_PNM_HEAD = re.compile(_BETWEEN.join((rb"(P[56])", rb"(\d{1,9})", rb"(\d{1,9})", rb"(\d{1,5})")) + rb"\s")
_MOST_HEAD_BYTES = 10_000


def pnm_pixels(source: Source) -> AnyArray:
    """Return a binary PGM or PPM as integers of full scale: (H, W) or (H, W, 3)."""
    head = _PNM_HEAD.match(source.read(0, _MOST_HEAD_BYTES))
    if head is None:
        raise FileError(f"{source.path} is damaged or incomplete: its head is no PGM's or PPM's")
    channels = 3 if head[1] == b"P6" else 1
    width, height, largest = (int(number) for number in head.groups()[1:])
    source.budget.check_pixels(height, width)
    if min(width, height) < 1 or not 0 < largest < 65536:
        raise FileError(f"{source.path} claims {width} x {height} pixels of values up to {largest}")
    dtype = np.dtype(">u2" if largest > 255 else "u1")
    size = width * height * channels * dtype.itemsize
    content = source.read(head.end(), size)
    if len(content) < size:
        raise FileError(f"{source.path} is damaged or incomplete: it ends {size - len(content)} bytes too early")
    values = np.frombuffer(content, dtype).reshape((height, width) if channels == 1 else (height, width, 3))
    top = 255 if largest <= 255 else 65535
    if largest != top:  # light in parts of the largest value
        values = np.rint(values.clip(max=largest) * (top / largest))
    return values.astype(np.uint8 if top == 255 else np.uint16)


def gif_packed_bytes(content: bytes) -> int:
    """Return how many bytes the first picture of a GIF is packed in (GIF89a, sections 18 to 23)."""
    at = 13 + (3 << (content[10] & 7) + 1 if content[10] & 0x80 else 0)
    while content[at : at + 1] == b"!":  # extensions: comments, times
        at = _after_blocks(content, at + 2)[0]
    if content[at : at + 1] != b",":
        return 0
    colours = content[at + 9] if at + 9 < len(content) else 0
    at += 11 + (3 << (colours & 7) + 1 if colours & 0x80 else 0)
    return _after_blocks(content, at)[1]


def _after_blocks(content: bytes, at: int) -> tuple[int, int]:
    """Return the place after a chain of blocks, and how many bytes they hold."""
    total = 0
    while at < len(content) and content[at]:
        total, at = total + content[at], at + 1 + content[at]
    return at + 1, total
