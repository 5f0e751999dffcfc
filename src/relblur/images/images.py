"""Image files to arrays with their metadata: the table of formats.

The format is recognised by the content. Camera raw, a kind of TIFF, is recognised by the name. Every failure is a
one-line :class:`~relblur.base.errors.FileError`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from ..base._typing import AnyArray, PathLike
from ..base.errors import FileError
from .decoders import (
    decode_by_opencv,
    decode_exr,
    decode_npy,
    decode_picture,
    decode_raw,
    needed,
    open_picture,
)
from .exif import SOFTWARE, Exif
from .reading import Plane, Source, in_child, opened
from .stored import StoredImage
from .tiff import TIFF_MAGIC, decode_tiff, open_tiff
from .zarr_arrays import open_zarr_array

__all__ = [
    "RAW_SUFFIXES",
    "READ_SUFFIXES",
    "StoredImage",
    "format_name",
    "is_result",
    "read_image",
    "read_stored",
]

#: Camera raw, read if the extra ``raw`` is installed.
RAW_SUFFIXES = (".dng", ".nef", ".cr2", ".cr3", ".arw", ".raf", ".orf", ".rw2", ".pef", ".srw", ".3fr", ".iiq", ".nrw")


@dataclass(frozen=True)
class _Format:
    """A format: its recognition and its decoder."""

    name: str
    suffixes: tuple[str, ...]
    starts: tuple[bytes, ...]
    decode: Callable[[Source], StoredImage] | None = None  #: None: by :func:`decode_picture`
    in_child: bool = True  #: run in a child process, because the decoder cannot be stopped
    at: int = 0  #: offset of ``starts`` in the file

    def fits(self, start: bytes) -> bool:
        """Return whether a file with these first bytes has this format."""
        if start[4:8] == b"ftyp":  # a container of boxes: compare all its brands
            length = min(int.from_bytes(start[:4], "big"), len(start))
            brands = {start[8:12], *(start[at : at + 4] for at in range(16, length - 3, 4))}
            return self.at == 8 and not brands.isdisjoint(self.starts)
        return start[self.at :].startswith(self.starts) and (self.name != "WEBP" or start[:4] == b"RIFF")

    def read(self, source: Source, plane: Plane | None = None) -> StoredImage:
        """Decode a file, or one of its planes, in this process."""
        if self.name == "TIFF":
            return decode_tiff(source, plane)
        if self.decode is None:
            return decode_picture(source, self.name, plane)
        if plane is not None:
            raise FileError(f"{source.path} is {self.name}, which holds one picture; leave the page out")
        return self.decode(source)


_RAW = _Format("camera raw", RAW_SUFFIXES, (), decode_raw)
_FORMATS = (
    _Format("PNG", (".png",), (b"\x89PNG\r\n\x1a\n",), in_child=False),
    _Format("JPEG", (".jpg", ".jpeg"), (b"\xff\xd8\xff",), in_child=False),
    _Format("WEBP", (".webp",), (b"WEBP",), at=8),
    _Format("TIFF", (".tif", ".tiff"), TIFF_MAGIC, decode_tiff),
    _Format("AVIF", (".avif",), (b"avif", b"avis"), at=8),  # before HEIC, whose brands it may contain
    _Format("HEIC", (".heic", ".heif"), (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), at=8),
    _Format("BMP", (".bmp",), (b"BM",), in_child=False),
    _Format("GIF", (".gif",), (b"GIF87a", b"GIF89a"), in_child=False),
    _Format("PNM", (".ppm", ".pgm"), (b"P5", b"P6"), partial(decode_by_opencv, kind="PNM", linear=False)),
    _Format("Radiance HDR", (".hdr",), (b"#?RADIANCE", b"#?RGBE"), partial(decode_by_opencv, kind="Radiance HDR")),
    _Format("PFM", (".pfm",), (b"Pf", b"PF"), partial(decode_by_opencv, kind="PFM")),
    _Format("OpenEXR", (".exr",), (b"\x76\x2f\x31\x01",), decode_exr),
    _Format("NPY", (".npy",), (b"\x93NUMPY",), decode_npy, in_child=False),
)
_BY_NAME = {each.name: each for each in (*_FORMATS, _RAW)}

READ_SUFFIXES = tuple(suffix for each in _FORMATS for suffix in each.suffixes)


def read_image(path: PathLike) -> AnyArray:
    """Return an image with the values stored in the file: (H, W), or (H, W, 3) for colour.

    It is turned upright; an alpha channel is dropped with a warning.
    """
    return read_stored(path).values


def read_stored(path: PathLike) -> StoredImage:
    """Return the numbers of an image file with their metadata."""
    plane = path if isinstance(path, Plane) else None
    if plane is not None and plane.place:
        return StoredImage(_plain_channels(open_zarr_array(plane.path)[plane.place], path), "Zarr")
    with opened(path) as source:
        form = _RAW if Path(path).suffix.lower() in RAW_SUFFIXES else _format_of(source)
        needed(source, form.name)
        if form.in_child:
            stored = in_child(f"{__name__}:_decode", source, form.name, plane)
        else:
            stored = form.read(source, plane)
        return replace(stored, values=_plain_channels(stored.values, path))


def format_name(source: Source) -> str:
    """Return the name of a file's format, by its content; refuse files that are not images."""
    return _format_of(source).name


