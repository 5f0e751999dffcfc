"""Image files to arrays, with everything the file says about its numbers.

The content decides the format, not the name (except for camera raw, which looks like TIFF).
Whatever goes wrong becomes a one-line :class:`~relblur.errors.FileError`.
"""

from __future__ import annotations

import io
import logging
import math
import os
import re
import threading
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ._typing import AnyArray
from .errors import FileError, MissingDependencyError, RelblurError
from .files import PathLike, check_readable, read_bytes

__all__ = ["RAW_SUFFIXES", "READ_SUFFIXES", "StoredImage", "read_image", "read_stored"]

READ_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".hdr", ".exr", ".npy")

#: Camera raw, read if the extra ``raw`` is installed.
RAW_SUFFIXES = (".dng", ".nef", ".cr2", ".cr3", ".arw", ".raf", ".orf", ".rw2", ".pef", ".srw", ".3fr", ".iiq", ".nrw")

_TIFF_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_EXR_MAGIC = b"\x76\x2f\x31\x01"

#: How EXIF orientations 2 to 8 are undone: (transpose, flip rows, flip columns).
_TURNS = {
    2: (False, False, True),
    3: (False, True, True),
    4: (False, True, False),
    5: (True, False, False),
    6: (True, False, True),
    7: (True, True, True),
    8: (True, True, False),
}


#: Warnings and OpenCV's log are set for the whole process: two threads must not put back what the other has set.
_one_at_a_time = threading.RLock()

#: Files that claim more pixels, or more bytes for each of their own, are taken for damaged or hostile. Photographs
#: of noise shrink by 2, of a clear sky by 100; the densest packing in use, deflate, ends at 1000.
MOST_PIXELS = 250_000_000
MOST_EXPANSION, LEAST_SUSPECT_BYTES = 400, 50_000_000


@dataclass(frozen=True)
class StoredImage:
    """The numbers of a file, (H, W) or (H, W, 3), upright, and what the file says about them."""

    values: AnyArray
    format: str
    icc_profile: bytes | None = None
    png_gamma: float | None = None  #: the gAMA chunk: stored = light ** png_gamma
    srgb: bool = False  #: the file itself says sRGB (PNG chunk, EXIF)
    adobe_rgb: bool = False  #: EXIF says Adobe RGB
    linear: bool = False  #: the format holds light by definition
    changes: tuple[str, ...] = field(default=())  #: what was done to the pixels

    @property
    def bits(self) -> int | None:
        """Bits per value; None for floats."""
        return 8 * self.values.dtype.itemsize if np.issubdtype(self.values.dtype, np.integer) else None


def read_image(path: PathLike) -> AnyArray:
    """Return an image with the values stored in the file: (H, W), or (H, W, 3) for colour.

    Upright; an alpha channel is dropped with a warning.
    """
    return read_stored(path).values


def read_stored(path: PathLike) -> StoredImage:
    """Return the numbers of an image file with what the file says about them."""
    if Path(path).suffix.lower() in RAW_SUFFIXES:
        from .raw import read_raw

        check_readable(Path(path))
        values, changes = read_raw(path)
        return StoredImage(values, "camera raw", linear=True, changes=changes)
    content = read_bytes(path)
    if content.startswith(b"\x93NUMPY"):
        stored = StoredImage(_decode_npy(content, path), "NPY")
    elif content[:4] in _TIFF_MAGIC:
        stored = _decode_tiff(content, path)
    elif content[:4] == _EXR_MAGIC:
        stored = _decode_exr(path)
    elif content.startswith((b"#?RADIANCE", b"#?RGBE")):
        stored = _decode_hdr(content, path)
    else:
        stored = _decode_with_pillow(content, path)
    return replace(stored, values=_plain_channels(stored.values, path))


