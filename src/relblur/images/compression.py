"""What JPEG has done to the pixels, from the quantisation table that the file carries.

JPEG rounds the cosine coefficients of blocks of 8 x 8 pixels to multiples of the table's entries.  The transform keeps
energy, so the mean of ``q^2 / 12`` over the table is the variance of what rounding adds, as long as coefficients are
large against ``q``.  Those that are not become 0, and the error is the coefficient itself: it is bounded by what
photographs have at such frequencies.

The table says not only how much changes but what: :meth:`JpegTable.compressed` does it again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base._typing import FloatArray

__all__ = ["BLOCK", "JpegTable", "cosines", "usual_divisors"]

#: Side of a block, px.
BLOCK = 8
#: The table of brightness that quality 50 stands for (ITU-T T.81, annex K).
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
#: Coefficients that coarser steps remove are about as large as a step of this many levels would leave, and the errors
#: so counted too large by this factor.  Both were chosen on the real errors of five photographs, qualities 50 to 95.
_MOST, _SHARE = 16, 0.8


@dataclass(frozen=True)
class JpegTable:
    """The 64 divisors of the brightness."""

    divisors: tuple[int, ...]

    @classmethod
    def of(cls, tables: object) -> JpegTable | None:
        """Return the first of a file's tables, None if it has none that is one."""
        first = tables.get(0) if isinstance(tables, dict) else None
        if not isinstance(first, Sequence) or len(first) != 64 or min(first) < 1:
            return None
        return cls(tuple(int(q) for q in first))

    @property
    def quality(self) -> int:
        """The setting, 1 to 100, at which usual programs write such a table."""
        ratio = sum(self.divisors) / sum(map(sum, _AT_50))
        return max(1, min(100, round(100 - 50 * ratio if ratio <= 1 else 50 / ratio)))

    @property
    def noise(self) -> float:
        """Standard deviation of what compression has changed in textured places, in levels of 255."""
        return _SHARE * math.sqrt(sum(min(q, _MOST) ** 2 for q in self.divisors) / (64 * 12))

    def coarser(self, other: JpegTable) -> JpegTable:
        """Return the larger divisors of two tables: what is left after both."""
        return JpegTable(tuple(map(max, self.divisors, other.divisors)))

    def compressed(self, brightness: FloatArray) -> FloatArray:
        """Return what is left of an (H, W) brightness in levels of 255, whose blocks begin in its first corner."""
        height, width = brightness.shape
        rows, columns = (-(-n // BLOCK) for n in brightness.shape)
        whole = np.pad(brightness - 128, ((0, rows * BLOCK - height), (0, columns * BLOCK - width)), mode="edge")
        blocks = whole.reshape(rows, BLOCK, columns, BLOCK).swapaxes(1, 2)
        divisors = np.reshape(self.divisors, (BLOCK, BLOCK))
        coefficients = np.rint(cosines() @ blocks @ cosines().T / divisors) * divisors
        kept = (cosines().T @ coefficients @ cosines()).swapaxes(1, 2).reshape(whole.shape)
        return np.asarray(np.clip(np.rint(kept[:height, :width] + 128), 0, 255))


@functools.cache
def cosines() -> FloatArray:
    """Return the orthonormal cosine transform of a block's side."""
    frequency, place = np.mgrid[:BLOCK, :BLOCK]
    rows = np.sqrt(2 / BLOCK) * np.cos(np.pi * (2 * place + 1) * frequency / (2 * BLOCK))
    rows[0] /= np.sqrt(2)
    return np.asarray(rows)


def usual_divisors() -> FloatArray:
    """Return the divisors (8, 8) that quality 50 stands for."""
    return np.array(_AT_50, np.float64)
