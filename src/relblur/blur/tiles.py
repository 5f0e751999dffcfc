"""Large images in bounded memory: tiles that see as far as they need to.

A tile carries a margin on every side, as wide as what is computed inside depends on. Filters
whose sums are made anew at each pixel (:mod:`relblur.engines`) then give the same bits wherever
the image was cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..filters.borders import mirrored

__all__ = ["Region", "Tile", "blend_weights", "cut_into_tiles", "padded_tiles"]

#: The working set of one padded tile stays below about this many bytes.
WORKING_BYTES = 256 * 2**20

#: Tiles are cut on this grid, px. It is a multiple of the blocks in which ``method="refined"``
#: pools (24, 48 and 96 px; 2, 8 and 32 px), so that they fall on the same pixels.
GRID = 96

Region = tuple[slice, slice]


@dataclass(frozen=True)
class Tile:
    """A rectangle of an image (``core``) and the larger one it is computed from (``outer``).

    The cores of an image's tiles cover it once; at the image's border the two coincide.
    """

    core: Region
    outer: Region

    @property
    def inside(self) -> Region:
        """The core, counted from the corner of the outer rectangle."""
        pairs = zip(self.core, self.outer, strict=True)
        rows, columns = (slice(c.start - o.start, c.stop - o.start) for c, o in pairs)
        return rows, columns


def cut_into_tiles(shape: tuple[int, int], side: int, margin: int) -> list[Tile]:
    """Cut an image into tiles of about ``side`` px with at least ``margin`` px around them.

    Both are rounded to the grid, the margin upwards. An image that is no larger than a tile
    with its margins stays whole.
    """
    side, margin = max(GRID, side - side % GRID), -(-margin // GRID) * GRID
    rows, columns = (_spans(length, side, margin) for length in shape)
    return [Tile((r[0], c[0]), (r[1], c[1])) for r in rows for c in columns]


def _spans(length: int, side: int, margin: int) -> list[tuple[slice, slice]]:
    if length <= side + 2 * margin:
        return [(slice(0, length), slice(0, length))]
    # As many cores as needed, of equal size but for the grid: no sliver is left at the end.
    count = math.ceil(length / side)
    size = math.ceil(length / count / GRID) * GRID
    starts = range(0, length, size)
    return [
        (
            slice(start, min(start + size, length)),
            slice(max(start - margin, 0), min(start + size + margin, length)),
        )
        for start in starts
    ]


def blend_weights(tile: Tile, shape: tuple[int, int], width: int) -> FloatArray:
    """Weights over a tile's outer rectangle that sum to 1 over all tiles of an image.

    They fall from 1 to 0 within ``width`` px on either side of the core's border, and stay 1
    up to the border of the image.
    """
    ramps = []
    for core, outer, length in zip(tile.core, tile.outer, shape, strict=True):
        place = np.arange(outer.start, outer.stop) + 0.5
        ramp = np.ones(place.size)
        if core.start > 0:
            ramp *= ((place - core.start) / (2 * width) + 0.5).clip(0, 1)
        if core.stop < length:
            ramp *= ((core.stop - place) / (2 * width) + 0.5).clip(0, 1)
        ramps.append(ramp)
    return ramps[0][:, None] * ramps[1]


def padded_tiles(images: tuple[AnyArray, ...], reach: int, planes: int) -> Iterator[tuple[Region, list[AnyArray]]]:
    """Yield rectangles of several equally large (H, W, ...) images with ``reach`` px around them.

    Beyond the border images are mirrored (d c b a | a b c d).

    Parameters
    ----------
    images
        Arrays with common rows and columns.
    reach
        Pixels needed around a pixel.
    planes
        float64 planes of the padded size that will be alive at once.
    """
    height, width = images[0].shape[:2]
    side = math.isqrt(WORKING_BYTES // (8 * planes))
    columns = width if width + 2 * reach <= side else max(32, side - 2 * reach)
    rows = max(32, side * side // (columns + 2 * reach) - 2 * reach)
    for top in range(0, height, rows):
        bottom = min(top + rows, height)
        down = mirrored(np.arange(top - reach, bottom + reach), height)
        for left in range(0, width, columns):
            right = min(left + columns, width)
            across = mirrored(np.arange(left - reach, right + reach), width)
            yield (slice(top, bottom), slice(left, right)), [image[down[:, None], across] for image in images]