def check_claim(path: PathLike, shape: tuple[int, ...], bytes_per_value: float, file_bytes: int) -> None:
    """Refuse a file that claims to hold far more than it can, before memory is taken for it."""
    values = math.prod(int(n) for n in shape)
    pixels = values // max(1, min(shape)) if len(shape) > 2 else values
    expansion = values * bytes_per_value / max(file_bytes, 1)
    suspect = values * bytes_per_value > LEAST_SUSPECT_BYTES and expansion > MOST_EXPANSION
    if pixels > MOST_PIXELS or suspect:
        claim = "x".join(str(n) for n in shape)
        raise FileError(f"{path} claims to hold {claim} values in {file_bytes} bytes; it is damaged or hostile")


def turned_upright(array: AnyArray, orientation: int) -> AnyArray:
    """Return an image as EXIF says it is to be seen."""
    transpose, flip_rows, flip_columns = _TURNS.get(orientation, (False, False, False))
    if transpose:
        array = array.swapaxes(0, 1)
    return array[:: -1 if flip_rows else 1, :: -1 if flip_columns else 1]


def _said(orientation: int) -> tuple[str, ...]:
    return ("turned upright as the file says",) if orientation in _TURNS else ()


def _decode_npy(content: bytes, path: PathLike) -> AnyArray:
    try:
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))
    except Exception as error:  # its header is parsed as Python: anything may come of it
        raise FileError(f"{path} is not a usable NPY file: {_first_line(error)}") from None


def _decode_tiff(content: bytes, path: PathLike) -> StoredImage:
    import tifffile

    logger = logging.getLogger("tifffile")  # tells on stderr what it stumbles over; the error below says enough
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    try:
        with tifffile.TiffFile(io.BytesIO(content)) as tiff:
            page = tiff.pages[0]
            check_claim(path, page.shape, (page.bitspersample or 8) / 8, len(content))
            if len(tiff.pages) > 1:
                warnings.warn(f"{path} has {len(tiff.pages)} pages; the first is used", stacklevel=4)
            profile = page.tags.get(34675)
            orientation = page.tags.get(274)
            array = _tiff_page(page, content)
            if page.photometric == 0:  # white is zero
                array = np.iinfo(array.dtype).max - array if np.issubdtype(array.dtype, np.integer) else -array
            turn = int(orientation.value) if orientation else 1
            return StoredImage(
                turned_upright(array, turn),
                "TIFF",
                icc_profile=bytes(profile.value) if profile else None,
                changes=_said(turn),
            )
    except RelblurError:
        raise
    except Exception as error:  # tifffile raises whatever its parser trips over
        raise FileError(f"{path} is not a readable TIFF: {_first_line(error)}") from None


def _tiff_page(page: Any, content: bytes) -> AnyArray:
    try:
        array = np.asarray(page.asarray())
    except ValueError as error:
        fallback = _decode_with_opencv(content) if "imagecodecs" in str(error) else None
        if fallback is None:
            raise
        return fallback
    return np.moveaxis(array, 0, -1) if array.ndim == 3 and page.planarconfig == 2 else array


def _decode_exr(path: PathLike) -> StoredImage:
    try:
        import OpenEXR
    except ImportError:
        raise MissingDependencyError(
            f"{path} is OpenEXR, which needs the OpenEXR package; install relblur[exr]"
        ) from None
    try:
        with OpenEXR.File(os.fspath(path), separate_channels=True) as exr:
            planes = {name: np.asarray(channel.pixels, np.float32) for name, channel in exr.channels().items()}
    except Exception as error:
        raise FileError(f"{path} is not a readable OpenEXR image: {_first_line(error)}") from None
    for names in (("R", "G", "B"), ("Y",)):
        if all(name in planes for name in names):
            return StoredImage(np.stack([planes[name] for name in names], axis=2), "OpenEXR", linear=True)
    raise FileError(f"{path} has the channels {', '.join(planes)}; relblur takes R, G, B or Y")


def _decode_hdr(content: bytes, path: PathLike) -> StoredImage:
    check_claim(path, _hdr_size(content), 4, len(content))
    try:
        array = _decode_with_opencv(content)
    except Exception:  # OpenCV's own errors
        array = None
    if array is None:
        raise FileError(f"{path} is a damaged or incomplete Radiance HDR image")
    return StoredImage(array, "Radiance HDR", linear=True)


