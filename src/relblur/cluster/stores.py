"""Pictures on a disk that are read in rectangles: Zarr (version 2 and 3), OME-Zarr, TIFF and BigTIFF.

A :class:`Store` knows where the rows, columns and colours of a picture are; it holds no pixel, and can be sent to where
the reading is to be done.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError, InputError, MissingDependencyError
from ..base.inputs import as_form
from ..blur.tiles import Region
from ..files.staging import is_plain
from ..files.tiff import TiffPicture
from ..files.zarr_arrays import open_zarr_array, read_zarr_node

__all__ = ["Store", "is_zarr", "open_store", "require"]

TIFF_SUFFIXES = (".tif", ".tiff", ".btf", ".ome.tif")

#: A dimension of this length may be one of colours.
COLOURS = (1, 3)


@dataclass(frozen=True)
class Store:
    """A grey or colour picture that is read in rectangles."""

    path: str
    array: str  #: name of the array in a Zarr; empty for TIFF
    at: tuple[int | None, ...]  #: per dimension: the index taken, or None for rows, columns and colours
    order: tuple[int, ...]  #: which of those that stay are rows, columns and colours
    shape: tuple[int, int, int]
    dtype: str
    chunks: tuple[int, int]
    icc_profile: bytes | None = None

    @property
    def size(self) -> str:
        """Width x height, as photographers write it."""
        return f"{self.shape[1]}x{self.shape[0]}"

    def read(self, region: Region) -> AnyArray:
        """Return a rectangle as (H, W, C) of the picture's own type."""
        wanted: list[Any] = list(self.at)
        stay = [axis for axis, index in enumerate(self.at) if index is None]
        for place, axis in zip((*region, slice(None)), (stay[o] for o in self.order), strict=False):
            wanted[axis] = place
        try:
            values = np.asarray(_opened(self.path, self.array)[tuple(wanted)])
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise FileError(f"{self.path} cannot be read: {_first_line(error)}; it may be damaged") from None
        values = values.transpose(self.order)
        return values if values.ndim == 3 else values[:, :, None]

    def identity(self) -> dict[str, Any]:
        """Return what tells the picture from a later one of the same name."""
        state = os.stat(os.path.join(self.path, self.array, "zarr.json") if self._has_json else self.path)
        return {"name": Path(self.path).name, "shape": list(self.shape), "modified_ns": state.st_mtime_ns}

    @property
    def _has_json(self) -> bool:
        return os.path.isfile(os.path.join(self.path, self.array, "zarr.json"))


def is_zarr(path: Path) -> bool:
    """Tell whether a path is, or is to become, a Zarr."""
    if path.suffix.lower() == ".zarr":
        return True
    return any((path / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))


def require(*modules: str) -> None:
    """Raise a one-line error if a package of the extra ``cluster`` is missing."""
    from importlib.util import find_spec

    gone = [name for name in modules if find_spec(name) is None]
    if gone:
        raise MissingDependencyError(f"this needs {' and '.join(gone)}; run: pip install 'relblur[cluster]'")


def open_store(path: Path) -> Store:
    """Look at a picture; nothing but what describes it is read."""
    require("zarr", "dask")
    if not os.path.exists(path):
        raise FileError(f"there is no file {path}; check the path")
    try:
        return _zarr_store(path) if os.path.isdir(path) else _tiff_store(path)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, IndexError, AttributeError) as error:
        if isinstance(error, (FileError, InputError)):
            raise
        raise FileError(f"{path} cannot be opened: {_first_line(error)}; it may be damaged") from None


def _zarr_store(path: Path) -> Store:
    node = read_zarr_node(path)
    if node is None:
        raise FileError(f"{path} is a folder without a Zarr in it; check the path")
    name, kinds = ("", None) if node.array else _image_in(node.attributes, path)
    array = _opened(os.fspath(path), name)
    return _store(path, name, array, kinds or array.names, None)


def _image_in(attributes: Mapping[str, Any], path: Path) -> tuple[str, tuple[str, ...] | None]:
    """Return the name of the full-size array in a group, and what its dimensions are if that is said."""
    images = attributes.get("ome", attributes).get("multiscales")
    if images:
        name = images[0]["datasets"][0]["path"]
        if not all(is_plain(part) for part in name.split("/")):
            raise FileError(f"{path} names a picture outside itself, {name[:80]!r}; it may be damaged")
        return name, tuple(axis["name"] for axis in images[0].get("axes", ())) or None
    nodes = ((entry.name, read_zarr_node(entry)) for entry in path.iterdir() if entry.is_dir())
    arrays = [name for name, node in nodes if node is not None and node.array]
    if len(arrays) != 1:
        found = f"the arrays {', '.join(sorted(arrays)[:5])}" if arrays else "no array"
        raise InputError(f"{path} has {found} and no OME metadata; name the array itself, such as {path}/NAME")
    return arrays[0], None


def _tiff_store(path: Path) -> Store:
    if not path.name.lower().endswith(TIFF_SUFFIXES):
        raise InputError(
            f"{path} is neither Zarr nor TIFF; for other pictures name a folder for the results, -o result"
        )
    picture = TiffPicture.of(path)
    if picture.photometric not in (1, 2):
        raise InputError(f"{path} has colours of kind {picture.photometric}; only grey and RGB TIFF is read in parts")
    return _store(path, "", picture, ("y", "x", "c"), picture.profile)


def _store(path: Path, name: str, array: Any, kinds: Any, profile: bytes | None) -> Store:
    """Find rows, columns and colours."""
    shape = tuple(array.shape)
    kinds = _guessed(shape) if kinds is None or None in kinds else tuple(str(kind).lower() for kind in kinds)
    if kinds is None or kinds.count("y") != 1 or kinds.count("x") != 1:
        raise InputError(f"{path} has the shape {shape}; rows and columns, or those and 3 colours, are needed")
    at: list[int | None] = []
    for kind, length in zip(kinds, shape, strict=True):
        if kind in "yx" or (kind == "c" and length > 1):
            at.append(None)
        elif length == 1:
            at.append(0)
        else:
            raise InputError(f"{path} has {length} images along {kind!r}; name an array that holds one")
    stay = [kind for kind, index in zip(kinds, at, strict=True) if index is None]
    order = tuple(stay.index(kind) for kind in "yxc" if kind in stay)
    colours = shape[kinds.index("c")] if "c" in stay else 1
    if colours not in COLOURS:
        raise InputError(f"{path} has {colours} channels; 1 or 3 are read, choose some of them first")
    size = (shape[kinds.index("y")], shape[kinds.index("x")], colours)
    as_form(size, np.dtype(array.dtype), str(path), -1)
    chunks = getattr(array, "chunks", None) or shape
    cut = (chunks[kinds.index("y")], chunks[kinds.index("x")])
    return Store(os.fspath(path), name, tuple(at), order, size, np.dtype(array.dtype).str, cut, profile)


def _guessed(shape: tuple[int, ...]) -> tuple[str, ...] | None:
    if len(shape) == 2:
        return ("y", "x")
    if len(shape) == 3 and shape[-1] in COLOURS:
        return ("y", "x", "c")
    return ("c", "y", "x") if len(shape) == 3 and shape[0] in COLOURS else None


@lru_cache(maxsize=16)
def _opened(path: str, name: str) -> Any:
    """Look at an array that is to be read; once a process."""
    return open_zarr_array(os.path.join(path, name) if name else path) if os.path.isdir(path) else TiffPicture.of(path)


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0]
