"""Zarr arrays (versions 2 and 3) read chunk by chunk, with the limits of all other formats.

The description is checked before anything is unpacked: real numbers, a regular grid, and codecs whose result is limited
to the size of a chunk. Files are opened as pictures are, so pipes and devices are refused.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError
from .budget import MOST_SEGMENTS, Budget
from .reading import Source, opened, read_bytes
from .replacing import PathLike

__all__ = ["ZarrArray", "ZarrNode", "open_zarr_array", "read_zarr_node"]

#: Bytes of a description; settings have some kilobytes.
_MOST_DESCRIPTION_BYTES = 10_000_000

_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
_OLD_TYPE = re.compile(r"[<>|=][uif][1248]")

#: Packing makes noise longer, by some bytes.
_SPARE_BYTES = 100_000

_COMPRESSORS = ("zstd", "blosc", "gzip", "zlib", "lz4")
_CHECKSUM = "crc32c"

#: Offset and length of a chunk that a shard does not hold.
_NOT_THERE = 2**64 - 1


@dataclass(frozen=True)
class ZarrNode:
    """A group or an array as its folder describes it; ``array`` is empty for a group."""

    attributes: Mapping[str, Any]
    array: Mapping[str, Any]


@dataclass(frozen=True)
class Shards:
    """Where the chunks in a file lie that holds several of them."""

    chunks: tuple[int, ...]  #: per dimension
    index_first: bool
    checked: bool  #: the index ends with a checksum


@dataclass(frozen=True)
class ZarrArray:
    """An array on a disk, of which rectangles are read by index."""

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]  #: with the byte order of the file
    chunks: tuple[int, ...]
    fill: Any  #: value of the chunks that are not there
    names: tuple[str, ...] | None  #: of the dimensions
    key: tuple[str, str]  #: what the names of chunk files begin with, and what separates their numbers
    order: tuple[int, ...]  #: the dimension that is stored first, second, ...
    packing: tuple[str, ...]  #: codecs in the order in which they are undone
    shards: Shards | None

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __getitem__(self, place: Any) -> AnyArray:
        """Return a part, given by slices of step 1 and whole numbers."""
        place = place if isinstance(place, tuple) else (place,)
        place += (slice(None),) * (self.ndim - len(place))
        whole = [slice(each, each + 1) if isinstance(each, int) else each for each in place]
        spans = [each.indices(length)[:2] for each, length in zip(whole, self.shape, strict=True)]
        found = np.full([stop - start for start, stop in spans], self.fill, self.dtype.newbyteorder("="))
        numbers = (range(a // c, -(-b // c)) for (a, b), c in zip(spans, self.chunks, strict=True))
        for number in itertools.product(*numbers):
            chunk = self._chunk(number)
            if chunk is not None:
                at = [(n * c, a, b) for n, c, (a, b) in zip(number, self.chunks, spans, strict=True)]
                inside = [(max(a, start), min(b, start + c)) for (start, a, b), c in zip(at, self.chunks, strict=True)]
                target = tuple(slice(low - a, high - a) for (low, high), (_, a, _) in zip(inside, at, strict=True))
                taken = tuple(slice(low - s, high - s) for (low, high), (s, _, _) in zip(inside, at, strict=True))
                found[target] = chunk[taken]
        return found[tuple(0 if isinstance(each, int) else slice(None) for each in place)]

    def _chunk(self, number: tuple[int, ...]) -> AnyArray | None:
        """Return a chunk; None if it is not there."""
        size = math.prod(self.chunks) * self.dtype.itemsize
        per = self.shards.chunks if self.shards else (1,) * self.ndim
        start, separator = self.key
        name = start + separator.join(str(n // p) for n, p in zip(number, per, strict=True))
        path = os.path.join(self.path, name)
        if not os.path.lexists(path):
            return None
        with opened(path) as source:
            if self.shards is None:
                if source.size > 2 * size + _SPARE_BYTES:
                    raise _damaged(path, f"it has {source.size} bytes for a chunk of {size}")
                content: bytes | None = source.read(0, source.size)
            else:
                within = tuple(n % p for n, p in zip(number, per, strict=True))
                content = _in_shard(source, self.shards, int(np.ravel_multi_index(within, per)), size)
            if content is None:
                return None
            source.budget.check_expansion(size, len(content))
            for done, codec in enumerate(self.packing, start=1):
                wanted = size + 4 * self.packing[done:].count(_CHECKSUM)
                content = _unpacked(codec, content, wanted, path)
            if len(content) != size:
                raise _damaged(path, f"a chunk has {len(content)} bytes instead of {size}")
        stored = np.frombuffer(content, self.dtype).reshape([self.chunks[axis] for axis in self.order])
        return stored.transpose(np.argsort(self.order))


def read_zarr_node(path: PathLike) -> ZarrNode | None:
    """Return how a folder describes itself; None if there is no Zarr in it."""
    home = Path(path)
    if os.path.lexists(home / "zarr.json"):
        about = _json(home / "zarr.json")
        if about.get("zarr_format") != 3 or about.get("node_type") not in ("array", "group"):
            raise _damaged(path, "it is neither an array nor a group of Zarr 3")
        return ZarrNode(_table(about, "attributes", path), about if about["node_type"] == "array" else {})
    attributes = _json(home / ".zattrs") if os.path.lexists(home / ".zattrs") else {}
    if os.path.lexists(home / ".zarray"):
        return ZarrNode(attributes, _json(home / ".zarray"))
    return ZarrNode(attributes, {}) if os.path.lexists(home / ".zgroup") else None


def open_zarr_array(path: PathLike) -> ZarrArray:
    """Return an array whose description has been checked."""
    node = read_zarr_node(path)
    if node is None or not node.array:
        raise FileError(f"{path} is no Zarr array; it may be damaged")
    try:
        array = _new_array(path, node.array) if node.array["zarr_format"] == 3 else _old_array(path, node.array)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _damaged(path, f"its description is not that of a Zarr array ({type(error).__name__})") from None
    if not array.shape or min(array.shape) < 1 or len(array.chunks) != array.ndim or min(array.chunks) < 1:
        raise _damaged(path, f"it claims the shape {array.shape[:4]} in chunks of {array.chunks[:4]}")
    if sorted(array.order) != list(range(array.ndim)) or array.key[1] not in ("/", "."):
        raise _damaged(path, "its description is not that of a Zarr array")
    budget = Budget(path, 0)
    budget.check_pixels(math.prod(array.chunks[:-1]), array.chunks[-1])
    budget.check_parts(
        math.prod(array.shape), math.prod(-(-n // c) for n, c in zip(array.shape, array.chunks, strict=True))
    )
    return array


def _new_array(path: PathLike, about: Mapping[str, Any]) -> ZarrArray:
    """Return an array of version 3."""
    shape = _whole_numbers(about["shape"])
    if about["data_type"] not in _TYPES:
        raise _refused(path, f"values of type {about['data_type']}")
    if about["chunk_grid"]["name"] != "regular" or about.get("storage_transformers"):
        raise _refused(path, "chunks of different sizes, or changed between file and array")
    chunks = _whole_numbers(about["chunk_grid"]["configuration"]["chunk_shape"])
    keys = about["chunk_key_encoding"]
    start, usual = {"default": ("c", "/"), "v2": ("", ".")}[keys["name"]]
    separator = (keys.get("configuration") or {}).get("separator", usual)
    codecs, shards = [_named(codec) for codec in about["codecs"]], None
    if [name for name, _ in codecs] == ["sharding_indexed"]:
        (_, how), outer = codecs[0], chunks
        chunks = _whole_numbers(how["chunk_shape"])
        per = tuple(o // c for o, c in zip(outer, chunks, strict=True))
        if any(o % c for o, c in zip(outer, chunks, strict=True)) or math.prod(per) > MOST_SEGMENTS:
            raise _damaged(path, f"its shards hold {math.prod(per)} chunks")
        codecs, index = [_named(codec) for codec in how["codecs"]], [_named(codec) for codec in how["index_codecs"]]
        names = [name for name, _ in index]
        if names not in (["bytes"], ["bytes", _CHECKSUM]) or index[0][1].get("endian") != "little":
            raise _refused(path, "shards with an index of another form")
        shards = Shards(per, how.get("index_location", "end") == "start", names[-1] == _CHECKSUM)
    order = tuple(range(len(shape)))
    while codecs and codecs[0][0] == "transpose":
        turn = _whole_numbers(codecs.pop(0)[1]["order"])
        order = tuple(order[axis] for axis in turn)
    if not codecs or codecs[0][0] != "bytes":
        raise _refused(path, f"values packed by {codecs[0][0] if codecs else 'nothing'}")
    byte_order = {"little": "<", "big": ">"}[codecs[0][1].get("endian", "little")]
    dtype = np.dtype(about["data_type"]).newbyteorder(byte_order)
    packing = _packing(path, [name for name, _ in codecs[1:]][::-1], ("zstd", "blosc", "gzip", _CHECKSUM))
    names_of = about.get("dimension_names")
    dimensions = tuple(str(name) for name in names_of) if names_of and None not in names_of else None
    fill, key = _fill(about["fill_value"], dtype), (f"{start}{separator}" if start else "", separator)
    return ZarrArray(os.fspath(path), shape, dtype, chunks, fill, dimensions, key, order, packing, shards)


def _old_array(path: PathLike, about: Mapping[str, Any]) -> ZarrArray:
    """Return an array of version 2."""
    if not (isinstance(about["dtype"], str) and _OLD_TYPE.fullmatch(about["dtype"])):
        raise _refused(path, f"values of type {about['dtype']}")
    if about["zarr_format"] != 2 or about.get("filters"):
        raise _refused(path, "values packed by filters")
    dtype, shape, chunks = np.dtype(about["dtype"]), _whole_numbers(about["shape"]), _whole_numbers(about["chunks"])
    packing = _packing(path, [about["compressor"]["id"]] if about["compressor"] else [], _COMPRESSORS)
    axes = range(len(shape))
    order = {"C": tuple(axes), "F": tuple(reversed(axes))}[about["order"]]
    key = ("", about.get("dimension_separator", "."))
    return ZarrArray(
        os.fspath(path), shape, dtype, chunks, _fill(about["fill_value"], dtype), None, key, order, packing, None
    )


def _packing(path: PathLike, names: list[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the codecs in the order in which they are undone: checksums, and one that packs at the most."""
    others = [name for name in names if name != _CHECKSUM]
    if len(others) > 1 or any(name not in known for name in names):
        raise _refused(path, f"values packed by {' and '.join(map(str, names))}")
    return tuple(names)


