"""A local method on images of any size: tile by tile, with the pixels around that its answer looks at.

The result equals that of the whole to the bit, however it is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base._typing import Progress
from ..base.inputs import Pair, RawPair
from .blur_map import Flag, has_flag
from .flags import flag_pixels
from .request import Answer, Request, part_of
from .tiles import cut_into_tiles

__all__ = ["DOUBTFUL", "NO_VALUE", "run_in_tiles"]

#: Side of the tiles, px.
SIDE = 2016

#: Pixels with these flags have no value. Those with the second kind may keep what was found there.
NO_VALUE = Flag.INVALID | Flag.EQUAL
DOUBTFUL = Flag.CLIPPED | Flag.FLAT


def run_in_tiles(
    answer: Callable[[Pair, Request, Progress], Answer],
    raw: RawPair,
    request: Request,
    progress: Progress,
    keep_doubtful: bool = False,
) -> Answer:
    """Run a method that answers for one tile, and flag its pixels; flat and clipped ones may keep their values."""
    tiles = cut_into_tiles(raw.shape, SIDE, request.reach)
    s, stderr = np.empty(raw.shape), np.empty(raw.shape)
    flags, sharper = np.empty(raw.shape, np.uint8), np.empty(raw.shape, np.int8)
    notes: dict[str, Any] = {}
    without = NO_VALUE if keep_doubtful or request.everywhere else NO_VALUE | DOUBTFUL
    for done, tile in enumerate(tiles):
        pair = raw.part(*tile.outer)
        found = answer(pair, request, part_of(progress, done, len(tiles)))
        marked = flag_pixels(pair, request, found.s, found.flags)
        marked[~pair.finite] = Flag.INVALID  # what else was found there is that of the value put in its place
        unknown = has_flag(marked, without)
        here = tile.inside
        s[tile.core] = np.where(unknown, np.nan, found.s)[here]
        stderr[tile.core] = np.where(unknown, np.nan, found.stderr)[here]
        flags[tile.core] = marked[here]
        sharper[tile.core] = np.where(pair.finite, found.sharper, 0)[here]
        notes = found.notes
    if len(tiles) > 1:
        notes = {**notes, "tiles": len(tiles)}
    return Answer(s, stderr, flags, sharper, notes)
