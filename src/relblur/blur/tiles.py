"""Geometry of tiles: rectangles that cover an image once, each with a halo.

Filters whose sums are made anew at each pixel (:mod:`relblur.kernels`) return the same bits in a tile as in the whole
image, if the halo is as wide as the surroundings that they use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..filters.borders import mirrored

__all__ = ["Region", "Tile", "blend_weights", "cut_into_tiles", "grown", "neighbours", "overlap", "padded_tiles"]

#: The working set of one padded tile stays below about this many bytes.
WORKING_BYTES = 256 * 2**20

Region = tuple[slice, slice]


@dataclass(frozen=True)
class Tile:
    """A rectangle of an image (``core``) and the larger one it is computed from (``outer``).

    The cores of an image's tiles cover it once. At the image's border the two coincide.
    """

    core: Region
    outer: Region

    @property
    def inside(self) -> Region:
        """The core, counted from the corner of the outer rectangle."""
        return overlap(self.outer, self.core)[0]


def cut_into_tiles(shape: tuple[int, int], side: int, halo: int, grid: int) -> list[Tile]:
    """Cut an image into tiles of about ``side`` px with at least ``halo`` px around them, row by row.

    Both are rounded to the grid, the halo upwards. An image that is no larger than a tile with its halo stays whole.
    All cores of an image have one size, except for smaller ones at its lower and right border.
    """
    side, halo = max(grid, side - side % grid), -(-halo // grid) * grid
    rows, columns = (_spans(length, side, halo, grid) for length in shape)
    return [Tile((r[0], c[0]), (r[1], c[1])) for r in rows for c in columns]


def _spans(length: int, side: int, halo: int, grid: int) -> list[tuple[slice, slice]]:
    if length <= side + 2 * halo:
        return [(slice(0, length), slice(0, length))]
    # As many cores as needed, of equal size but for the grid: no sliver is left at the end.
    count = math.ceil(length / side)
    size = math.ceil(length / count / grid) * grid
    return [
        (slice(a, min(a + size, length)), slice(max(a - halo, 0), min(a + size + halo, length)))
        for a in range(0, length, size)
    ]


def neighbours(number: int, tiles: Sequence[Tile]) -> list[int]:
    """Return the numbers of a tile and of those beside it, in order."""
    across = next((n for n, tile in enumerate(tiles) if tile.core[0] != tiles[0].core[0]), len(tiles))
    row, column = divmod(number, across)
    rows = range(max(row - 1, 0), min(row + 2, len(tiles) // across))
    columns = range(max(column - 1, 0), min(column + 2, across))
    return [r * across + c for r in rows for c in columns]


def overlap(one: Region, two: Region) -> tuple[Region, Region]:
    """Return the common rectangle of two, counted from the corner of the one and of the other."""
    spans = [(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, two, strict=True)]
    in_one, in_two = (
        tuple(slice(start - b.start, stop - b.start) for (start, stop), b in zip(spans, base, strict=True))
        for base in (one, two)
    )
    return in_one, in_two  # type: ignore[return-value]


def grown(region: Region, by: int, shape: tuple[int, int]) -> Region:
    """Return a rectangle with so many pixels more on each side, within an image."""
    rows, columns = (
        slice(max(each.start - by, 0), min(each.stop + by, length)) for each, length in zip(region, shape, strict=True)
    )
    return rows, columns


def blend_weights(tile: Tile, width: int) -> FloatArray:
    """Return weights over a tile's outer rectangle that sum to 1 over all tiles of an image.

    They fall from 1 to 0 within ``width`` px on either side of the core's border, and stay 1 up to the border of the
    image.
    """
    ramps = []
    for core, outer in zip(tile.core, tile.outer, strict=True):
        place = np.arange(outer.start, outer.stop) + 0.5
        ramp = np.ones(place.size)
        if core.start > outer.start:
            ramp *= ((place - core.start) / (2 * width) + 0.5).clip(0, 1)
        if core.stop < outer.stop:
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
