"""``method="refined"`` on images of any size: tiles that overlap, share what the whole says, and are blended.

The estimator looks without limit (a labelling along whole rows, a prior that carries values across flat areas), so
a tile cannot equal the whole to the bit. It comes close because a tile's margin shows it what lies around its core,
because scale, colours, noise and kernel are measured once for the whole image, and because the seam is a gradual
passage from one tile to the next. Where two tiles disagree on a pixel the standard error grows by their disagreement.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base._typing import BoolArray, FloatArray, Progress, UInt8Array
from ...base.inputs import Pair, RawPair
from ..blur_map import Flag, mark
from ..flags import flag_pixels
from ..request import Answer, Request, part_of, side_of
from ..tiles import Tile, blend_weights, cut_into_tiles
from ..whole_image import Lights, find_lights
from .orientation import orientation_of

if TYPE_CHECKING:
    from . import Refined
    from .whole import Whole

__all__ = ["run_refined"]

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


def run_refined(raw: RawPair, request: Request, progress: Progress) -> Answer:
    """Run the refined estimator, in the order and orientation that the pair itself tells."""
    orientation = orientation_of(raw, request)
    return orientation.undo(_run(*orientation.apply(raw, request), progress), request.steps)


def _run(raw: RawPair, request: Request, progress: Progress) -> Answer:
    """Run the refined estimator on a pair as it is, in tiles if the image is large."""
    side = math.isqrt(int(TILE_BYTES / BYTES_PER_PIXEL))
    tiles = cut_into_tiles(raw.shape, side - 2 * MARGIN, MARGIN)
    lights = find_lights(raw)
    if len(tiles) == 1:
        pair = raw.part()
        found = _refine(pair, lights.usable(pair), request, progress, None)
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


def _notes(found: Refined) -> dict[str, Any]:
    return {"kernel": found.family, "noise": list(found.noise)}


def _refine(pair: Pair, usable: BoolArray, request: Request, progress: Progress, whole: Whole | None) -> Refined:
    from . import refine  # brings OpenCV with it

    return refine(pair.first, pair.second, request, valid=usable, whole=whole, progress=progress)


def _blend(
    raw: RawPair, lights: Lights, request: Request, tiles: list[Tile], progress: Progress
) -> tuple[FloatArray, FloatArray, BoolArray, dict[str, Any]]:
    """Return s, its standard error, what was filled, and the settings found, from overlapping tiles."""
    whole = _measure(raw, lights, request)
    # A running weighted mean of s, the variance around it, and the weight so far.
    mean, variance, weight = (np.zeros(raw.shape, np.float32) for _ in range(3))
    filled = np.zeros(raw.shape, dtype=bool)
    for done, tile in enumerate(tiles):
        relative = None if request.relative_variance is None else request.relative_variance[tile.outer]
        asked = replace(request, relative_variance=relative)
        pair = raw.part(*tile.outer)
        found = _refine(pair, lights.usable(pair), asked, part_of(progress, done, len(tiles)), whole)
        del pair
        share = blend_weights(tile, raw.shape, PASSAGE).astype(np.float32)
        so_far, mean_here = weight[tile.outer], mean[tile.outer]
        total = so_far + share
        step = found.s - mean_here
        part = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
        variance[tile.outer] += share * found.s_stderr**2 + so_far * part * step**2
        mean[tile.outer] += part * step
        weight[tile.outer] = total
        filled[tile.core] = found.filled[tile.inside]
        notes = _notes(found)
        del found
    del weight
    s = mean.astype(np.float64)
    del mean
    return s, np.sqrt(variance, dtype=np.float64), filled, notes


def _measure(raw: RawPair, lights: Lights, request: Request) -> Whole:
    """Measure the whole image on patches that lie on a regular grid."""
    from .likelihood.noise import GivenNoise
    from .whole import measure_whole

    patches = []
    for rows in _places(raw.shape[0]):
        for columns in _places(raw.shape[1]):
            pair = raw.part(rows, columns)
            images = (pair.first, pair.second)
            # Where one image is given as the sharper, the estimator takes it as the first.
            images = images[::-1] if request.sharper == "second" else images
            patches.append((*images, lights.usable(pair)))
    given = GivenNoise(request.given_noise, request.noise_may_differ)
    return measure_whole(
        patches,
        signed=request.sharper == "auto",
        given=given.swapped() if request.sharper == "second" else given,
        prefilter=request.prefilter,
        max_sigma=request.max_sigma,
        workers=request.workers,
    )


def _places(length: int) -> list[slice]:
    if length <= PATCHES * PATCH:
        return [slice(start, min(start + PATCH, length)) for start in range(0, length, PATCH)]
    starts = np.linspace(0, length - PATCH, PATCHES).astype(int)
    return [slice(int(start), int(start) + PATCH) for start in starts]


def _flag_in_rows(raw: RawPair, request: Request, s: FloatArray, stderr: FloatArray, filled: BoolArray) -> UInt8Array:
    """Flag a map and take out what is unknown, some rows at a time, with the rows around that they depend on."""
    flags = np.empty(raw.shape, np.uint8)
    margin = request.window + 2 * math.ceil(request.max_sigma) + 1
    height = raw.shape[0]
    above = s[:0]
    for top in range(0, height, ROWS):
        bottom = min(top + ROWS, height)
        start, stop = max(top - margin, 0), min(bottom + margin, height)
        pair = raw.part(slice(start, stop))
        # Rows above have lost their unknown values by now; they were kept.
        here = np.concatenate([above, s[top:stop]])
        found = np.zeros(here.shape, np.uint8)
        mark(found, filled[start:stop] | ~pair.unclipped, Flag.FILLED)
        mark(found, np.abs(here) >= 0.999 * request.max_sigma**2, Flag.AT_LIMIT)
        found = flag_pixels(pair, request, here, found)
        inner = slice(top - start, bottom - start)
        flags[top:bottom] = found[inner]
        above = s[max(bottom - margin, 0) : bottom].copy()
        unknown = ~pair.finite[inner]  # what bad pixels reach was left out, and filled from around
        s[top:bottom][unknown] = np.nan
        stderr[top:bottom][unknown] = np.nan
    return flags
