"""Arrays into files: whole files or none.

Everything written appears under its name when it is complete (:mod:`relblur.images.replacing`), so that
a crash leaves no half file.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError, InputError
from .exif import SOFTWARE, Exif, tiff_of_strips
from .replacing import PathLike, replacing

__all__ = [
    "IMAGE_SUFFIXES",
    "PathLike",
    "PictureTags",
    "replacing",
    "write_image",
    "write_npz",
    "write_tiff",
]

PILLOW_SUFFIXES = (".png", ".jpg", ".jpeg")
TIFF_SUFFIXES = (".tif", ".tiff")
IMAGE_SUFFIXES = (*PILLOW_SUFFIXES, *TIFF_SUFFIXES, ".npy")


#: Rows of a strip of a TIFF hold about so many bytes.
_STRIP_BYTES = 1 << 18


@dataclass(frozen=True, eq=False)
class PictureTags:
    """What a file states about its numbers: ICC profile, EXIF, PNG's sRGB and gAMA chunks; side of a pixel, µm."""

    profile: bytes | None = None
    exif: Exif | None = None
    srgb: bool = False
    png_gamma: float | None = None
    pixel_um: float | None = None


def write_image(
    path: PathLike, array: AnyArray, text: Mapping[str, str] | None = None, *, tags: PictureTags | None = None
) -> None:
    """Write uint8, uint16 or float values exactly as they are; the suffix chooses the format.

    ``text`` goes into PNG and TIFF, and marks a result of relblur, which is no input of a stack.
    """
    if text is not None:
        text = {"Software": SOFTWARE, **text}
    suffix = Path(path).suffix.lower()
    if suffix == ".npy":
        with replacing(path) as stream:
            np.save(stream, array, allow_pickle=False)
    elif suffix in TIFF_SUFFIXES and tags is None:
        write_tiff(path, array, dict(text or {}))
    elif suffix in IMAGE_SUFFIXES:
        tags = tags or PictureTags()
        is_tiff = suffix in TIFF_SUFFIXES
        content = _encode_tiff(array, tags) if is_tiff else _encode_picture(suffix, array, text or {}, tags)
        with replacing(path) as stream:
            stream.write(content)
    else:
        raise InputError(f"path ends in {suffix or 'nothing'!r}; use one of {', '.join(IMAGE_SUFFIXES)}")


def write_tiff(
    path: PathLike, array: AnyArray, description: Mapping[str, Any], *, pixel_um: float | None = None
) -> None:
    """Write one array, or a stack of pages (P, H, W); with a JSON description, if there is one, packed by deflate.

    ``pixel_um`` is the side of a pixel, micrometres, which the resolution of the file states in pixels a centimetre.
    """
    import tifffile

    photometric = "rgb" if array.ndim == 3 and array.shape[2] == 3 else "minisblack"
    per_cm = None if pixel_um is None else 1e4 / pixel_um
    scale: dict[str, Any] = {} if per_cm is None else {"resolution": (per_cm, per_cm), "resolutionunit": "CENTIMETER"}
    with replacing(path) as stream:
        tifffile.imwrite(
            stream,
            array,
            photometric=photometric,
            description=json.dumps(description),
            metadata=None,
            software=SOFTWARE if description else None,
            compression="zlib" if description else None,
            **scale,
        )


def write_npz(path: PathLike, arrays: Mapping[str, AnyArray], metadata: Mapping[str, Any]) -> None:
    """Write arrays and a JSON description into one compressed NPZ, readable by NumPy alone."""
    contents: dict[str, AnyArray] = {**arrays, "metadata": np.array(json.dumps(metadata))}
    # Level 1: numpy.savez_compressed takes four times as long for a tenth less.
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in contents.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def _encode_picture(suffix: str, array: AnyArray, text: Mapping[str, str], tags: PictureTags) -> bytes:
    from PIL import Image

    if suffix != ".png" and array.dtype != np.uint8:
        raise InputError(f"JPEG holds 8 bits, got {array.dtype}; write .png, .tif or .npy")
    if array.dtype not in (np.uint8, np.uint16):
        raise InputError(f"PNG and JPEG hold uint8 or uint16, got {array.dtype}; write .tif or .npy")
    if array.dtype == np.uint16 and array.ndim == 3:  # beyond Pillow
        import cv2

        done, data = cv2.imencode(".png", array[:, :, ::-1])
        if not done:
            raise FileError("OpenCV could not encode the PNG")
        return _with_chunks(bytes(data), text, tags)
    stream = io.BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(array))
    if suffix == ".png":
        picture.save(stream, "PNG", compress_level=3)
        return _with_chunks(stream.getvalue(), text, tags)
    exif = b"" if tags.exif is None else b"Exif\0\0" + tags.exif.packed()
    picture.save(stream, "JPEG", quality=95, exif=exif, icc_profile=tags.profile)
    return stream.getvalue()


def _with_chunks(png: bytes, text: Mapping[str, str], tags: PictureTags) -> bytes:
    """Return a PNG with what is stated about it, after its first chunk."""
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    if tags.profile is not None:
        info.add(b"iCCP", b"ICC profile\0\0" + zlib.compress(tags.profile))
    elif tags.srgb:
        info.add(b"sRGB", b"\0")
    elif tags.png_gamma:
        info.add(b"gAMA", struct.pack(">I", round(100_000 * tags.png_gamma)))
    if tags.pixel_um is not None:
        per_m = round(1e6 / tags.pixel_um)
        info.add(b"pHYs", struct.pack(">IIB", per_m, per_m, 1))
    if tags.exif is not None:
        info.add(b"eXIf", tags.exif.packed())
    for key, value in text.items():
        info.add_text(key, value)
    chunks = b""
    for kind, content, *_ in info.chunks:
        chunks += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    after_head = 8 + 25
    return png[:after_head] + chunks + png[after_head:]


def _encode_tiff(array: AnyArray, tags: PictureTags) -> bytes:
    """Return a TIFF of one page, packed by deflate: tifffile writes no EXIF, Pillow no 16-bit colour."""
    exif = tags.exif or Exif()
    values = np.atleast_3d(array)
    height, width, channels = values.shape
    is_whole = values.dtype.kind == "u"
    if is_whole:  # differences along a row are smaller
        values = np.diff(values, axis=1, prepend=values.dtype.type(0))
    values = values.astype(values.dtype.newbyteorder(exif.order), copy=False)  # type: ignore[arg-type]
    rows = max(1, _STRIP_BYTES // (width * channels * values.itemsize))
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        parts = [values[top : top + rows] for top in range(0, height, rows)]
        strips = list(pool.map(lambda part: zlib.compress(part.tobytes(), 4), parts))
    numbers = {
        256: [width],
        257: [height],
        258: [8 * values.itemsize] * channels,
        259: [8],  # deflate
        262: [2 if channels == 3 else 1],
        277: [channels],
        278: [rows],
        284: [1],
        317: [2 if is_whole else 1],
        339: [1 if is_whole else 3] * channels,
    }
    others = dict(exif.tags)
    if tags.pixel_um is not None:  # pixels a centimetre, as fractions
        numbers[296] = [3]
        per_cm = struct.pack(f"{exif.order}2I", round(1e7 / tags.pixel_um), 1000)
        others |= dict.fromkeys((282, 283), (5, 1, per_cm))
    undefined = 7
    if tags.profile is not None:
        others[34675] = (undefined, len(tags.profile), tags.profile)
    return tiff_of_strips(exif.order, numbers, others, strips)
