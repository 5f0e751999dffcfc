"""The map of two large pictures as a Zarr (version 3) that is written chunk by chunk and that viewers of OME-Zarr open.

In the group, arrays of one shape and one grid of chunks:

``variance_difference``, ``variance_stderr`` (float32, px^2), ``flags``, ``sharper``
    the map, as :class:`relblur.BlurMap` has it;
``0``, ``1``, ...
    sigma in px at full size, at half of it, and so on (OME-Zarr 0.5), for looking at.

A chunk is written by one task alone, whole: tasks never share a chunk (Dask's own ``to_zarr`` with other chunks than
its array's lets them, and loses data). It counts as done once ``done`` says so, which is written last. While chunks are
missing the group has a hidden name beside its place; when none is, it takes its place in one step.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import OutputExistsError
from ..blur.blur_map import signed_sigma
from ..blur.parts import Planes
from ..blur.tiles import Tile
from ..blur.zarr_map import STORED, said_of
from ..files.map_formats import FORMAT, FORMAT_VERSION
from ..files.replacing import HIDDEN, hidden_name

__all__ = ["MapStore", "refuse_foreign_zarr"]

FILL: dict[str, Any] = {"variance_difference": np.nan, "variance_stderr": np.nan, "flags": 1, "sharper": 0}

DONE = "done"

#: The smallest picture of a pyramid has fewer pixels a side than this.
SMALL = 512

#: All that relblur writes in a Zarr: metadata, and chunks in the folders of arrays.
_OURS = re.compile(rf"(?:(?:{'|'.join(STORED)}|{DONE}|\d+)/)?zarr\.json|(?:{'|'.join(STORED)}|{DONE}|\d+)/c/\d+/\d+")


@dataclass(frozen=True)
class MapStore:
    """A map that is being written: where, and what it is made from."""

    target: Path
    shape: tuple[int, int]
    chunks: tuple[int, int]
    made_from: str  #: all that it depends on, as JSON

    @property
    def unfinished(self) -> Path:
        """Where it is while chunks are missing."""
        return self.target.parent / f"{HIDDEN}-unfinished-{self.target.name}"

    def begin(self) -> None:
        """Make the arrays, unless an interrupted run with the same input and options has."""
        import zarr

        if os.path.lexists(self.unfinished):
            before = said_of(self.unfinished)
            if before is None or before.get("made_from") != self.made_from:
                remove_ours(self.unfinished)
            else:
                return
        group = zarr.create_group(store=os.fspath(self.unfinished), zarr_format=3)
        for name, dtype in STORED.items():
            self._create(group, name, self.shape, dtype, FILL[name])
        grid = tuple(-(-n // c) for n, c in zip(self.shape, self.chunks, strict=True))
        group.create_array(DONE, shape=grid, chunks=(1, 1), dtype="u1", fill_value=0, compressors=None)
        for level, shape in enumerate(self._levels()):
            self._create(group, str(level), shape, "f4", np.nan)
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
        import zarr

        done = zarr.open_array(os.fspath(self.unfinished / DONE), mode="r")[:]
        return [number for number, tile in enumerate(tiles) if not done[self._place(tile)]]

    def _place(self, tile: Tile) -> tuple[int, int]:
        return (tile.core[0].start // self.chunks[0], tile.core[1].start // self.chunks[1])

    def write(self, tile: Tile, planes: Planes) -> None:
        """Write the chunk that is a tile's core."""
        import zarr

        group = zarr.open_group(os.fspath(self.unfinished), mode="r+")
        for (name, dtype), plane in zip(STORED.items(), planes, strict=True):
            group[name][tile.core] = np.asarray(plane).astype(dtype)
        group["0"][tile.core] = np.asarray(signed_sigma(planes[0])).astype("f4")
        group[DONE][self._place(tile)] = 1

    def finish(self, settings: Mapping[str, Any], force: bool) -> None:
        """Add what is for viewers, and give the map its place."""
        import zarr

        group = zarr.open_group(os.fspath(self.unfinished), mode="r+")
        levels = self._levels()
        for level in range(1, len(levels)):
            self._reduce(group[str(level - 1)], group[str(level)])
        del group[DONE]
        group.attrs["ome"] = ome_metadata(self.target.stem, len(levels))
        group.attrs["relblur"] = {**dict(group.attrs["relblur"]), "settings": json.loads(json.dumps(dict(settings)))}
        old = self.target.parent / hidden_name("-old")
        replaced = os.path.lexists(self.target)
        if replaced:
            if not force:
                raise OutputExistsError(f"{self.target} has appeared meanwhile; add --force or choose another name")
            refuse_foreign_zarr(self.target)
            os.rename(self.target, old)
        os.rename(self.unfinished, self.target)
        if replaced:
            remove_ours(old)

    def _reduce(self, above: Any, below: Any) -> None:
        """Make a level of the pyramid from the one above it, a chunk at a time."""
        for top in range(0, below.shape[0], below.chunks[0]):
            for left in range(0, below.shape[1], below.chunks[1]):
                bottom, right = min(top + below.chunks[0], below.shape[0]), min(left + below.chunks[1], below.shape[1])
                below[top:bottom, left:right] = _halved(above[2 * top : 2 * bottom, 2 * left : 2 * right])


def _halved(values: AnyArray) -> AnyArray:
    """Return the means over 2 x 2 pixels of those that are known; NaN where none is."""
    height, width = values.shape
    padded = np.pad(values, ((0, height % 2), (0, width % 2)), constant_values=np.nan)
    blocks = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2)
    known = np.isfinite(blocks)
    count = known.sum(axis=(1, 3))
    total = np.where(known, blocks, 0).sum(axis=(1, 3))
    return np.divide(total, count, out=np.full(total.shape, np.nan, values.dtype), where=count > 0)


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


def refuse_foreign_zarr(path: Path) -> None:
    """Refuse to replace what relblur did not make, or what holds something else too."""
    if os.path.islink(path) or not os.path.isdir(path) or said_of(path) is None:
        raise OutputExistsError(f"{path} was not made by relblur and is not replaced; choose another name")
    if others := _strangers(path):
        raise OutputExistsError(f"{path} holds {others[0]}, not made by relblur; move that elsewhere first")


def _strangers(path: Path) -> list[str]:
    names = (Path(folder, file).relative_to(path).as_posix() for folder, _, files in os.walk(path) for file in files)
    return sorted(name for name in names if not _OURS.fullmatch(name))


def remove_ours(path: Path) -> None:
    """Delete a Zarr of ours; one that holds something else stays."""
    if os.path.islink(path) or not os.path.isdir(path) or _strangers(path):
        raise OutputExistsError(f"{path} is in the way and holds files that relblur did not make; move it elsewhere")
    shutil.rmtree(path)
