"""``estimate_blur`` of Dask arrays: a map of Dask arrays, of which nothing is computed yet.

A task makes one chunk of the map from a rectangle cut out of both images with the pixels around it that it looks at, so
the chunks of the images may be of any size and need not agree. Small chunks are joined, large ones cut: the
map has chunks in which the pixels around are not most of the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ..base._typing import AnyArray, ArrayLike
from ..base.errors import InputError
from ..base.inputs import RawPair, as_form, as_valid
from .asked import Asked, settings_of
from .blur_map import BlurMap
from .parts import FIELDS, Planes, RefinedTile, answer_part, answer_whole, blend_tile, neighbours, refine_tile
from .request import Request
from .shared import Part, Shared, find_shared, refined_halo
from .tiles import Region, Tile, cut_into_tiles

__all__ = ["estimate_chunked"]

T = TypeVar("T")

#: Sides of the map's chunks by a local method, px: so many times the halo at least, and this much at most.
LEAST_HALOS, MOST_SIDE = 3, 2048

#: Columns that filters work on together, a multiple of what any processor does.
GROUP = 32

#: Sides of the tiles of ``"refined"`` without their margins, px. With them the largest takes 1.5 GB while it is worked
#: on, the least 0.4 GB: as many as there are threads are worked on at once.
REFINED_SIDES = (384, 960)


def estimate_chunked(
    first: Any, second: Any, asked: Asked, valid: ArrayLike | None, clipped: ArrayLike | None, channel_axis: int | None
) -> BlurMap:
    """Return the lazy map of a pair of which at least one image is a Dask array."""
    pair = _DaskPair.of(first, second, valid, clipped, channel_axis)
    # Dask runs a task on every thread that it has; those of a task would stand in their way.
    asked = replace(asked, workers=asked.workers or 1)
    if asked.method == "refined":
        asked.check()
        request, notes = asked.request(pair.form, given_noise=None), {}
        tiles = _refined_tiles(pair, request)
        if len(tiles) == 1:
            planes = [pair.call(answer_whole, tiles[0].outer, _later(asked))]
        else:
            shared = find_shared(pair, asked)
            request, notes = shared.request, shared.notes
            planes = _refine(pair, tiles, shared)
    else:
        shared = find_shared(pair, asked)
        request, notes = shared.request, shared.notes
        tiles = _local_tiles(pair, shared)
        planes = _answer(pair, tiles, shared)
    s, stderr, flags, sharper = _assembled(planes, tiles)
    return BlurMap.of_views(s, stderr, flags, sharper, settings_of(request, notes, {"chunks": len(tiles)}))


@dataclass(frozen=True)
class _DaskPair:
    """Two (H, W, C) Dask arrays, and maps of their size."""

    first: Any
    second: Any
    valid: Any
    clipped: Any

    @classmethod
    def of(cls, first: Any, second: Any, valid: Any, clipped: Any, channel_axis: int | None) -> _DaskPair:
        import dask.array as da

        if hasattr(first, "dims") and hasattr(second, "dims") and first.dims != second.dims:
            if set(first.dims) != set(second.dims):
                raise InputError(f"first has the dimensions {first.dims}, second {second.dims}; name them alike")
            second = second.transpose(*first.dims)
        arrays = []
        for image, name in ((first, "first"), (second, "second")):
            array = da.asanyarray(getattr(image, "data", image) if hasattr(image, "dims") else image)
            if any(math.isnan(length) for length in array.shape):
                raise InputError(f"{name} has chunks of unknown size; call {name}.compute_chunk_sizes() first")
            as_form(array.shape, array.dtype, name, channel_axis)
            arrays.append(array[:, :, None] if channel_axis is None else da.moveaxis(array, channel_axis, -1))
        one, two = arrays
        if one.shape != two.shape:
            raise InputError(
                f"first and second differ in shape: {one.shape[:2]} and {two.shape[:2]}; "
                "crop or resize them to the same size (both must show the same view)"
            )
        maps = [None if each is None else _map(each, one.shape[:2], what) for each, what in _named(valid, clipped)]
        return cls(one, two, maps[0], maps[1])

    @property
    def form(self) -> RawPair:
        """Arrays of the pair's shape and types without its values."""
        one, two = (np.broadcast_to(np.zeros((), each.dtype), each.shape) for each in (self.first, self.second))
        return RawPair(one, two, None)

    def map(self, function: Callable[[Part], T], regions: Sequence[Region]) -> list[T]:
        """Call a function with parts, on Dask's threads or the cluster in use."""
        import dask

        return list(dask.compute(*(self.call(function, region) for region in regions)))

    def call(self, function: Callable[..., T], region: Region, *further: Any) -> Any:
        """Return the call of a function with a part and further arguments, to be computed later."""
        import dask

        pieces = [
            None if each is None else each[region] for each in (self.first, self.second, self.valid, self.clipped)
        ]
        return dask.delayed(_with_part, pure=False)(function, *pieces, region, *further)


