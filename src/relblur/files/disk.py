"""Arrays into files: whole files or none.

Everything written appears under its name when it is complete (:mod:`relblur.files.replacing`), so that
a crash leaves no half file.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError, InputError
from .replacing import PathLike, replacing

__all__ = [
    "IMAGE_SUFFIXES",
    "PathLike",
    "replacing",
    "write_image",
    "write_npz",
    "write_tiff",
]

PILLOW_SUFFIXES = (".png", ".jpg", ".jpeg")
TIFF_SUFFIXES = (".tif", ".tiff")
IMAGE_SUFFIXES = (*PILLOW_SUFFIXES, *TIFF_SUFFIXES, ".npy")


def write_image(path: PathLike, array: AnyArray, text: Mapping[str, str] | None = None, *, light: bool = False) -> None:
    """Write uint8, uint16 or float values exactly as they are; the suffix chooses the format.

    With ``light`` an 8-bit PNG says that its values are light, not sRGB.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npy":
        with replacing(path) as stream:
            np.save(stream, array, allow_pickle=False)
    elif suffix in TIFF_SUFFIXES:
        write_tiff(path, array, dict(text or {}))
    elif suffix in PILLOW_SUFFIXES:
        content = _encode_picture(suffix, array, text or {}, light)
        with replacing(path) as stream:
            stream.write(content)
    else:
        raise InputError(f"path ends in {suffix or 'nothing'!r}; use one of {', '.join(IMAGE_SUFFIXES)}")


def write_tiff(path: PathLike, array: AnyArray, description: Mapping[str, Any]) -> None:
    """Write one array, or a stack of pages (P, H, W), with a JSON description."""
    import tifffile

    photometric = "rgb" if array.ndim == 3 and array.shape[2] == 3 else "minisblack"
    with replacing(path) as stream:
        tifffile.imwrite(stream, array, photometric=photometric, description=json.dumps(description), metadata=None)


def write_npz(path: PathLike, arrays: Mapping[str, AnyArray], metadata: Mapping[str, Any]) -> None:
    """Write arrays and a JSON description into one compressed NPZ, readable by NumPy alone."""
    contents: dict[str, AnyArray] = {**arrays, "metadata": np.array(json.dumps(metadata))}
    # Level 1: numpy.savez_compressed takes four times as long for a tenth less.
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in contents.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def _encode_picture(suffix: str, array: AnyArray, text: Mapping[str, str], light: bool) -> bytes:
    from PIL import Image, PngImagePlugin

    colour = array.ndim == 3
    if suffix != ".png" and array.dtype != np.uint8:
        raise InputError(f"JPEG holds 8 bits, got {array.dtype}; write .png, .tif or .npy")
    if array.dtype == np.uint16 and colour:  # beyond Pillow
        import cv2

        done, data = cv2.imencode(".png", array[:, :, ::-1])
        if not done:
            raise FileError("OpenCV could not encode the PNG")
        return bytes(data)
    if array.dtype not in (np.uint8, np.uint16):
        raise InputError(f"PNG and JPEG hold uint8 or uint16, got {array.dtype}; write .tif or .npy")
    stream = io.BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(array))
    if suffix == ".png":
        info = PngImagePlugin.PngInfo()
        if light:
            info.add(b"gAMA", (100_000).to_bytes(4, "big"))
        for key, value in text.items():
            info.add_text(key, value)
        picture.save(stream, "PNG", pnginfo=info, compress_level=3)
    else:
        picture.save(stream, "JPEG", quality=95)
    return stream.getvalue()
