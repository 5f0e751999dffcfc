"""A map that was written as a Zarr, read back: nothing but its description until a chunk is used."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..base.errors import FileError, MissingDependencyError
from ..files.map_formats import FORMAT
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
        said = json.loads((path / "zarr.json").read_bytes())["attributes"]["relblur"]
        return dict(said) if said["format"] == FORMAT else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def read_zarr_map(path: str | os.PathLike[str]) -> BlurMap:
    """Return the lazy map that a Zarr holds."""
    if find_spec("zarr") is None or find_spec("dask") is None:
        raise MissingDependencyError("a map in a Zarr needs zarr and dask; run: pip install 'relblur[cluster]'")
    import dask.array as da

    said = said_of(Path(path))
    if said is None or "settings" not in said:
        raise FileError(f"{path} is not a map that relblur wrote; relblur estimate A B -o NAME.zarr makes one")
    arrays = [da.from_zarr(os.fspath(path), component=name) for name in STORED]
    return BlurMap.of_views(arrays[0], arrays[1], arrays[2], arrays[3], said["settings"])
