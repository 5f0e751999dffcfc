"""``method="refined"`` on one tile of an image, and the blend of overlapping tiles.

A pixel depends on pixels at any distance, through the labelling along whole rows and the prior in flat areas. So the
map depends slightly on the tiles. Tiles have halos and share scale, colours, noise and kernel, and neighbouring tiles
are blended. The difference between two tiles is added to the standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base._typing import AnyArray, BoolArray, Progress
from ...base.inputs import Pair, RawPair
from ...base.pixels import usual_values
from ..blur_map import Flag, mark
from ..noise import smooth_light
from ..request import Answer, Request, side_of
from ..result import flag_pixels
from ..tiles import Region, Tile, Tiling, blend_weights, overlap
from ..whole_image import Lights, find_lights, lights_of

__all__ = [
    "BLEND_WIDTH",
    "DENSE_TILING",
    "MARGIN",
    "PATCH",
    "measure_dense",
    "measure_dense_patches",
    "notes_of",
    "patches_of",
]

#: Sides of the smallest and the largest tile without their halos, px. With 1.1 kB a pixel they take 0.4 and 1.5 GB.
SIDES = (384, 960)

#: Halo of a tile, and half-width of the strip in which two tiles are blended, px.
MARGIN = 96
BLEND_WIDTH = 48

#: Grid of the tiles, px: a multiple of the cells and blocks of the solver (2, 8, 32, 24, 48 and 96 px).
GRID = 96

#: Patches of the statistics of a whole image: number along each side, and side in px.
PATCHES, PATCH = 7, 192


@dataclass(frozen=True)
class DenseTile:
    """Estimate over a tile's outer rectangle, with the maps of usable pixels."""

    s: AnyArray  #: float32
    stderr: AnyArray  #: float32
    filled: BoolArray
    finite: BoolArray
    unclipped: BoolArray
    notes: dict[str, Any]


def _estimate(raw: RawPair, request: Request, progress: Progress) -> DenseTile:
    from .estimate import estimate  # imports OpenCV

    assert request.lights is not None
    pair = raw.part()
    usable = request.lights.usable(pair)
    if request.noise_models is not None and request.given_noise is not None:
        light = smooth_light(pair.first, pair.second)
        variance = request.noise_models[0].variance(light) + request.noise_models[1].variance(light)
        relative = variance / (request.given_noise[0] ** 2 + request.given_noise[1] ** 2)
        request = replace(request, relative_variance=relative)
    dense_map = estimate(pair.first, pair.second, request, valid=usable, progress=progress)
    if request.whole is None and request.steps is not None:
        request.steps.update({name: values.astype(np.float64) for name, values in dense_map.steps.items()})
    notes = {"kernel": dense_map.family, "noise": list(dense_map.noise), "max_sigma": request.max_sigma}
    return DenseTile(dense_map.s, dense_map.s_stderr, dense_map.filled, pair.finite, pair.unclipped, notes)


def _blend(tile: Tile, estimates: Sequence[tuple[Tile, DenseTile]], request: Request) -> Answer:
    """Return the weighted mean of the tiles that overlap a core, with the difference of the tiles in its error."""
    own = next(estimate for other, estimate in estimates if other == tile)
    shape = own.s[tile.inside].shape
    weighted = []
    for other, estimate in estimates:
        there, here = overlap(other.outer, tile.core)
        weighted.append((here, blend_weights(other, BLEND_WIDTH)[there], estimate.s[there], estimate.stderr[there]))
    s, variance = np.zeros(shape), np.zeros(shape)
    for here, weight, part, _ in weighted:
        s[here] += weight * part
    for here, weight, part, error in weighted:
        variance[here] += weight * (np.square(error, dtype=np.float64) + (part - s[here]) ** 2)
    stderr = np.sqrt(variance)
    around = np.zeros(own.s.shape)
    around[tile.inside] = s
    flags = np.zeros(around.shape, np.uint8)
    mark(flags, own.filled | ~own.unclipped, Flag.FILLED)
    mark(flags, np.abs(around) >= 0.999 * request.max_sigma**2, Flag.AT_LIMIT)
    nothing = np.empty((*around.shape, 0))
    flags = flag_pixels(Pair(nothing, nothing, own.finite, own.unclipped), request, around, flags)[tile.inside]
    invalid = ~own.finite[tile.inside]
    s[invalid] = stderr[invalid] = np.nan
    return Answer(s, stderr, flags, side_of(s, stderr), own.notes)


def _halo(request: Request) -> int:
    """Return the halo of a tile, px; flags depend on pixels up to this distance."""
    return max(MARGIN, request.window + 2 * math.ceil(request.max_sigma) + 1)


DENSE_TILING = Tiling(_estimate, _blend, halo=_halo, sides=lambda _halo: SIDES, grid=GRID, blends=True)


def measure_dense(raw: RawPair, request: Request) -> Request:
    """Return the request for a pair in memory with the statistics that its tiles share."""
    request = replace(request, lights=find_lights(raw))
    if len(DENSE_TILING.tiles(raw.shape, request)) == 1:
        return request
    return _measured([raw.part(*place) for place in patches_of(raw.shape)], request)


def measure_dense_patches(patches: Sequence[RawPair], request: Request) -> Request:
    """Return the request for a pair that is read in parts with the statistics that its tiles share."""
    ranges = []
    for images in ([each.first for each in patches], [each.second for each in patches]):
        pixels = np.concatenate([image.reshape(1, -1, image.shape[2]) for image in images], axis=1)
        ranges.append(lights_of(usual_values(pixels)) if pixels.dtype.kind == "f" else None)
    return _measured([each.part() for each in patches], replace(request, lights=Lights((ranges[0], ranges[1]))))


def _measured(patches: Sequence[Pair], request: Request) -> Request:
    """Return a request that has ``lights`` with the statistics of a whole image, measured on patches."""
    from .whole import measure_whole  # imports OpenCV

    return replace(request, whole=measure_whole(patches, request))


def notes_of(request: Request) -> dict[str, Any]:
    """Return the notes of a map, from the statistics of the whole image."""
    if request.whole is None:
        return {"max_sigma": request.max_sigma}
    low, high = request.whole.limits
    noise = [float(each) * (high - low if high > low else 1.0) for each in request.whole.noise.sensor]
    noise = noise[::-1] if request.sharper == "second" else noise
    return {"kernel": request.whole.family, "noise": noise, "max_sigma": request.max_sigma}


def patches_of(shape: tuple[int, int], count: int = PATCHES, side: int = PATCH) -> list[Region]:
    """Return patches on a regular grid, the same number along each side. They cover all of a smaller image."""
    rows, columns = (_places(length, count, side) for length in shape)
    return [(row, column) for row in rows for column in columns]


def _places(length: int, count: int, side: int) -> list[slice]:
    if length <= count * side:
        return [slice(start, min(start + side, length)) for start in range(0, length, side)]
    return [slice(int(start), int(start) + side) for start in np.linspace(0, length - side, count)]
