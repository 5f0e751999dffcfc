"""``method="refined"`` on images of any size: overlapping tiles that are blended.

The estimator looks without limit (a labelling along whole rows, a prior that carries values across flat areas), so
a tile cannot equal the whole to the bit. It comes close because of its margin, because scale, colours, noise and kernel
are measured once for the whole image, and because one tile passes gradually into the next. Where two tiles disagree on
a pixel the standard error grows by their disagreement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base._typing import AnyArray, BoolArray, FloatArray, Progress, UInt8Array
from ...base.inputs import Pair, RawPair
from ..blur_map import Flag, mark
from ..flags import flag_pixels
from ..request import Answer, Request, part_of, side_of
from ..tiles import Region, Tile, blend_weights, cut_into_tiles
from ..whole_image import Lights, find_lights

if TYPE_CHECKING:
    from .estimate import DenseMap
    from .whole import Whole

__all__ = [
    "MARGIN",
    "PASSAGE",
    "Blend",
    "flag_dense",
    "flag_margin",
    "measure_patches",
    "places_of_patches",
    "refine_part",
    "run_dense",
]

#: Memory that one tile may take. Images that need less stay whole.
TILE_BYTES = 1.6e9
#: What the estimator holds at its peak for each pixel.
BYTES_PER_PIXEL = 1100

#: Pixels around a tile's core, and the half-width of the passage between two tiles.
MARGIN = 96
PASSAGE = 48

#: Patches on which the whole image is measured: as many a side, of this many pixels a side.
PATCHES, PATCH = 7, 192

#: Rows flagged together.
ROWS = 512


def run_dense(raw: RawPair, request: Request, progress: Progress) -> Answer:
    """Estimate a dense map, in tiles if the image is large."""
    side = math.isqrt(int(TILE_BYTES / BYTES_PER_PIXEL))
    tiles = cut_into_tiles(raw.shape, side - 2 * MARGIN, MARGIN)
    lights = find_lights(raw)
    if len(tiles) == 1:
        pair = raw.part()
        found = refine_part(pair, lights.usable(pair), request, progress=progress)
        s, stderr, filled = found.s.astype(np.float64), found.s_stderr.astype(np.float64), found.filled
        notes = _notes(found)
        if request.steps is not None:
            request.steps.update({name: values.astype(np.float64) for name, values in found.steps.items()})
    else:
        s, stderr, filled, notes = _blend(raw, lights, request, tiles, progress)
    flags = _flag_in_rows(raw, request, s, stderr, filled)
    notes["max_sigma"] = request.max_sigma
    if len(tiles) > 1:
        notes["tiles"] = len(tiles)
    return Answer(s, stderr, flags, side_of(s, stderr), notes)


def _notes(found: DenseMap) -> dict[str, Any]:
    return {"kernel": found.family, "noise": list(found.noise)}


def refine_part(
    pair: Pair,
    usable: BoolArray,
    request: Request,
    *,
    progress: Progress | None = None,
    whole: Whole | None = None,
) -> DenseMap:
    """Estimate the map of a pair, or of a tile of one that shares ``whole`` with the others."""
    from .estimate import estimate  # imports OpenCV

    report = progress or (lambda share: None)
    return estimate(pair.first, pair.second, request, valid=usable, whole=whole, progress=report)


def _blend(
    raw: RawPair, lights: Lights, request: Request, tiles: list[Tile], progress: Progress
) -> tuple[FloatArray, FloatArray, BoolArray, dict[str, Any]]:
    """Return s, its standard error, what was filled, and the settings found, from overlapping tiles."""
    patches = [raw.part(rows, columns) for rows, columns in places_of_patches(raw.shape)]
    whole = measure_patches([(pair, lights.usable(pair)) for pair in patches], request)
    del patches
    blend = Blend(raw.shape)
    filled = np.zeros(raw.shape, dtype=bool)
    for done, tile in enumerate(tiles):
        relative = None if request.relative_variance is None else request.relative_variance[tile.outer]
        asked = replace(request, relative_variance=relative)
        pair = raw.part(*tile.outer)
        report = part_of(progress, done, len(tiles))
        found = refine_part(pair, lights.usable(pair), asked, progress=report, whole=whole)
        del pair
        share = blend_weights(tile, raw.shape, PASSAGE).astype(np.float32)
        blend.add(tile.outer, found.s, found.s_stderr, share)
        filled[tile.core] = found.filled[tile.inside]
        notes = _notes(found)
        del found
    s, stderr = blend.result()
    return s, stderr, filled, notes


class Blend:
    """A map that several tiles make together: a running weighted mean of s, and the variance around it."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._mean, self._variance, self._weight = (np.zeros(shape, np.float32) for _ in range(3))

    def add(self, region: Region, s: AnyArray, stderr: AnyArray, share: AnyArray) -> None:
        """Take in what a tile says of a region, with its weights there (float32)."""
        so_far, mean_here = self._weight[region], self._mean[region]
        total = so_far + share
        step = s - mean_here
        part = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
        self._variance[region] += share * stderr**2 + so_far * part * step**2
        self._mean[region] += part * step
        self._weight[region] = total

    def result(self) -> tuple[FloatArray, FloatArray]:
        """Return s and its standard error; to be called once, at the end."""
        del self._weight
        s = self._mean.astype(np.float64)
        del self._mean
        return s, np.sqrt(self._variance, dtype=np.float64)