def _unpacked(codec: str, content: bytes, size: int, path: str) -> bytes:
    """Return the ``size`` bytes that were packed, and never more."""
    if codec == _CHECKSUM:
        from google_crc32c import value

        if len(content) < 4 or value(content[:-4]) != int.from_bytes(content[-4:], "little"):
            raise _damaged(path, "its checksum is wrong")
        return content[:-4]
    try:
        if codec in ("gzip", "zlib"):
            return _inflated(content, size)
        from numcodecs import get_codec  # the whole package: threads may not see a registry that is being filled

        decode, result = get_codec({"id": codec}).decode, np.empty(size, np.uint8)
        decode(content, result)  # refuses to unpack more
        try:
            decode(content, np.empty(size - 1, np.uint8))
        except (ValueError, RuntimeError):
            return result.tobytes()
    except (ValueError, RuntimeError, zlib.error) as error:
        raise _damaged(path, str(error)) from None
    raise _damaged(path, f"a chunk of it unpacks to less than {size} bytes")


def _inflated(content: bytes, size: int) -> bytes:
    found = b""
    while content and len(found) <= size:  # gzip files may have several members
        inflater = zlib.decompressobj(wbits=47)
        found += inflater.decompress(content, size + 1 - len(found))
        if not inflater.eof:
            raise ValueError(f"it unpacks to more than {size} bytes, or ends too early")
        content = inflater.unused_data
    return found


