"""A method on images of any size: an estimate for each tile, then one map that is cut or blended from them.

:func:`run_in_tiles` does so for arrays in memory. :mod:`relblur.blur.chunked` makes Dask tasks of the same steps, for
Dask arrays and for files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from ..base._typing import Progress
from ..base.inputs import Pair, RawPair
from .blur_map import Flag, has_flag
from .request import Answer, Request, part_of
from .result import flag_pixels
from .tiles import Tile, cut_into_tiles, neighbours

__all__ = ["DOUBTFUL", "NO_VALUE", "Tiling", "local_tiling", "run_in_tiles"]

T = TypeVar("T")

#: Smallest tile of a local method, in halos, and sides of the largest, px.
LEAST_HALOS, LOCAL_SIDE = 3, 2016
#: Local tiles begin at multiples of this many columns (px), which filters work on together.
GROUP = 32

#: Pixels with these flags have no value. Pixels with the second kind may keep theirs.
NO_VALUE = Flag.INVALID | Flag.EQUAL
DOUBTFUL = Flag.CLIPPED | Flag.FLAT


@dataclass(frozen=True)
class Tiling(Generic[T]):
    """How a method works on images that are larger than a tile."""

    #: Estimates a pair that is a tile's outer rectangle, or a whole image.
    estimate: Callable[[RawPair, Request, Progress], T]
    #: Returns the map of a tile's core from the estimates of this tile and of its neighbours, if it ``blends``.
    join: Callable[[Tile, Sequence[tuple[Tile, T]], Request], Answer]
    halo: Callable[[Request], int]  #: px
    sides: Callable[[int], tuple[int, int]]  #: smallest and largest side of a core for this halo, px
    grid: int  #: px
    blends: bool

    def tiles(self, shape: tuple[int, int], request: Request, side: int | None = None, halo: int = 0) -> list[Tile]:
        """Return the tiles of an image: of about this side (px, the largest by default), with at least this halo."""
        halo = max(halo, self.halo(request))
        least, most = self.sides(halo)
        return cut_into_tiles(shape, most if side is None else min(max(side, least), most), halo, self.grid)

    def needed(self, number: int, tiles: Sequence[Tile]) -> list[int]:
        """Return the numbers of the tiles that a tile's core is joined from."""
        return neighbours(number, tiles) if self.blends else [number]


def run_in_tiles(tiling: Tiling[T], raw: RawPair, request: Request, progress: Progress) -> Answer:
    """Run a method on a pair in memory. Estimates are kept until their last neighbour is joined."""
    tiles = tiling.tiles(raw.shape, request)
    around = [tiling.needed(number, tiles) for number in range(len(tiles))]
    s, stderr = np.empty(raw.shape), np.empty(raw.shape)
    flags, sharper = np.empty(raw.shape, np.uint8), np.empty(raw.shape, np.int8)
    notes: dict[str, Any] = {}
    found: dict[int, T] = {}
    joined = 0
    for number, tile in enumerate(tiles):
        found[number] = tiling.estimate(raw.cut(*tile.outer), request, part_of(progress, number, len(tiles)))
        while joined < len(tiles) and around[joined][-1] <= number:
            own = tiles[joined]
            answer = tiling.join(own, [(tiles[n], found[n]) for n in around[joined]], request)
            s[own.core], stderr[own.core] = answer.s, answer.stderr
            flags[own.core], sharper[own.core] = answer.flags, answer.sharper
            notes |= answer.notes
            joined += 1
            del answer  # a view of an estimate
        for each in [each for each in found if around[each][-1] < joined]:
            del found[each]
    return Answer(s, stderr, flags, sharper, {**notes, "tiles": len(tiles)} if len(tiles) > 1 else notes)


def local_tiling(answer: Callable[[Pair, Request, Progress], Answer], keep_doubtful: bool = False) -> Tiling[Answer]:
    """Return the tiling of a local method, whose map is that of the whole image to the bit.

    Flat and clipped pixels keep their values if ``keep_doubtful``.
    """
    return Tiling(
        partial(_estimate_locally, answer, keep_doubtful),
        _cut,
        halo=lambda request: request.reach,
        sides=lambda halo: (min(LEAST_HALOS * halo, LOCAL_SIDE), LOCAL_SIDE),
        grid=GROUP,
        blends=False,
    )


def _estimate_locally(
    answer: Callable[[Pair, Request, Progress], Answer],
    keep_doubtful: bool,
    raw: RawPair,
    request: Request,
    progress: Progress,
) -> Answer:
    pair = raw.part()
    if not pair.finite.any():
        unknown = np.full(pair.shape, np.nan)
        return Answer(unknown, unknown, np.full(pair.shape, Flag.INVALID, np.uint8), np.zeros(pair.shape, np.int8))
    found = answer(pair, request, progress)
    flags = flag_pixels(pair, request, found.s, found.flags)
    flags[~pair.finite] = Flag.INVALID  # other flags there are those of the value put in its place
    without = has_flag(flags, NO_VALUE if keep_doubtful or request.everywhere else NO_VALUE | DOUBTFUL)
    found.s[without] = found.stderr[without] = np.nan
    return replace(found, flags=flags, sharper=np.where(pair.finite, found.sharper, 0))


def _cut(tile: Tile, estimates: Sequence[tuple[Tile, Answer]], _request: Request) -> Answer:
    (_, found), here = estimates[0], tile.inside
    return Answer(found.s[here], found.stderr[here], found.flags[here], found.sharper[here], found.notes)