def measure_patches(patches: Sequence[tuple[Pair, BoolArray]], request: Request) -> Whole:
    """Measure the whole image on patches of it, each with its usable pixels."""
    from .noise import GivenNoise
    from .whole import measure_whole

    given = GivenNoise(request.given_noise, request.noise_may_differ)
    # Where one image is stated to be the sharper, the estimator takes it as the first.
    swapped = request.sharper == "second"
    return measure_whole(
        [
            (pair.second, pair.first, usable) if swapped else (pair.first, pair.second, usable)
            for pair, usable in patches
        ],
        signed=request.sharper == "auto",
        given=given.swapped() if swapped else given,
        prefilter=request.prefilter,
        max_sigma=request.max_sigma,
        engine=request.engine.name,
        workers=request.workers,
    )


def places_of_patches(shape: tuple[int, int]) -> list[tuple[slice, slice]]:
    """Return where an image is looked at to measure the whole: patches on a regular grid."""
    rows, columns = (_places(length) for length in shape)
    return [(row, column) for row in rows for column in columns]


def _places(length: int) -> list[slice]:
    if length <= PATCHES * PATCH:
        return [slice(start, min(start + PATCH, length)) for start in range(0, length, PATCH)]
    starts = np.linspace(0, length - PATCH, PATCHES).astype(int)
    return [slice(int(start), int(start) + PATCH) for start in starts]


def flag_dense(pair: Pair, request: Request, s: FloatArray, filled: BoolArray) -> UInt8Array:
    """Return the flags of a map, or of a part with the pixels around that :func:`flag_margin` counts."""
    flags = np.zeros(s.shape, np.uint8)
    mark(flags, filled | ~pair.unclipped, Flag.FILLED)
    mark(flags, np.abs(s) >= 0.999 * request.max_sigma**2, Flag.AT_LIMIT)
    return flag_pixels(pair, request, s, flags)


def flag_margin(request: Request) -> int:
    """Return how far from a pixel its flags look, px."""
    return request.window + 2 * math.ceil(request.max_sigma) + 1


def _flag_in_rows(raw: RawPair, request: Request, s: FloatArray, stderr: FloatArray, filled: BoolArray) -> UInt8Array:
    """Flag a map and take out what is unknown, some rows at a time, with the rows around that they depend on."""
    flags = np.empty(raw.shape, np.uint8)
    margin = flag_margin(request)
    height = raw.shape[0]
    above = s[:0]
    for top in range(0, height, ROWS):
        bottom = min(top + ROWS, height)
        start, stop = max(top - margin, 0), min(bottom + margin, height)
        pair = raw.part(slice(start, stop))
        # Rows above have lost their unknown values by now; they were kept.
        here = np.concatenate([above, s[top:stop]])
        found = flag_dense(pair, request, here, filled[start:stop])
        inner = slice(top - start, bottom - start)
        flags[top:bottom] = found[inner]
        above = s[max(bottom - margin, 0) : bottom].copy()
        unknown = ~pair.finite[inner]  # what bad pixels reach was left out, and filled from around
        s[top:bottom][unknown] = np.nan
        stderr[top:bottom][unknown] = np.nan
    return flags
