"""Estimate the map of two pictures larger than memory (``relblur estimate A.zarr B.zarr -o OUT.zarr``).

The lazy map of :mod:`relblur.blur.chunked` is written chunk by chunk. OUT.zarr is a group (Zarr 3) of arrays with one
shape and one grid of chunks:

``variance_difference``, ``variance_stderr`` (float32, px^2), ``flags``, ``sharper``
    the map, as in :class:`relblur.BlurMap`;
``0``, ``1``, ...
    sigma in px at full size, at half of it, and so on (OME-Zarr 0.5).

OUT.zarr appears when it is complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.errors import FileError, OutputExistsError
from ...blur.blur_map import BlurMap
from ...blur.chunked import STORED, lazy_map
from ...blur.estimating import Estimating, check_estimating
from ...images.map_formats import FORMAT, FORMAT_VERSION
from ...images.results import clear, move_folder_in, refuse_foreign, sign, staging
from .runners import require
from .slides import open_store, prepare_slides

__all__ = ["estimate_large"]

#: Sides of the map's chunks, px. The halo is 60 px for local methods and 96 px for ``refined``, which takes 1.1 kB per
#: pixel, 0.9 GB in all.
LOCAL_SIDE, REFINED_SIDE = 1024, 672

#: Largest side of the smallest level of the pyramid, px.
SMALL = 512


def estimate_large(
    files: tuple[Path, Path],
    output: Path,
    preparing: Mapping[str, Any],
    options: Estimating,
    *,
    client: Any = None,
    force: bool = False,
    progress: Callable[[float], None] = lambda _share: None,
) -> tuple[BlurMap, list[str]]:
    """Estimate and write the map of two pictures; return the lazy map and the notes of the preparation.

    Parameters
    ----------
    preparing
        Arguments of ``prepare_pair``.
    client
        Client of Dask; None: this process computes the chunks one by one, on all cores.
    """
    require("zarr", "dask")
    import dask

    rounding_is_floor = check_estimating(options).rounding_is_floor
    _check_output(output, files, force)
    first, second = (open_store(path) for path in files)
    with dask.config.set(scheduler=client or "synchronous"):
        pair, noise, notes, about = prepare_slides(first, second, preparing)
        workers = options.workers if client is None else 1
        options = replace(options, workers=workers, noise=noise if options.noise is None else options.noise)
        blur_map = lazy_map(pair, options, LOCAL_SIDE if rounding_is_floor else REFINED_SIDE, about)
        with staging(output.parent) as new:
            _write(new.absolute() / output.name, blur_map, progress)
            move_folder_in(new, output.name, force)
    return blur_map, notes


def _check_output(output: Path, files: tuple[Path, Path], force: bool) -> None:
    """Raise an error if the output cannot be written or may not be replaced."""
    if output.suffix.lower() != ".zarr":
        raise OutputExistsError(f"-o {output} must end in .zarr for pictures that are read in parts")
    if not output.parent.is_dir():
        raise FileError(f"cannot write {output}: there is no folder {output.parent}; make it first")
    clear(output.parent)
    real = os.path.realpath(output)
    for path in files:
        if Path(os.path.realpath(path)).is_relative_to(real) or Path(real).is_relative_to(os.path.realpath(path)):
            raise OutputExistsError(f"{output} is also read by this command and would be replaced; choose another name")
    if os.path.lexists(output):
        if not force:
            raise OutputExistsError(f"{output} would be replaced; add --force or choose another name")
        refuse_foreign(output)


def _write(path: Path, blur_map: BlurMap, progress: Callable[[float], None]) -> None:
    """Write a lazy map, the levels of the pyramid and the metadata."""
    import dask.array as da
    import zarr
    from dask.callbacks import Callback

    group = zarr.create_group(store=os.fspath(path), zarr_format=3)
    arrays = {name: getattr(blur_map, name).astype(dtype) for name, dtype in STORED.items()}
    arrays["0"] = blur_map.sigma.astype("f4")
    side = arrays["0"].chunksize
    # Each task of the map writes one chunk of each array, so no two tasks write into one chunk.
    targets = [_created(group, name, array.shape, side, array.dtype) for name, array in arrays.items()]
    with Callback(posttask=lambda _key, _value, dsk, state, _id: progress(len(state["finished"]) / len(dsk))):
        da.store(list(arrays.values()), targets, lock=False)
    level = 0
    while max(group[str(level)].shape) > SMALL and min(group[str(level)].shape) > 1:
        finer = da.from_zarr(group[str(level)])
        half = da.coarsen(_mean, finer, {0: 2, 1: 2}, trim_excess=True).rechunk(side)
        level += 1
        da.store(half, _created(group, str(level), half.shape, side, "f4"), lock=False)
    group.attrs["ome"] = _ome_metadata(path.stem, level + 1)
    settings = json.loads(json.dumps(dict(blur_map.settings)))
    group.attrs["relblur"] = {"format": FORMAT, "format_version": FORMAT_VERSION, "settings": settings}
    sign(path, {"format": FORMAT})


def _created(group: Any, name: str, shape: tuple[int, ...], side: tuple[int, ...], dtype: Any) -> Any:
    chunks = tuple(map(min, side, shape))
    return group.create_array(name, shape=shape, chunks=chunks, dtype=dtype, dimension_names=("y", "x"))


def _mean(blocks: AnyArray, axis: tuple[int, ...] | None = None) -> AnyArray:
    """Return the means of the finite values; NaN for a block without any."""
    known = np.isfinite(blocks)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, blocks, 0).sum(axis) / known.sum(axis), blocks.dtype)


def _ome_metadata(name: str, levels: int) -> dict[str, Any]:
    """Return the OME-Zarr 0.5 metadata of a pyramid in which every level has half the size of the previous one."""
    axes = [{"name": axis, "type": "space"} for axis in "yx"]
    datasets = []
    for level in range(levels):
        # The centre of a block of 2 x 2 pixels lies half a pixel beyond the centre of its first pixel.
        shift = {"type": "translation", "translation": [(2**level - 1) / 2] * 2}
        scale = {"type": "scale", "scale": [float(2**level)] * 2}
        datasets.append({"path": str(level), "coordinateTransformations": [scale, shift]})
    image = {"name": name, "axes": axes, "datasets": datasets, "type": "mean"}
    return {"version": "0.5", "multiscales": [image]}
