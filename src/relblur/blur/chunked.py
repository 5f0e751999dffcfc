"""Lazy maps: ``estimate_blur`` of Dask arrays, and maps read from a Zarr.

A task makes one chunk of the map from a rectangle of both images. The chunks of the images may have any sizes, which
need not agree.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..base._typing import AnyArray, ArrayLike, PathLike
from ..base.errors import FileError, InputError, MissingDependencyError
from ..base.inputs import RawPair, as_form, as_valid, check_pair
from ..images.archives import check_format
from ..images.map_formats import FORMAT, FORMAT_VERSION
from ..images.zarr_arrays import open_zarr_array, read_zarr_node
from .blur_map import BlurMap
from .dense.run import notes_of
from .estimating import Estimating, answer_of, request_of, settings_of
from .global_statistics import Source, clean, measure_source
from .methods import METHOD_TABLE
from .request import Answer, Request, no_progress
from .tiles import Region, Tile

__all__ = ["STORED", "estimate_chunked", "later", "lazy_map", "map_description", "read_zarr_map"]

#: The arrays of a map on disk, with their types. The rounding of single precision (1e-7) is far below the errors.
STORED = {"variance_difference": "f4", "variance_stderr": "f4", "flags": "u2", "sharper": "i1"}


def estimate_chunked(
    first: Any,
    second: Any,
    options: Estimating,
    valid: ArrayLike | None,
    clipped: ArrayLike | None,
    channel_axis: int | None,
) -> BlurMap:
    """Return the lazy map of a pair with at least one Dask array."""
    source = _DaskPair.of(first, second, valid, clipped, channel_axis)
    # One worker for each task, because Dask runs a task on each of its threads.
    return lazy_map(source, replace(options, workers=options.workers or 1), max(map(max, source.first.chunks[:2])))


def lazy_map(source: Source, options: Estimating, side: int, about: Mapping[str, Any] | None = None) -> BlurMap:
    """Return the lazy map of a source, with a task for each tile of about ``side`` px and ``about`` in its settings."""
    entry, form = METHOD_TABLE[options.method], source.form
    request, notes = request_of(options, form, None), {}
    tiles = entry.tiling.tiles(form.shape, request, side)
    if len(tiles) == 1 and not entry.rounding_is_floor:  # no shared statistics
        answers = [source.call(_estimate_whole, tiles[0].outer, later(options))]
    else:
        request = measure_source(source, options)
        notes, shared = notes_of(request), later(request)
        estimates = [source.call(_estimate_tile, tile.outer, shared) for tile in tiles]
        answers = [
            later(_join_tiles)(tile, [tiles[n] for n in others], [estimates[n] for n in others], shared)
            for tile, others in zip(tiles, entry.tiling.needed(tiles), strict=True)
        ]
    s, stderr = (_assembled([getattr(each, name) for each in answers], tiles, "f8") for name in ("s", "stderr"))
    flags = _assembled([each.flags for each in answers], tiles, "u1")
    sharper = _assembled([each.sharper for each in answers], tiles, "i1")
    return BlurMap.of_views(
        s, stderr, flags, sharper, settings_of(request, notes, {**(about or {}), "chunks": len(tiles)})
    )


def later(value: Any) -> Any:
    """Return a delayed value, which all tasks share, or a function whose calls are delayed."""
    import dask

    return dask.delayed(value, traverse=False, pure=False)


def _estimate_tile(part: RawPair, request: Request) -> Any:
    return METHOD_TABLE[request.method].tiling.estimate(clean(part), request, no_progress)


def _join_tiles(tile: Tile, others: Sequence[Tile], estimates: Sequence[Any], request: Request) -> Answer:
    entry = METHOD_TABLE[request.method]
    return entry.complete(entry.tiling.join(tile, list(zip(others, estimates, strict=True)), request))


def _estimate_whole(part: RawPair, options: Estimating) -> Answer:
    raw = check_pair(part.first, part.second, valid=part.finite, clipped=part.clipped, channel_axis=-1)
    return answer_of(options, raw, no_progress)[1]


def _assembled(parts: Sequence[Any], tiles: Sequence[Tile], dtype: str) -> Any:
    """Return the lazy array of the cores of all tiles."""
    import dask.array as da

    rows: dict[int, list[Any]] = {}
    for part, tile in zip(parts, tiles, strict=True):
        shape = tuple(each.stop - each.start for each in tile.core)
        array = da.from_delayed(part, shape, dtype, meta=np.empty((0, 0), dtype))
        rows.setdefault(tile.core[0].start, []).append(array)
    return da.block(list(rows.values()))


@dataclass(frozen=True)
class _DaskPair:
    """Two (H, W, C) Dask arrays with the maps of valid and clipped pixels."""

    first: Any
    second: Any
    valid: Any
    clipped: Any

    @classmethod
    def of(cls, first: Any, second: Any, valid: Any, clipped: Any, channel_axis: int | None) -> _DaskPair:
        import dask.array as da

        if hasattr(first, "dims") and hasattr(second, "dims"):
            if set(first.dims) != set(second.dims):
                raise InputError(f"first has the dimensions {first.dims}, second {second.dims}; use the same names")
            second = second.transpose(*first.dims)
        arrays = []
        for name, array in (("first", _as_dask(first)), ("second", _as_dask(second))):
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
        maps = [None if each is None else _as_dask(each) for each in (valid, clipped)]
        for array, name in zip(maps, ("valid", "clipped"), strict=True):
            if array is not None:
                as_valid(_form(array), one.shape[:2], name)
        return cls(one, two, maps[0], maps[1])

    @property
    def form(self) -> RawPair:
        """Arrays of zeros with the pair's shape and types, which take no memory."""
        return RawPair(_form(self.first), _form(self.second), None)

    def call(self, function: Callable[..., Any], region: Region, *further: Any) -> Any:
        """Return the delayed call of a function with a rectangle and further arguments."""
        arrays = (self.first, self.second, self.valid, self.clipped)
        return later(_with_part)(function, *(None if each is None else each[region] for each in arrays), *further)


