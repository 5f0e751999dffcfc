"""Pictures on a disk that are read in rectangles: Zarr (version 2 and 3), OME-Zarr, TIFF and BigTIFF.

A :class:`Store` holds no pixel, so it can be sent to the process that reads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.errors import FileError, InputError, MissingDependencyError
from ...base.inputs import as_form
from ...blur.tiles import Region
from ...images.images import StoredImage
from ...images.results import is_plain
from ...images.tiff import TiffPicture
from ...images.zarr_arrays import ZarrArray, open_zarr_array, read_zarr_node
from ...photo.tone_curves import Curve, choose_curve

__all__ = ["Store", "open_store", "require"]

TIFF_SUFFIXES = (".tif", ".tiff", ".btf", ".ome.tif")

#: A dimension of this length may be one of colours.
COLOURS = (1, 3)


@dataclass(frozen=True)
class Store:
    """A grey or colour picture that is read in rectangles."""

    array: ZarrArray | TiffPicture
    at: tuple[int | None, ...]  #: per dimension: the index taken, or None for rows, columns and colours
    order: tuple[int, ...]  #: which of those that stay are rows, columns and colours
    shape: tuple[int, int, int]
    path: str  #: as the user names it

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.array.dtype

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
            values = np.asarray(self.array[tuple(wanted)]).transpose(self.order)
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise FileError(f"{self.path} cannot be read: {_first_line(error)}; it may be damaged") from None
        return values if values.ndim == 3 else values[:, :, None]

    def curve(self, *, linear: bool, gamma: float | None) -> tuple[Curve, str]:
        """Return the tone curve of the values, and the reason for it."""
        tiff = isinstance(self.array, TiffPicture)
        profile = self.array.profile if isinstance(self.array, TiffPicture) else None
        stored = StoredImage(np.zeros((1, 1), self.dtype), "TIFF" if tiff else "Zarr", profile, linear=not tiff)
        return choose_curve(stored, linear=linear, gamma=gamma)

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes the picture from a later one of the same name."""
        description = os.path.join(self.array.path, "zarr.json")
        state = os.stat(description if os.path.isfile(description) else self.array.path)
        return {"name": Path(self.path).name, "shape": list(self.shape), "modified_ns": state.st_mtime_ns}


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
    array = open_zarr_array(path / name)
    return _store(path, array, kinds or array.names)


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
    return _store(path, picture, ("y", "x", "c"))


def _store(path: Path, array: ZarrArray | TiffPicture, kinds: Sequence[str] | None) -> Store:
    """Find rows, columns and colours."""
    shape = tuple(array.shape)
    kinds = _guessed(shape) if kinds is None else tuple(str(kind).lower() for kind in kinds)
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
    return Store(array, tuple(at), order, size, os.fspath(path))


def _guessed(shape: tuple[int, ...]) -> tuple[str, ...] | None:
    if len(shape) == 2:
        return ("y", "x")
    if len(shape) == 3 and shape[-1] in COLOURS:
        return ("y", "x", "c")
    return ("c", "y", "x") if len(shape) == 3 and shape[0] in COLOURS else None


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0]