def _in_shard(source: Source, shards: Shards, number: int, size: int) -> bytes | None:
    """Return a chunk of a shard; None if it is not there."""
    length = 16 * math.prod(shards.chunks) + 4 * shards.checked
    index = source.read(0 if shards.index_first else source.size - length, length)
    if len(index) < length:
        raise _damaged(source.path, "it is shorter than its index")
    if shards.checked:
        index = _unpacked(_CHECKSUM, index, length - 4, os.fspath(source.path))
    offset, count = (int(n) for n in np.frombuffer(index, "<u8")[2 * number : 2 * number + 2])
    if offset == count == _NOT_THERE:
        return None
    if count > 2 * size + _SPARE_BYTES:
        raise _damaged(source.path, f"a chunk claims {count} bytes")
    content = source.read(offset, count)
    if len(content) < count:
        raise _damaged(source.path, "a chunk reaches beyond the file")
    return content


def _json(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(read_bytes(path, _MOST_DESCRIPTION_BYTES))
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise _damaged(path, "it is no table in JSON")
    return about


def _table(about: Mapping[str, Any], name: str, path: PathLike) -> dict[str, Any]:
    found = about.get(name) or {}
    if not isinstance(found, dict):
        raise _damaged(path, f"its {name} are no table")
    return found


def _named(codec: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(codec, str):
        return codec, {}
    return str(codec["name"]), dict(codec.get("configuration") or {})


def _whole_numbers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(each) is int for each in values):
        raise TypeError
    return tuple(values)


def _fill(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return the value of what is not there; None is 0."""
    native = dtype.newbyteorder("=")
    if isinstance(value, str) and value.startswith("0x"):
        return np.frombuffer(int(value, 16).to_bytes(dtype.itemsize, "big"), dtype.newbyteorder(">"))[0]
    return native.type(float(value) if isinstance(value, str) else value or 0)


def _damaged(path: PathLike, why: str) -> FileError:
    return FileError(f"{path} cannot be read: {' '.join(why.split())}; it may be damaged")


def _refused(path: PathLike, what: str) -> FileError:
    return FileError(f"{path} holds {what[:80]}; relblur reads numbers that are plain or packed by zstd, blosc or gzip")
