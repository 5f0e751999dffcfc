"""A map that was written as a Zarr, read back: nothing but its description until a chunk is used."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import FileError, MissingDependencyError
from ..images.archives import check_format
from ..images.map_formats import FORMAT, FORMAT_VERSION
from ..images.zarr_arrays import open_zarr_array, read_zarr_node
from .blur_map import BlurMap

__all__ = ["STORED", "is_zarr_map", "read_zarr_map", "said_of"]

#: The arrays of a map on the disk: single precision is a ten-millionth, far below any error bar.
STORED = {"variance_difference": "f4", "variance_stderr": "f4", "flags": "u1", "sharper": "i1"}


def is_zarr_map(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is that of a Zarr."""
    return os.path.isfile(os.path.join(path, "zarr.json"))


def said_of(path: Path) -> dict[str, Any] | None:
    """Return what we have said of a Zarr that we made; None if it is not ours."""
    try:
        node = read_zarr_node(path)
    except FileError:
        return None
    said = node.attributes.get("relblur") if node is not None else None
    return said if isinstance(said, dict) and said.get("format") == FORMAT else None


def read_zarr_map(path: str | os.PathLike[str]) -> BlurMap:
    """Return the lazy map that a Zarr holds."""
    if find_spec("zarr") is None or find_spec("dask") is None:
        raise MissingDependencyError("a map in a Zarr needs zarr and dask; run: pip install 'relblur[cluster]'")
    import dask.array as da

    said = said_of(Path(path))
    if said is None:
        raise FileError(f"{path} is not a map that relblur wrote; relblur estimate A B -o NAME.zarr makes one")
    check_format(path, said, FORMAT, FORMAT_VERSION)
    stored = [open_zarr_array(os.path.join(path, name)) for name in STORED]
    for array, dtype in zip(stored, STORED.values(), strict=True):
        if array.ndim != 2 or array.shape != stored[0].shape or array.dtype != np.dtype(dtype):
            raise FileError(f"{array.path} is {array.dtype} of shape {array.shape}; it is not part of a map of relblur")
    arrays = [da.from_array(array, chunks=array.chunks) for array in stored]
    return BlurMap.of_views(arrays[0], arrays[1], arrays[2], arrays[3], said["settings"])
