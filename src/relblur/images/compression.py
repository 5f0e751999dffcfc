"""Effects of JPEG on the pixels, from the quantisation table of a file or from traces in the pixels.

JPEG rounds the cosine coefficients of blocks of 8 x 8 pixels to multiples of the divisors ``q`` in a table. The
transform preserves energy. The variance of the rounding error is therefore the mean of ``q^2 / 12`` over the table, if
the coefficients are large compared with ``q``. Smaller coefficients become 0, and the error is the coefficient itself.

If a compressed picture is stored again as PNG or as a JPEG of higher quality, its file lacks the first table. The
cosine coefficients ``c`` of its blocks are still close to multiples of ``q``. For coefficients beyond ``q / 2`` (the
others became 0)

    mean of cos(2 pi c / q)

is nearly 1 at the right ``q``, and nearly 0 at every ``q`` in a picture without compression. Several values of ``q``
may have a large mean. The right one has the most coefficients beyond ``q / 2``: its multiples have fewer, and its
fractions have a lower mean. In a cropped picture blocks may begin at any of 64 positions. Regular patterns repeat one
coefficient in every block, so a frequency counts only if several multiples occur.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, FloatArray

__all__ = ["BLOCK", "JpegTable", "find_traces"]

#: Side of a block, px.
BLOCK = 8
#: Divisors for the brightness at quality 50 (ITU-T T.81, annex K).
_AT_50 = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
#: Upper limit of a divisor in the error (levels), and factor of the error: coefficients that larger divisors remove are
#: small. Both were fitted to the errors of five photographs at qualities 50 to 95.
_MOST, _SHARE = 16, 0.8

#: Divisors that are tried. A divisor of 1 leaves no trace, because pixels are rounded to whole levels.
_DIVISORS = np.arange(2, 41)
#: Least mean of the cosines, and least number of coefficients in it: of 113 uncompressed pictures 111 had means of at
#: most 0.33 at all frequencies.
_LEAST_MEAN, _LEAST_COUNT = 0.5, 40
#: Least numbers of multiples of a frequency, of blocks with each of them, and of such frequencies: one of the 113
#: pictures had one such frequency, the others none.
_MULTIPLES, _EACH, _FREQUENCIES = 3, 4, 6
#: Number of sampled blocks, and their number for each position while the position of the blocks is unknown.
_BLOCKS, _FEW_BLOCKS = 3000, 200
#: Brightness of red, green and blue in JPEG (JFIF).
_LUMA = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class JpegTable:
    """The 64 divisors for the brightness."""

    divisors: tuple[int, ...]

    @classmethod
    def of(cls, tables: object) -> JpegTable | None:
        """Return the first of a file's tables; None if it is missing or not valid."""
        first = tables.get(0) if isinstance(tables, dict) else None
        if not isinstance(first, Sequence) or len(first) != 64 or min(first) < 1:
            return None
        return cls(tuple(int(q) for q in first))

    @property
    def quality(self) -> int:
        """The quality, 1 to 100, at which common programs write such a table."""
        ratio = sum(self.divisors) / sum(map(sum, _AT_50))
        return max(1, min(100, round(100 - 50 * ratio if ratio <= 1 else 50 / ratio)))

    @property
    def noise(self) -> float:
        """Standard deviation of the compression error in textured areas, in levels of 255."""
        return _SHARE * math.sqrt(sum(min(q, _MOST) ** 2 for q in self.divisors) / (64 * 12))

    def coarser(self, other: JpegTable) -> JpegTable:
        """Return the larger divisors of two tables: the effect of both."""
        return JpegTable(tuple(map(max, self.divisors, other.divisors)))

    def compressed(self, brightness: FloatArray) -> FloatArray:
        """Compress an (H, W) brightness in levels of 255, with blocks from its upper left corner."""
        from PIL import Image

        stream = io.BytesIO()
        picture = Image.fromarray(np.rint(brightness).clip(0, 255).astype(np.uint8))
        picture.save(stream, "JPEG", qtables=[list(self.divisors)])
        return np.asarray(Image.open(stream), np.float64)