def _named(valid: Any, clipped: Any) -> tuple[tuple[Any, str], tuple[Any, str]]:
    return (valid, "valid"), (clipped, "clipped")


def _map(values: Any, shape: tuple[int, ...], name: str) -> Any:
    import dask.array as da

    array = da.asanyarray(getattr(values, "data", values) if hasattr(values, "dims") else values)
    as_valid(np.broadcast_to(np.zeros((), array.dtype), array.shape), shape, name)
    return array


def _with_part(
    function: Callable[..., T],
    first: AnyArray,
    second: AnyArray,
    valid: Any,
    clipped: Any,
    region: Region,
    *further: Any,
) -> T:
    return function(Part(first, second, valid, clipped, region), *further)


def _later(value: T) -> Any:
    """Return a value that all tasks have in common and that is sent once."""
    import dask

    return dask.delayed(value, traverse=False, pure=False)


def _answer(pair: _DaskPair, tiles: Sequence[Tile], shared: Shared) -> list[Any]:
    together = _later(shared)
    return [pair.call(answer_part, tile.outer, tile, together) for tile in tiles]


def _refine(pair: _DaskPair, tiles: Sequence[Tile], shared: Shared) -> list[Any]:
    import dask

    together = _later(shared)
    found = [pair.call(refine_tile, tile.outer, together) for tile in tiles]
    blend = dask.delayed(_blended, pure=False)
    return [
        blend(tile, [tiles[n] for n in around], [found[n] for n in around], together)
        for tile, around in ((tile, neighbours(number, tiles)) for number, tile in enumerate(tiles))
    ]


def _blended(tile: Tile, others: Sequence[Tile], found: Sequence[RefinedTile], shared: Shared) -> Planes:
    return blend_tile(tile, list(zip(others, found, strict=True)), shared)


def _assembled(planes: Sequence[Any], tiles: Sequence[Tile]) -> list[Any]:
    """Return the four arrays of a map whose chunks are to be computed."""
    import dask.array as da

    arrays = []
    for number, dtype in enumerate(FIELDS.values()):
        rows: dict[int, list[Any]] = {}
        for plane, tile in zip(planes, tiles, strict=True):
            shape = tuple(each.stop - each.start for each in tile.core)
            meta = np.empty((0, 0), dtype)
            rows.setdefault(tile.core[0].start, []).append(da.from_delayed(plane[number], shape, dtype, meta=meta))
        arrays.append(da.block([rows[top] for top in sorted(rows)]))
    return arrays


def _refined_tiles(pair: _DaskPair, request: Request) -> list[Tile]:
    """Cut tiles about as large as the chunks of the first image, on the grid that ``refined`` pools on."""
    least, most = REFINED_SIDES
    side = min(max(max(map(max, pair.first.chunks[:2])), least), most)
    return cut_into_tiles(pair.first.shape[:2], side, refined_halo(request))


def _local_tiles(pair: _DaskPair, shared: Shared) -> list[Tile]:
    halo = shared.halo
    rows, columns = (_cores(chunks, min(LEAST_HALOS * halo, MOST_SIDE), MOST_SIDE) for chunks in pair.first.chunks[:2])
    height, width = shared.shape

    def grown(core: slice, length: int) -> slice:
        # Filters work on groups of columns: begun where one begins, their bits at the border are those of the whole.
        return slice(max(core.start - halo, 0) // GROUP * GROUP, min(core.stop + halo, length))

    return [Tile((r, c), (grown(r, height), grown(c, width))) for r in rows for c in columns]


def _cores(chunks: Sequence[int], least: int, most: int) -> list[slice]:
    """Join chunks until they have a least length, and cut those that exceed the largest."""
    joined: list[int] = []
    for length in chunks:
        if joined and (joined[-1] < least or length == 0):
            joined[-1] += length
        else:
            joined.append(length)
    if len(joined) > 1 and joined[-1] < least:
        joined[-2:] = [joined[-2] + joined[-1]]
    cores, start = [], 0
    for length in joined:
        parts = max(1, math.ceil(length / (most + least)))
        edges = [start + round(length * k / parts) for k in range(parts + 1)]
        cores += [slice(a, b) for a, b in pairwise(edges)]
        start += length
    return cores
