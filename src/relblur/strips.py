"""Large images in bounded memory: horizontal strips that see as far as they need to.

A strip carries ``reach`` extra rows on either side, so what is computed inside does not
depend on where the image was cut: the result equals that of the whole image but for the
last digits of running sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ._typing import FloatArray

__all__ = ["Strip", "cut_into_strips"]

#: A strip's working set stays below about this many bytes.
STRIP_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Strip:
    """Rows ``rows`` of an image, with a mirrored surrounding of ``reach`` pixels."""

    rows: slice
    images: tuple[FloatArray, ...]


def cut_into_strips(images: tuple[FloatArray, ...], reach: int, planes: int) -> Iterator[Strip]:
    """Yield strips of several equally large (H, W, ...) images.

    Parameters
    ----------
    images
        Arrays with common rows and columns.
    reach
        Pixels needed around a pixel; beyond the border images are mirrored ("reflect").
    planes
        float64 planes of the strip's size that will be alive at once.
    """
    height, width = images[0].shape[:2]
    row_bytes = 8 * planes * (width + 2 * reach)
    rows = max(16, STRIP_BYTES // row_bytes - 2 * reach)
    padded = [np.pad(i, ((reach, reach), (reach, reach), *[(0, 0)] * (i.ndim - 2)), mode="symmetric") for i in images]
    for top in range(0, height, rows):
        bottom = min(top + rows, height)
        yield Strip(slice(top, bottom), tuple(p[top : bottom + 2 * reach] for p in padded))