def find_traces(values: AnyArray) -> tuple[JpegTable, tuple[int, int]] | None:
    """Return the table of an earlier compression of a picture of bytes, and the row and column where its blocks begin.

    The picture is (H, W) or (H, W, 3). None without traces of compression.
    """
    if values.dtype != np.uint8:
        return None
    corner = (0, 0)
    traced = _divisors(_coefficients(values))
    if traced is None:
        corner = _likely_corner(values)
        traced = _divisors(_coefficients(values[corner[0] :, corner[1] :]))
    if traced is None:
        return None
    # Divisors without a trace come from the usual table, scaled to the others.
    usual, is_traced = np.array(_AT_50, np.float64), traced > 0
    scale = float(np.median(traced[is_traced] / usual[is_traced]))
    divisors = np.where(is_traced, traced, np.maximum(np.rint(scale * usual), 1))
    return JpegTable(tuple(int(q) for q in divisors.ravel())), corner


def _likely_corner(values: AnyArray) -> tuple[int, int]:
    """Return the row and column at which low frequencies are closest to multiples of a divisor."""
    evidence = np.zeros((BLOCK, BLOCK))
    for row, column in np.ndindex(BLOCK, BLOCK):
        coefficients = _coefficients(values[row:, column:], _FEW_BLOCKS)
        for size in (np.abs(coefficients[:, *place]) for place in ((0, 1), (1, 0), (1, 1))):
            evidence[row, column] += _best_divisor(size)[1]
    row, column = np.unravel_index(np.argmax(evidence), evidence.shape)
    return int(row), int(column)


def _coefficients(values: AnyArray, most: int = _BLOCKS) -> FloatArray:
    """Return the cosine coefficients of sampled blocks, (blocks, 8, 8), without blocks that contain 0 or 255."""
    from scipy.fft import dctn

    rows, columns = values.shape[0] // BLOCK, values.shape[1] // BLOCK
    if not rows * columns:
        return np.zeros((0, BLOCK, BLOCK))
    chosen = np.unique(np.linspace(0, rows * columns - 1, min(most, rows * columns)).astype(int))
    inner = values[: rows * BLOCK, : columns * BLOCK]
    blocks = inner.reshape(rows, BLOCK, columns, BLOCK, -1).swapaxes(1, 2)[chosen // columns, chosen % columns]
    inside = (blocks.min(axis=(1, 2, 3)) > 0) & (blocks.max(axis=(1, 2, 3)) < 255)
    blocks = blocks[inside].astype(np.float64)
    brightness = blocks @ _LUMA if blocks.shape[3] == 3 else blocks[..., 0]
    return np.asarray(dctn(brightness, axes=(1, 2), norm="ortho"))


def _divisors(coefficients: FloatArray) -> FloatArray | None:
    """Return the divisors of all frequencies, 0 where there is no trace; None if too few have one."""
    divisors = np.zeros((BLOCK, BLOCK))
    count = 0
    for place in np.ndindex(BLOCK, BLOCK):
        if place != (0, 0):  # the mean brightness has too fine steps
            divisors[place], is_rounded = _divisor(coefficients[:, *place])
            count += is_rounded
    return divisors if count >= _FREQUENCIES else None


def _divisor(values: FloatArray) -> tuple[float, bool]:
    """Return the divisor that rounded the values (0: none), and whether several multiples of it occur."""
    size = np.abs(values)
    best, _ = _best_divisor(size)
    if not best:
        return 0.0, False
    multiples = np.bincount(np.minimum(np.rint(size / best), _MULTIPLES + 1).astype(int))[1 : _MULTIPLES + 1]
    return best, len(multiples) == _MULTIPLES and bool((multiples >= _EACH).all())


def _best_divisor(size: FloatArray) -> tuple[float, float]:
    """Return the divisor with the most evidence (0: none) for the sizes of coefficients, and its evidence."""
    best, most = 0.0, 0.0
    for q in _DIVISORS:
        beyond = size[size > q / 2]
        if len(beyond) < _LEAST_COUNT:
            break
        mean = float(np.cos(2 * np.pi * beyond / q).mean())
        if mean > _LEAST_MEAN and mean * np.sqrt(len(beyond)) > most:
            best, most = float(q), mean * float(np.sqrt(len(beyond)))
    return best, most
