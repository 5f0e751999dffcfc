"""The answer for one part of a pair that is never held whole, from what all parts share.

``paper`` and ``window`` look as far as ``Request.reach``: a part with that much around its core gives the bits of the
whole, except that flat and clipped places of ``paper`` are filled from within the core. ``refined`` looks without
limit, so its parts are tiles that overlap and pass gradually into one another, as in :mod:`relblur.blur.dense.run`:
:func:`refine_tile` for each, then :func:`blend_tile` from it and its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray, Int8Array, UInt8Array
from ..base.inputs import Pair, check_pair
from .asked import Asked
from .blur_map import Flag
from .dense.run import PASSAGE, Blend, flag_dense, refine_part
from .methods import METHOD_TABLE
from .noise import smooth_light
from .request import Answer, side_of
from .shared import Part, Shared, clean
from .tiles import Region, Tile, blend_weights

__all__ = ["FIELDS", "Planes", "RefinedTile", "answer_part", "answer_whole", "blend_tile", "neighbours", "refine_tile"]

#: The arrays of a map and their types, in the order of :data:`Planes`.
FIELDS = {"variance_difference": "f8", "variance_stderr": "f8", "flags": "u1", "sharper": "i1"}

Planes = tuple[FloatArray, FloatArray, UInt8Array, Int8Array]


def answer_part(part: Part, tile: Tile, shared: Shared) -> Planes:
    """Return the map in the core of a tile by a local method, from the part that its outer rectangle shows."""
    raw = clean(part, shared.bad)
    if raw.finite is not None and not raw.finite.any():
        return _nothing(raw.finite[tile.inside].shape)
    entry = METHOD_TABLE[shared.request.method]
    found, here = entry.run(raw, shared.request, _tell_nobody), tile.inside
    answer = entry.complete(Answer(found.s[here], found.stderr[here], found.flags[here], found.sharper[here]))
    return answer.s, answer.stderr, answer.flags, answer.sharper


def answer_whole(part: Part, asked: Asked) -> Planes:
    """Return the map of a pair that is no larger than a part."""
    raw = check_pair(part.first, part.second, valid=part.valid, clipped=part.clipped, channel_axis=-1)
    _, answer = asked.answer(raw, _tell_nobody)
    return answer.s, answer.stderr, answer.flags, answer.sharper


def _nothing(shape: tuple[int, ...]) -> Planes:
    unknown = np.full(shape, np.nan)
    return unknown, unknown.copy(), np.full(shape, Flag.INVALID, np.uint8), np.zeros(shape, np.int8)


def _tell_nobody(_share: float) -> None:
    pass


@dataclass(frozen=True)
class RefinedTile:
    """What ``refined`` found in a tile's outer rectangle, and which pixels could be used there."""

    s: AnyArray  #: float32, as the next
    stderr: AnyArray
    filled: BoolArray
    finite: BoolArray
    unclipped: BoolArray


def refine_tile(part: Part, shared: Shared) -> RefinedTile:
    """Run the refined estimator on the part that a tile's outer rectangle shows."""
    assert shared.lights is not None
    pair = clean(part, shared.bad).part()
    request = shared.request
    if shared.exchanged:
        pair = replace(pair, first=pair.second, second=pair.first)
    if shared.models is not None and request.given_noise is not None:
        light = smooth_light(pair.first, pair.second)
        means = request.given_noise[0] ** 2 + request.given_noise[1] ** 2
        relative = (shared.models[0].variance(light) + shared.models[1].variance(light)) / means
        request = replace(request, relative_variance=relative)
    found = refine_part(pair, shared.lights.usable(pair), request, whole=shared.whole)
    sign = np.float32(-1 if shared.exchanged else 1)
    return RefinedTile(sign * found.s, found.s_stderr, found.filled, pair.finite, pair.unclipped)


def neighbours(number: int, tiles: Sequence[Tile]) -> list[int]:
    """Return the numbers of those of an image's tiles that say something of a tile's core, itself among them."""
    across = next((n for n, tile in enumerate(tiles) if tile.core[0] != tiles[0].core[0]), len(tiles))
    row, column = divmod(number, across)
    # Only the last core of a row or column may be narrower than the passage, so those beside it are all.
    rows = range(max(row - 1, 0), min(row + 2, len(tiles) // across))
    columns = range(max(column - 1, 0), min(column + 2, across))
    return [r * across + c for r in rows for c in columns]


def blend_tile(tile: Tile, others: Sequence[tuple[Tile, RefinedTile]], shared: Shared) -> Planes:
    """Return the map in the core of a tile, from what it and its neighbours found."""
    rows, columns = (each.stop - each.start for each in tile.core)
    blend = Blend((rows, columns))
    own = None
    for other, found in others:
        there, here = _overlap(other.outer, tile.core)
        share = blend_weights(other, shared.shape, PASSAGE).astype(np.float32)
        blend.add(here, found.s[there], found.stderr[there], share[there])
        own = found if other == tile else own
    assert own is not None
    s, stderr = blend.result()
    around = np.zeros(own.s.shape)
    around[tile.inside] = s
    nothing = np.empty((*own.s.shape, 0))
    pair = Pair(nothing, nothing, own.finite, own.unclipped)
    flags = flag_dense(pair, shared.request, around, own.filled)[tile.inside]
    unknown = ~own.finite[tile.inside]
    s[unknown] = np.nan
    stderr[unknown] = np.nan
    return s, stderr, flags, side_of(s, stderr)


def _overlap(outer: Region, core: Region) -> tuple[Region, Region]:
    """Return where two rectangles meet, counted from the corner of the one and of the other."""
    both = [(max(o.start, c.start), min(o.stop, c.stop)) for o, c in zip(outer, core, strict=True)]
    in_outer, in_core = (
        tuple(slice(a - base.start, b - base.start) for (a, b), base in zip(both, bases, strict=True))
        for bases in (outer, core)
    )
    return in_outer, in_core  # type: ignore[return-value]