def _hdr_size(content: bytes) -> tuple[int, int]:
    size = re.search(rb"\n[-+][XY] (\d{1,20}) [-+][XY] (\d{1,20})\n", content[:100_000])
    return (int(size[1]), int(size[2])) if size else (0, 0)


def _decode_with_pillow(content: bytes, path: PathLike) -> StoredImage:
    from PIL import UnidentifiedImageError

    try:
        with _open_picture(content) as picture:
            check_claim(path, (picture.height, picture.width, len(picture.getbands())), 1, len(content))
            picture.load()  # raises if the file is truncated
            array = _pillow_pixels(picture, content)
            exif = picture.getexif()
            colour_space, interoperability = _exif_colour(exif)
            info = picture.info
            orientation = exif.get(0x0112, 1)
            profile = info.get("icc_profile")
            return StoredImage(
                turned_upright(array, orientation),
                picture.format or "?",
                icc_profile=profile if isinstance(profile, bytes) else None,
                png_gamma=info.get("gamma") if picture.format == "PNG" else None,
                srgb="srgb" in info or colour_space == 1,
                adobe_rgb=colour_space == 2 or (colour_space == 0xFFFF and interoperability == "R03"),
                changes=_said(orientation),
            )
    except UnidentifiedImageError:
        raise FileError(f"{path} is not an image relblur can read; it takes {', '.join(READ_SUFFIXES)}") from None
    except RelblurError:
        raise
    except Exception as error:  # decoders raise many types; all mean an unusable file
        raise FileError(f"{path} is damaged or incomplete: {_first_line(error)}") from None


def _open_picture(content: bytes) -> Any:
    """Read a picture's header; one that is too large is an error."""
    from PIL import Image

    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        return Image.open(io.BytesIO(content))


def _pillow_pixels(picture: Any, content: bytes) -> AnyArray:
    # Pillow reduces 16-bit colour to 8 bits; OpenCV does not.
    if picture.format == "PNG" and content[24] == 16 and picture.mode in ("RGB", "RGBA", "LA"):
        array = _decode_with_opencv(content)
        if array is not None:
            return array
    if picture.mode in ("P", "1", "CMYK", "YCbCr", "LAB", "HSV", "PA"):
        target = "RGBA" if "transparency" in picture.info else "RGB"
        return np.asarray(picture.convert("L" if picture.mode == "1" else target))
    return np.asarray(picture)


def _exif_colour(exif: Any) -> tuple[int | None, str | None]:
    """Return EXIF's ColorSpace and InteroperabilityIndex."""
    return exif.get_ifd(0x8769).get(0xA001), exif.get_ifd(0xA005).get(1)


def _decode_with_opencv(content: bytes) -> AnyArray | None:
    import cv2

    logging_of = cv2.utils.logging
    with _one_at_a_time:
        before = logging_of.setLogLevel(logging_of.LOG_LEVEL_SILENT)  # its decoders tell stderr what they stumble over
        try:
            array = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
        finally:
            logging_of.setLogLevel(before)
    if array is not None and array.ndim == 3:
        array = np.concatenate([array[:, :, 2::-1], array[:, :, 3:]], axis=2)  # BGR(A) to RGB(A)
    return array


def _plain_channels(array: AnyArray, path: PathLike) -> AnyArray:
    if array.dtype == np.int32 and array.min() >= 0 and array.max() <= 65535:
        array = array.astype(np.uint16)  # Pillow's way of giving 16-bit grey
    if array.dtype == bool:
        array = array.astype(np.uint8) * np.uint8(255)
    if array.ndim not in (2, 3) or array.size == 0:
        raise FileError(f"{path} holds an array of shape {array.shape}; an image has (H, W) or (H, W, channels)")
    if array.ndim == 3:
        channels = array.shape[2]
        if channels in (2, 4):
            warnings.warn(f"{path}: alpha channel dropped", stacklevel=4)
            array = array[:, :, : channels - 1]
        if array.shape[2] == 1:
            array = array[:, :, 0]
        elif array.shape[2] != 3:
            raise FileError(f"{path} has {channels} channels; relblur takes 1 (grey) or 3 (colour), or 1 of alpha more")
    return np.ascontiguousarray(array)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
