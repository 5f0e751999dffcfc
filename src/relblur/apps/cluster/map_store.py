"""The map of two large pictures as a Zarr (version 3) that is written chunk by chunk and that viewers of OME-Zarr open.

In the group, arrays of one shape and one grid of chunks:

``variance_difference``, ``variance_stderr`` (float32, px^2), ``flags``, ``sharper``
    the map, as :class:`relblur.BlurMap` has it;
``0``, ``1``, ...
    sigma in px at full size, at half of it, and so on (OME-Zarr 0.5), for looking at.

A chunk is written by one task alone, whole: tasks never share a chunk (Dask's own ``to_zarr`` with other chunks than
its array's lets them, and loses data). It counts as done once there is a file of its number in ``done``, beside the
group. While chunks are missing both lie in a stage (:mod:`relblur.images.results`).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...blur.blur_map import signed_sigma
from ...blur.chunked import Planes
from ...blur.tiles import Tile
from ...blur.zarr_map import STORED, said_of
from ...filters.blocks import whole_blocks
from ...images.map_formats import FORMAT, FORMAT_VERSION
from ...images.results import sign
from ...images.zarr_arrays import open_zarr_array

__all__ = ["MapStore"]

FILL: dict[str, Any] = {"variance_difference": np.nan, "variance_stderr": np.nan, "flags": 1, "sharper": 0}

#: The smallest picture of a pyramid has fewer pixels a side than this.
SMALL = 512


@dataclass(frozen=True)
class MapStore:
    """A map that is being written: where, and what it is made from."""

    path: Path  #: in a stage
    shape: tuple[int, int]
    chunks: tuple[int, int]
    made_from: str  #: all that it depends on, as JSON

    @property
    def _done(self) -> Path:
        """A folder with an empty file for each chunk that is done."""
        return self.path.parent.parent / "done"

    def begin(self) -> None:
        """Make the arrays, unless an interrupted run with the same input and options has."""
        import zarr

        before = said_of(self.path) or {}
        if before.get("made_from") == self.made_from and self._done.is_dir():
            for name in (*STORED, *map(str, range(len(self._levels())))):
                open_zarr_array(self.path / name)  # refuses what is not of ours
            return
        for remains in (self._done, self.path):
            if os.path.lexists(remains):
                shutil.rmtree(remains)
        group = zarr.create_group(store=os.fspath(self.path), zarr_format=3)
        for name, dtype in STORED.items():
            self._create(group, name, self.shape, dtype, FILL[name])
        for level, shape in enumerate(self._levels()):
            self._create(group, str(level), shape, "f4", np.nan)
        self._done.mkdir()
        # Last: without it nothing of this is taken for ours to go on with.
        group.attrs["relblur"] = {"format": FORMAT, "format_version": FORMAT_VERSION, "made_from": self.made_from}

    def _create(self, group: Any, name: str, shape: tuple[int, int], dtype: str, fill: Any) -> None:
        chunks = tuple(min(c, n) for c, n in zip(self.chunks, shape, strict=True))
        names = ("y", "x")
        group.create_array(name, shape=shape, chunks=chunks, dtype=dtype, fill_value=fill, dimension_names=names)

    def _levels(self) -> list[tuple[int, int]]:
        levels = [self.shape]
        while max(levels[-1]) > SMALL and min(levels[-1]) > 1:
            levels.append((-(-levels[-1][0] // 2), -(-levels[-1][1] // 2)))
        return levels

    def missing(self, tiles: Sequence[Tile]) -> list[int]:
        """Return the numbers of the tiles whose chunk is not done."""
        done = set(os.listdir(self._done))
        return [number for number, tile in enumerate(tiles) if self._mark(tile).name not in done]

    def _mark(self, tile: Tile) -> Path:
        row, column = (core.start // side for core, side in zip(tile.core, self.chunks, strict=True))
        return self._done / f"{row}.{column}"

    def write(self, tile: Tile, planes: Planes) -> None:
        """Write the chunk that is a tile's core."""
        import zarr

        group = zarr.open_group(os.fspath(self.path), mode="r+")
        for (name, dtype), plane in zip(STORED.items(), planes, strict=True):
            group[name][tile.core] = np.asarray(plane).astype(dtype)
        group["0"][tile.core] = np.asarray(signed_sigma(planes[0])).astype("f4")
        self._mark(tile).touch()

    def finish(self, settings: Mapping[str, Any]) -> None:
        """Add what is for viewers, and sign the map."""
        import zarr

        group = zarr.open_group(os.fspath(self.path), mode="r+")
        levels = self._levels()
        for level in range(1, len(levels)):
            self._reduce(group[str(level - 1)], group[str(level)])
        group.attrs["ome"] = ome_metadata(self.path.stem, len(levels))
        group.attrs["relblur"] = {**dict(group.attrs["relblur"]), "settings": json.loads(json.dumps(dict(settings)))}
        sign(self.path, {"format": FORMAT})

    def _reduce(self, above: Any, below: Any) -> None:
        """Make a level of the pyramid from the one above it, a chunk at a time."""
        for top in range(0, below.shape[0], below.chunks[0]):
            for left in range(0, below.shape[1], below.chunks[1]):
                bottom, right = min(top + below.chunks[0], below.shape[0]), min(left + below.chunks[1], below.shape[1])
                below[top:bottom, left:right] = _halved(above[2 * top : 2 * bottom, 2 * left : 2 * right])


def _halved(values: AnyArray) -> AnyArray:
    """Return the means over 2 x 2 pixels of those that are known; NaN where none is."""
    padded = np.pad(values, [(0, length % 2) for length in values.shape], constant_values=np.nan)
    blocks = whole_blocks(padded, 2)
    known = np.isfinite(blocks)
    total = np.where(known, blocks, 0).sum(axis=(1, 3))
    with np.errstate(invalid="ignore"):
        return (total / known.sum(axis=(1, 3))).astype(values.dtype)


def ome_metadata(name: str, levels: int) -> dict[str, Any]:
    """Return what OME-Zarr 0.5 says of a pyramid of maps: every level has half the size of the one before."""
    axes = [{"name": axis, "type": "space"} for axis in "yx"]
    datasets = []
    for level in range(levels):
        # The middle of a pixel of 2 x 2 lies half a pixel beyond that of its first.
        moves = {"type": "translation", "translation": [(2**level - 1) / 2] * 2}
        scale = {"type": "scale", "scale": [float(2**level)] * 2}
        datasets.append({"path": str(level), "coordinateTransformations": [scale, moves] if level else [scale]})
    meaning = "relative blur in px, positive where the second image is the blurrier"
    image = {"name": name, "axes": axes, "datasets": datasets, "type": "mean", "metadata": {"description": meaning}}
    return {"version": "0.5", "multiscales": [image]}