def _decode(source: Source, name: str, plane: Plane | None = None) -> StoredImage:
    return _BY_NAME[name].read(source, plane)


def _recognised(source: Source) -> _Format | None:
    start = source.read(0, 64)
    return next((each for each in _FORMATS if each.fits(start)), None)


def _format_of(source: Source) -> _Format:
    form = _recognised(source)
    if form is None and source.read(4, 4) == b"ftyp":
        raise FileError(f"{source.path} is a video; save two of its frames as images, and give these")
    if form is None:
        raise FileError(
            f"{source.path} is not an image relblur can read; it takes {', '.join(READ_SUFFIXES)}, "
            f"and camera raw ({', '.join(RAW_SUFFIXES[:4])} ...) with relblur[raw]"
        )
    return form


def is_result(path: PathLike) -> bool:
    """Return whether relblur wrote a PNG, JPEG or TIFF, by its metadata; False for other files."""
    try:
        with opened(path) as source:
            kind = form.name if (form := _recognised(source)) else ""
            if kind == "TIFF":
                with open_tiff(source) as file:
                    return str(file.pages[0].software).startswith(SOFTWARE.split()[0] + " ")
            if kind not in ("PNG", "JPEG"):
                return False
            info = open_picture(source, kind).info
            own = str(info.get("Software")).startswith(SOFTWARE.split()[0] + " ")
            return own or Exif.of(info.get("exif") or b"").names_relblur
    except Exception:  # any type: an unusable file is refused when it is read
        return False


def _plain_channels(array: AnyArray, path: PathLike) -> AnyArray:
    if array.dtype.kind not in "biuf":
        raise FileError(f"{path} holds {str(array.dtype)[:60]}; an image is made of real numbers")
    if array.ndim not in (2, 3) or array.size == 0:
        raise FileError(f"{path} holds an array of shape {array.shape}; an image has (H, W) or (H, W, channels)")
    if array.dtype == np.int32 and array.min() >= 0 and array.max() <= 65535:
        array = array.astype(np.uint16)  # Pillow decodes 16-bit grey as int32
    if array.dtype == np.int8:
        raise FileError(f"{path} holds signed numbers of 8 bits; save it with unsigned ones or 16 bits")
    if array.dtype == bool:
        array = array.astype(np.uint8) * np.uint8(255)
    if array.ndim == 3:
        channels = array.shape[2]
        if channels in (2, 4):
            warnings.warn(f"{path}: alpha channel dropped", stacklevel=4)
            array = array[:, :, : channels - 1]
        if array.shape[2] == 1:
            array = array[:, :, 0]
        elif array.shape[2] != 3:
            raise FileError(f"{path} has {channels} channels; relblur takes 1 (grey) or 3 (colour), and alpha")
    return np.ascontiguousarray(array)
