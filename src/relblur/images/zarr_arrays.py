"""Zarr arrays (versions 2 and 3), read in parts by the zarr package in a child process with limits.

The description of an array is checked first: it must have real numbers and only codecs for compression.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, PathLike
from ..base.children import Limits
from ..base.errors import FileError
from .reading import CHILD_BYTES, FREE_SECONDS, SLOWEST_BYTES, check_pixels, first_line, limited

__all__ = ["OmeImage", "ZarrArray", "ZarrNode", "axes_of", "is_zarr", "ome_images", "open_zarr_array", "read_zarr_node"]

#: Codecs that only pack numbers. Others, such as pickle, may run code.
_CODECS = ("bytes", "transpose", "sharding_indexed", "crc32c", "zstd", "blosc", "gzip", "zlib", "lz4")

#: Largest numbers of values and chunks of an array: the lists of its chunks take some hundred megabytes.
_MOST_VALUES, _MOST_PIECES = 250_000_000_000, 1_000_000
#: Number of copies of a part and of its chunks that are in memory while it is read.
_COPIES = 8


@dataclass(frozen=True)
class ZarrArray:
    """An array on disk; indices read parts of it."""

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    names: tuple[str, ...] | None  #: names of the dimensions

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __getitem__(self, place: Any) -> AnyArray:
        """Read the part given by slices of step 1 and whole numbers."""
        place = place if isinstance(place, tuple) else (place,)
        place += (slice(None),) * (self.ndim - len(place))
        spans = [
            each.indices(n)[:2] if isinstance(each, slice) else (0, 1)
            for each, n in zip(place, self.shape, strict=True)
        ]
        count = math.prod(b - a for a, b in spans) + math.prod(self.chunks)
        return np.asarray(_in_child("_read", self.path, place, unpacked=count * self.dtype.itemsize))


@dataclass(frozen=True)
class ZarrNode:
    """The description of a group or an array."""

    attributes: Mapping[str, Any]
    array: ZarrArray | None


@dataclass(frozen=True)
class OmeImage:
    """The largest array of an image in an OME-Zarr; its axes as letters (TCZYX), their steps and units if stated."""

    array: ZarrArray
    axes: str
    lengths: tuple[tuple[float, str], ...] = ()


def is_zarr(path: PathLike) -> bool:
    """Return whether a folder is a Zarr."""
    return any(os.path.lexists(os.path.join(path, name)) for name in ("zarr.json", ".zarray", ".zgroup"))


def axes_of(array: ZarrArray) -> str:
    """Return the axes of an array as letters, by the names of its dimensions or by their number."""
    return "TCZYX"[-array.ndim :] if array.names is None else "".join(name[:1].upper() for name in array.names)


def ome_images(path: PathLike, node: ZarrNode) -> list[OmeImage]:
    """Return the images that the metadata of a group describe."""
    images = node.attributes.get("ome", node.attributes).get("multiscales")
    try:
        return [_ome_image(path, each) for each in images or ()]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FileError(f"{path} is not a readable OME-Zarr: {first_line(error)}") from None


def _ome_image(path: PathLike, image: Mapping[str, Any]) -> OmeImage:
    largest = image["datasets"][0]
    inside = Path(path, str(largest["path"]))
    if not inside.resolve().is_relative_to(Path(path).resolve()):
        raise ValueError("its array lies outside of it")
    array = open_zarr_array(inside)
    if not image.get("axes"):
        return OmeImage(array, axes_of(array))
    axes = [each if isinstance(each, dict) else {"name": str(each)} for each in image["axes"]]
    scale = next((t["scale"] for t in largest.get("coordinateTransformations", ()) if "scale" in t), ())
    lengths = zip(map(float, scale), (str(each.get("unit", "")) for each in axes), strict=False)
    return OmeImage(array, "".join(str(each["name"])[:1].upper() for each in axes), tuple(lengths))


def read_zarr_node(path: PathLike) -> ZarrNode | None:
    """Return the description of a Zarr folder; None for other folders."""
    if not is_zarr(path):
        return None
    node: ZarrNode = _in_child("_describe", os.path.abspath(path))
    if node.array is not None:
        _check(path, node.array)
    return node


def open_zarr_array(path: PathLike) -> ZarrArray:
    """Check the description of an array; return the array."""
    node = read_zarr_node(path)
    if node is None or node.array is None:
        raise FileError(f"{path} is no Zarr array; it may be damaged")
    return node.array


def _check(path: PathLike, array: ZarrArray) -> None:
    if not array.shape or min(array.shape) < 1 or min(array.chunks) < 1:
        raise FileError(f"{path} has the shape {array.shape[:4]} in chunks of {array.chunks[:4]}; it may be damaged")
    check_pixels(path, math.prod(array.chunks[:-1]), array.chunks[-1])
    values, pieces = (
        math.prod(array.shape),
        math.prod(-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True)),
    )
    if values > _MOST_VALUES or pieces > _MOST_PIECES:
        raise FileError(
            f"{path} declares {float(values):.2g} values in {float(pieces):.2g} pieces; relblur reads up to "
            f"{_MOST_VALUES:.2g} in {_MOST_PIECES:.2g}, cut larger pieces"
        )


def _in_child(function: str, path: str, *arguments: Any, unpacked: int = 0) -> Any:
    limits = Limits(CHILD_BYTES + _COPIES * unpacked, FREE_SECONDS + unpacked / SLOWEST_BYTES)
    return limited(f"{__name__}:{function}", path, path, *arguments, limits=limits)


def _opened(path: str) -> Any:
    """Open a Zarr in the child; refuse pipes, devices, and codecs or types other than packed numbers."""
    import zarr
    from zarr.storage import LocalStore

    class Files(LocalStore):  # type: ignore[misc]
        async def get(self, key: str, *arguments: Any, **options: Any) -> Any:
            file = Path(path, key)
            if file.exists() and not file.is_file():
                raise FileError(f"{file} is a pipe, a device or a folder; it may be damaged")
            return await super().get(key, *arguments, **options)

    node = zarr.open(Files(path, read_only=True), mode="r")
    if hasattr(node, "shape"):
        unknown = sorted({name for name in _codecs(node.metadata.to_dict()) if name not in _CODECS})
        if node.dtype.kind not in "iuf" or unknown:
            what = f"values packed by {unknown[0]}" if unknown else f"values of type {node.dtype}"
            raise FileError(
                f"{path} holds {what[:80]}; relblur reads numbers that are plain or packed by zstd, blosc or gzip"
            )
    return node


def _describe(path: str, progress: Callable[[float], None]) -> ZarrNode:
    node = _opened(path)
    attributes = dict(node.attrs)
    if not hasattr(node, "shape"):
        return ZarrNode(attributes, None)
    names = getattr(node.metadata, "dimension_names", None)
    axes = tuple(map(str, names)) if names and None not in names else None
    return ZarrNode(attributes, ZarrArray(path, node.shape, node.dtype, node.chunks, axes))


def _codecs(about: Any) -> Iterator[str]:
    """Yield the names of all codecs in a description."""
    for key in ("codecs", "index_codecs", "filters", "compressor"):
        codecs = about.get(key) or ()
        for codec in codecs if isinstance(codecs, (list, tuple)) else (codecs,):
            # In version 2 these are objects of numcodecs, in version 3 tables.
            table = codec if isinstance(codec, dict) else codec.get_config()
            yield str(table.get("id", table.get("name")))
            yield from _codecs(table.get("configuration") or {})


def _read(path: str, place: tuple[Any, ...], progress: Callable[[float], None]) -> AnyArray:
    values = np.asarray(_opened(path)[place])
    return values.astype(values.dtype.newbyteorder("="), copy=False)