def _with_part(function: Callable[..., Any], first: AnyArray, second: AnyArray, *rest: Any) -> Any:
    valid, clipped, *further = rest
    return function(RawPair(first, second, valid, clipped), *further)


def _as_dask(values: Any) -> Any:
    import dask.array as da

    return da.asanyarray(getattr(values, "data", values) if hasattr(values, "dims") else values)


def _form(array: Any) -> AnyArray:
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)


def map_description(path: PathLike) -> dict[str, Any] | None:
    """Return the description of a map that relblur wrote as a Zarr; None for anything else."""
    node = read_zarr_node(path)
    about = node.attributes.get("relblur") if node is not None else None
    return about if isinstance(about, dict) and about.get("format") == FORMAT else None


def read_zarr_map(path: PathLike) -> BlurMap:
    """Return the map in a Zarr as a lazy map."""
    if find_spec("zarr") is None or find_spec("dask") is None:
        raise MissingDependencyError("a map in a Zarr needs zarr and dask; run: pip install 'relblur[cluster]'")
    import dask.array as da

    about = map_description(path)
    if about is None:
        raise FileError(f"{path} is not a map that relblur wrote; relblur estimate A B -o NAME.zarr makes one")
    check_format(path, about, FORMAT, FORMAT_VERSION)
    stored = [open_zarr_array(os.path.join(path, name)) for name in STORED]
    for array, dtype in zip(stored, STORED.values(), strict=True):
        if array.ndim != 2 or array.shape != stored[0].shape or not np.can_cast(array.dtype, dtype):
            raise FileError(f"{array.path} is {array.dtype} of shape {array.shape}; it is not part of a map of relblur")
    arrays = [da.from_array(array, chunks=array.chunks) for array in stored]
    return BlurMap.of_views(arrays[0], arrays[1], arrays[2], arrays[3], about["settings"])
