"""Estimates of images of any size, tile by tile, and the map joined from them.

Tiles are rectangles that cover an image once, each with a halo. The filters (:mod:`relblur.kernels`) use no running
sums, so they return the same bits in a tile as in the whole image if the halo is as wide as their support.
:func:`run_in_tiles` processes arrays in memory. :mod:`relblur.blur.chunked` makes Dask tasks of the same steps, for
Dask arrays and for files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from ..base._typing import AnyArray, FloatArray, Progress
from ..base.inputs import Pair, RawPair
from ..filters.decimation import mirrored
from .blur_map import Flag, has_flag
from .request import Answer, Request, part_of
from .result import flag_pixels

T = TypeVar("T")
Region = tuple[slice, slice]

#: Largest working set of one padded tile, bytes.
WORKING_BYTES = 256 * 2**20

#: Side of the smallest tile of a local method (in halos) and of the largest (px).
LEAST_HALOS, LOCAL_SIDE = 3, 2016

#: Grid of the corners of local tiles, px; filters process as many columns together.
GROUP = 32

#: Flags of pixels without a value, and flags of pixels that may keep theirs.
NO_VALUE = Flag.INVALID | Flag.EQUAL
DOUBTFUL = Flag.CLIPPED | Flag.FLAT


@dataclass(frozen=True)
class Tile:
    """A rectangle of an image (``core``), and the larger one with its halo (``outer``).

    The cores of an image's tiles cover it once. At the border of the image there is no halo.
    """

    core: Region
    outer: Region

    @property
    def inside(self) -> Region:
        """The core, relative to the corner of the outer rectangle."""
        return within(self.core, self.outer)


def cut_into_tiles(shape: tuple[int, int], side: int, halo: int, grid: int) -> list[Tile]:
    """Cut an image into tiles of about ``side`` px with at least ``halo`` px around them, row by row.

    Both lengths are rounded to the grid, the halo upwards. An image no larger than a tile with its halo is one tile.
    All cores of an image have one size, except for smaller ones at its lower and right border.
    """
    side, halo = max(grid, side - side % grid), -(-halo // grid) * grid
    rows, columns = (_spans(length, side, halo, grid) for length in shape)
    return [Tile((r[0], c[0]), (r[1], c[1])) for r in rows for c in columns]


def _spans(length: int, side: int, halo: int, grid: int) -> list[tuple[slice, slice]]:
    if length <= side + 2 * halo:
        return [(slice(0, length), slice(0, length))]
    # Cores of equal size, rounded to the grid, so that the last one is not narrow.
    size = math.ceil(length / math.ceil(length / side) / grid) * grid
    return [
        (slice(a, min(a + size, length)), slice(max(a - halo, 0), min(a + size + halo, length)))
        for a in range(0, length, size)
    ]


def within(region: Region, outer: Region) -> Region:
    """Return a rectangle relative to the corner of another."""
    rows, columns = (slice(a.start - b.start, a.stop - b.start) for a, b in zip(region, outer, strict=True))
    return rows, columns


def overlap(one: Region, two: Region) -> tuple[Region, Region]:
    """Return the intersection of two rectangles, relative to the corner of each of them."""
    rows, columns = (slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, two, strict=True))
    return within((rows, columns), one), within((rows, columns), two)


def grown(region: Region, by: int, shape: tuple[int, int]) -> Region:
    """Return a rectangle enlarged by ``by`` px on each side, within an image."""
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
        first = core.start - (width if core.start > outer.start else math.inf)
        last = core.stop - (width if core.stop < outer.stop else -math.inf)
        rise, fall = (((place - start) / (2 * width)).clip(0, 1) for start in (first, last))
        ramps.append(rise - fall)
    return np.asarray(ramps[0][:, None] * ramps[1])


def padded_tiles(images: tuple[AnyArray, ...], reach: int, planes: int) -> Iterator[tuple[Region, list[AnyArray]]]:
    """Yield rectangles of several equally large (H, W, ...) images with ``reach`` px around them.

    Beyond the border images are mirrored (d c b a | a b c d). ``planes`` is the number of float64 planes of the padded
    size that are in memory at once.
    """
    height, width = images[0].shape[:2]
    side = max(32, math.isqrt(WORKING_BYTES // (8 * planes)) - 2 * reach)
    for tile in cut_into_tiles((height, width), side, 0, 1):
        down, across = (
            mirrored(np.arange(each.start - reach, each.stop + reach), length)
            for each, length in zip(tile.core, (height, width), strict=True)
        )
        yield tile.core, [image[down[:, None], across] for image in images]


@dataclass(frozen=True)
class Tiling(Generic[T]):
    """The rules of a method for images larger than a tile."""

    #: Estimates the outer rectangle of a tile, or a whole image.
    estimate: Callable[[RawPair, Request, Progress], T]
    #: Returns the map of a tile's core from the estimate of the tile, and of its neighbours if it ``blends``.
    join: Callable[[Tile, Sequence[tuple[Tile, T]], Request], Answer]
    halo: Callable[[Request], int]  #: px
    sides: Callable[[int], tuple[int, int]]  #: smallest and largest side of a core for this halo, px
    grid: int  #: px
    blends: bool

    def tiles(self, shape: tuple[int, int], request: Request, side: int | None = None) -> list[Tile]:
        """Return the tiles of an image, of about ``side`` px; by default the largest."""
        halo = self.halo(request)
        least, most = self.sides(halo)
        return cut_into_tiles(shape, most if side is None else min(max(side, least), most), halo, self.grid)

    def needed(self, tiles: Sequence[Tile]) -> list[list[int]]:
        """Return for each tile the numbers of the tiles that its core is joined from, in order."""
        if not self.blends:
            return [[number] for number in range(len(tiles))]
        across = len({tile.core[1].start for tile in tiles})
        places = [divmod(number, across) for number in range(len(tiles))]
        return [
            [
                r * across + c
                for r in range(max(row - 1, 0), min(row + 2, len(tiles) // across))
                for c in range(max(column - 1, 0), min(column + 2, across))
            ]
            for row, column in places
        ]


def run_in_tiles(tiling: Tiling[T], raw: RawPair, request: Request, progress: Progress) -> Answer:
    """Run a method on a pair in memory; keep each estimate until its last neighbour is joined."""
    tiles = tiling.tiles(raw.shape, request)
    around = tiling.needed(tiles)
    s, stderr = np.empty(raw.shape), np.empty(raw.shape)
    flags, sharper = np.empty(raw.shape, np.uint8), np.empty(raw.shape, np.int8)
    notes: dict[str, Any] = {}
    estimates: dict[int, T] = {}
    joined = 0
    for number, tile in enumerate(tiles):
        estimates[number] = tiling.estimate(raw.cut(*tile.outer), request, part_of(progress, number, len(tiles)))
        while joined < len(tiles) and around[joined][-1] <= number:
            core = tiles[joined].core
            answer = tiling.join(tiles[joined], [(tiles[n], estimates[n]) for n in around[joined]], request)
            s[core], stderr[core], flags[core], sharper[core] = answer.s, answer.stderr, answer.flags, answer.sharper
            notes |= answer.notes
            joined += 1
            del answer  # a view of an estimate, which it would keep in memory
        estimates = {n: each for n, each in estimates.items() if around[n][-1] >= joined}
    return Answer(s, stderr, flags, sharper, {**notes, "tiles": len(tiles)} if len(tiles) > 1 else notes)


def local_tiling(answer: Callable[[Pair, Request, Progress], Answer], keep_doubtful: bool = False) -> Tiling[Answer]:
    """Return the tiling of a local method; the map does not depend on the tiles, to the bit.

    With ``keep_doubtful`` flat and clipped pixels keep their values.
    """

    def estimate(raw: RawPair, request: Request, progress: Progress) -> Answer:
        pair = raw.part()
        if not pair.finite.any():
            empty = np.full(pair.shape, np.nan)
            return Answer(empty, empty, np.full(pair.shape, Flag.INVALID, np.uint8), np.zeros(pair.shape, np.int8))
        result = answer(pair, request, progress)
        flags = flag_pixels(pair, request, result.s, result.flags)
        flags[~pair.finite] = Flag.INVALID  # other flags there describe the fill value
        no_value = has_flag(flags, NO_VALUE if keep_doubtful else NO_VALUE | DOUBTFUL)
        result.s[no_value] = result.stderr[no_value] = np.nan
        return replace(result, flags=flags, sharper=np.where(pair.finite, result.sharper, 0))

    return Tiling(
        estimate,
        _cut,
        halo=lambda request: request.reach,
        sides=lambda halo: (min(LEAST_HALOS * halo, LOCAL_SIDE), LOCAL_SIDE),
        grid=GROUP,
        blends=False,
    )


def _cut(tile: Tile, estimates: Sequence[tuple[Tile, Answer]], _request: Request) -> Answer:
    (_, whole), here = estimates[0], tile.inside
    return Answer(whole.s[here], whole.stderr[here], whole.flags[here], whole.sharper[here], whole.notes)
