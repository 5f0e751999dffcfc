"""Estimate the map of two pictures larger than memory (``relblur estimate A.zarr B.zarr -o OUT.zarr``).

The tasks of :mod:`relblur.blur.chunked` compute the map chunk by chunk, and each chunk is written at once. OUT.zarr is
a group (Zarr 3) of arrays with one shape and one grid of chunks:

``variance_difference``, ``variance_stderr`` (float32, px^2), ``flags``, ``sharper``
    the map, as in :class:`relblur.BlurMap`;
``0``, ``1``, ...
    sigma in px at full size, at half of it, and so on (OME-Zarr 0.5).

Each chunk is written by one task. Two tasks that write into one chunk would lose data, which Dask's ``to_zarr`` does
not exclude. A file in the folder ``done`` beside the group marks a finished chunk. Until all chunks are finished, group
and folder lie in a stage (:mod:`relblur.images.results`), and the same command continues with the missing chunks.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...base._typing import AnyArray
from ...base.errors import FileError, OutputExistsError
from ...blur.blur_map import signed_sigma
from ...blur.chunked import STORED, ChunkedEstimate, Planes, description_of
from ...blur.estimating import Estimating, check_estimating, settings_of
from ...blur.tiles import Tile
from ...filters.decimation import whole_blocks
from ...images.map_formats import FORMAT, FORMAT_VERSION
from ...images.results import clear, move_folder_in, refuse_foreign, resuming, sign
from ...images.zarr_arrays import open_zarr_array
from .runners import Runner, require
from .slides import open_store, prepare_slides

__all__ = ["Finished", "MapStore", "estimate_large"]

#: Sides of the map's chunks, px. The halo is 60 px for local methods and 96 px for ``refined``, which takes 1.1 kB per
#: pixel, 0.9 GB in all.
LOCAL_SIDE, REFINED_SIDE = 1024, 672

#: Largest side of the smallest level of the pyramid, px.
SMALL = 512

FILL: dict[str, Any] = {"variance_difference": np.nan, "variance_stderr": np.nan, "flags": 1, "sharper": 0}


@dataclass(frozen=True)
class Finished:
    """Summary of a run."""

    notes: tuple[str, ...]
    shape: tuple[int, int]
    chunks: int
    were_done: int  #: chunks finished by an earlier run
    settings: Mapping[str, Any]


def estimate_large(
    files: tuple[Path, Path],
    output: Path,
    preparing: Mapping[str, Any],
    options: Estimating,
    runner: Runner,
    *,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Finished:
    """Estimate and write the map of two pictures; ``preparing`` are the arguments of ``prepare_pair``."""
    require("zarr", "dask")
    import dask

    surveys = check_estimating(options).surveys
    _check_output(output, files, force)
    first, second = (open_store(path) for path in files)
    with dask.config.set(scheduler=runner.scheduler):
        pair, noise, notes, settings = prepare_slides(first, second, preparing)
        options = replace(options, workers=runner.threads, noise=noise if options.noise is None else options.noise)
        side = LOCAL_SIDE if surveys else REFINED_SIDE
        estimate = ChunkedEstimate.of(pair, options, side)
    tiles, statistics = estimate.tiles, estimate.statistics
    settings = settings_of(statistics.request, {**statistics.notes, "chunks": len(tiles)}, settings)
    identity = {
        "files": [first.identity(), second.identity()],
        "options": {**preparing, **{name: value for name, value in vars(options).items() if name != "workers"}},
        "relblur": __version__,
    }
    with resuming(output.parent, output.name) as new:
        made_from = json.dumps(identity, default=str, sort_keys=True)
        rows, columns = tiles[0].core
        store = MapStore(new.absolute() / output.name, statistics.shape, (rows.stop, columns.stop), made_from)
        store.begin()
        missing = store.missing(tiles)
        were_done = len(tiles) - len(missing)

        def done(count: int) -> None:
            if progress is not None:
                progress((were_done + count) / len(tiles))

        write = dask.delayed(store.write, pure=False)
        planes = estimate.planes(missing)
        runner.run([write(tiles[n], plane) for n, plane in zip(missing, planes, strict=True)], done)
        store.finish(settings)
        move_folder_in(new, output.name, force)
    return Finished(tuple(notes), statistics.shape, len(tiles), were_done, settings)


def _check_output(output: Path, files: tuple[Path, Path], force: bool) -> None:
    """Refuse an output that cannot be written or may not be replaced, before the work."""
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


@dataclass(frozen=True)
class MapStore:
    """A map on disk that is being written."""

    path: Path  #: its place in the stage
    shape: tuple[int, int]
    chunks: tuple[int, int]
    made_from: str  #: inputs, options and version that determine the map, as JSON

    @property
    def _done(self) -> Path:
        """Folder with an empty file for each finished chunk."""
        return self.path.parent.parent / "done"

    def begin(self) -> None:
        """Create the arrays, or open those of an interrupted run with the same inputs and options."""
        import zarr

        shapes = [self.shape]
        while max(shapes[-1]) > SMALL and min(shapes[-1]) > 1:
            shapes.append((-(-shapes[-1][0] // 2), -(-shapes[-1][1] // 2)))
        arrays = {name: (self.shape, dtype, FILL[name]) for name, dtype in STORED.items()}
        arrays |= {str(level): (shape, "f4", np.nan) for level, shape in enumerate(shapes)}
        description = description_of(self.path) or {}
        if description.get("made_from") == self.made_from and self._done.is_dir():
            for name in arrays:
                open_zarr_array(self.path / name)  # refuses arrays that relblur did not write
            return
        for remains in (self._done, self.path):
            if os.path.lexists(remains):
                shutil.rmtree(remains)
        group = zarr.create_group(store=os.fspath(self.path), zarr_format=3)
        for name, (shape, dtype, fill) in arrays.items():
            chunks = tuple(min(c, n) for c, n in zip(self.chunks, shape, strict=True))
            options = {"chunks": chunks, "dtype": dtype, "fill_value": fill, "dimension_names": ("y", "x")}
            group.create_array(name, shape=shape, **options)
        self._done.mkdir()
        # Written last: a run continues only a group with this description.
        group.attrs["relblur"] = {"format": FORMAT, "format_version": FORMAT_VERSION, "made_from": self.made_from}

    def missing(self, tiles: Sequence[Tile]) -> list[int]:
        """Return the numbers of the tiles whose chunk is not finished."""
        done = set(os.listdir(self._done))
        return [number for number, tile in enumerate(tiles) if self._mark(tile).name not in done]

    def _mark(self, tile: Tile) -> Path:
        row, column = (core.start // side for core, side in zip(tile.core, self.chunks, strict=True))
        return self._done / f"{row}.{column}"

    def write(self, tile: Tile, planes: Planes) -> None:
        """Write the core of a tile, which is one chunk, and mark it finished."""
        import zarr

        group = zarr.open_group(os.fspath(self.path), mode="r+")
        for (name, dtype), plane in zip(STORED.items(), planes, strict=True):
            group[name][tile.core] = np.asarray(plane).astype(dtype)
        group["0"][tile.core] = np.asarray(signed_sigma(planes[0])).astype("f4")
        self._mark(tile).touch()

    def finish(self, settings: Mapping[str, Any]) -> None:
        """Add the levels of the pyramid and the metadata, and sign the map."""
        import zarr

        group = zarr.open_group(os.fspath(self.path), mode="r+")
        levels = 1
        while str(levels) in group:
            _reduce(group[str(levels - 1)], group[str(levels)])
            levels += 1
        group.attrs["ome"] = ome_metadata(self.path.stem, levels)
        group.attrs["relblur"] = {**dict(group.attrs["relblur"]), "settings": json.loads(json.dumps(dict(settings)))}
        sign(self.path, {"format": FORMAT})


def _reduce(above: Any, below: Any) -> None:
    """Compute a level of the pyramid from the next larger one, chunk by chunk."""
    for top in range(0, below.shape[0], below.chunks[0]):
        for left in range(0, below.shape[1], below.chunks[1]):
            bottom, right = min(top + below.chunks[0], below.shape[0]), min(left + below.chunks[1], below.shape[1])
            below[top:bottom, left:right] = _halved(above[2 * top : 2 * bottom, 2 * left : 2 * right])


def _halved(values: AnyArray) -> AnyArray:
    """Return the means of the finite values in blocks of 2 x 2 pixels; NaN for a block without any."""
    padded = np.pad(values, [(0, length % 2) for length in values.shape], constant_values=np.nan)
    blocks = whole_blocks(padded, 2)
    known = np.isfinite(blocks)
    total = np.where(known, blocks, 0).sum(axis=(1, 3))
    with np.errstate(invalid="ignore"):
        return (total / known.sum(axis=(1, 3))).astype(values.dtype)


def ome_metadata(name: str, levels: int) -> dict[str, Any]:
    """Return the OME-Zarr 0.5 metadata of a pyramid in which every level has half the size of the previous one."""
    axes = [{"name": axis, "type": "space"} for axis in "yx"]
    datasets = []
    for level in range(levels):
        # The centre of a block of 2 x 2 pixels lies half a pixel beyond the centre of its first pixel.
        shift = {"type": "translation", "translation": [(2**level - 1) / 2] * 2}
        scale = {"type": "scale", "scale": [float(2**level)] * 2}
        datasets.append({"path": str(level), "coordinateTransformations": [scale, shift] if level else [scale]})
    quantity = "relative blur in px, positive where the second image is the blurrier"
    image = {"name": name, "axes": axes, "datasets": datasets, "type": "mean", "metadata": {"description": quantity}}
    return {"version": "0.5", "multiscales": [image]}
