"""Image files to arrays, with everything the file says about its numbers.

The content decides the format, not the name (except for camera raw, which looks like TIFF).
Whatever goes wrong becomes a one-line :class:`~relblur.base.errors.FileError`.
"""

from __future__ import annotations

import io
import logging
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError, RelblurError
from .budget import Budget
from .compression import JpegTable
from .containers import PNG_MAGIC, jpeg_content, png_content, webp_parts
from .exr import EXR_MAGIC, exr_pixels
from .quiet import quietly
from .reading import Source, opened
from .replacing import PathLike
from .shot import Shot
from .tiff import read_first_page, tiff_pixels
from .tiff_tags import TIFF_MAGIC

__all__ = ["RAW_SUFFIXES", "READ_SUFFIXES", "StoredImage", "read_exif", "read_image", "read_stored"]

READ_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".hdr", ".exr", ".npy")

#: Camera raw, read if the extra ``raw`` is installed.
RAW_SUFFIXES = (".dng", ".nef", ".cr2", ".cr3", ".arw", ".raf", ".orf", ".rw2", ".pef", ".srw", ".3fr", ".iiq", ".nrw")

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


_EXIF_IFD = 0x8769

#: Without any, Python itself tells standard error what a library logs.
_SILENCE = logging.NullHandler()


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
    jpeg: JpegTable | None = None  #: how coarsely it was compressed
    shot: Shot | None = None  #: how it was taken

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
    with opened(path) as source:
        stored = _decoded(source)
        return replace(stored, values=_plain_channels(stored.values, path))


def _decoded(source: Source) -> StoredImage:
    start = source.read(0, 16)
    if Path(source.path).suffix.lower() in RAW_SUFFIXES:
        from .raw import read_raw

        values, changes = read_raw(source)
        return StoredImage(values, "camera raw", linear=True, changes=changes)
    if start.startswith(b"\x93NUMPY"):
        return StoredImage(_decode_npy(source), "NPY")
    if start[:4] in TIFF_MAGIC:
        return _decode_tiff(source)
    if start[:4] == EXR_MAGIC:
        return StoredImage(exr_pixels(source), "OpenEXR", linear=True)
    if start.startswith((b"#?RADIANCE", b"#?RGBE")):
        return _decode_hdr(source)
    if start.startswith(PNG_MAGIC):
        return _decode_with_pillow(source, "PNG")
    if start.startswith(b"\xff\xd8\xff"):
        return _decode_with_pillow(source, "JPEG")
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return _decode_webp(source)
    raise FileError(f"{source.path} is not an image relblur can read; it takes {', '.join(READ_SUFFIXES)}")


def turned_upright(array: AnyArray, orientation: int) -> AnyArray:
    """Return an image as EXIF says it is to be seen."""
    transpose, flip_rows, flip_columns = _TURNS.get(orientation, (False, False, False))
    if transpose:
        array = array.swapaxes(0, 1)
    return array[:: -1 if flip_rows else 1, :: -1 if flip_columns else 1]


def _said(orientation: int) -> tuple[str, ...]:
    return ("turned upright as the file says",) if orientation in _TURNS else ()


def _decode_npy(source: Source) -> AnyArray:
    source.budget.check_file()
    try:
        source.stream.seek(0)
        version = np.lib.format.read_magic(source.stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(source.stream)
        if len(shape) in (2, 3):
            source.budget.check_pixels(*shape[:2])
        size = dtype.itemsize * math.prod(shape)
        if size > source.size - source.stream.tell():
            raise ValueError(f"it claims {size} bytes and has {source.size - source.stream.tell()}")
        source.stream.seek(0)
        return np.asarray(np.load(source.stream, allow_pickle=False))
    except RelblurError:
        raise
    except Exception as error:  # its header is parsed as Python: anything may come of it
        raise FileError(f"{source.path} is not a usable NPY file: {_first_line(error)}") from None


def _decode_tiff(source: Source) -> StoredImage:
    source.budget.check_file()
    page = read_first_page(source)
    array = tiff_pixels(page)
    if page.pages > 1:
        warnings.warn(f"{source.path} has {page.pages} pages; the first is used", stacklevel=6)
    return StoredImage(
        turned_upright(array, page.orientation), "TIFF", icc_profile=page.profile, changes=_said(page.orientation)
    )


def _decode_hdr(source: Source) -> StoredImage:
    size = re.search(rb"\n[-+][XY] (\d{1,20}) [-+][XY] (\d{1,20})\n", source.read(0, 100_000))
    height, width = (int(size[1]), int(size[2])) if size else (0, 0)
    source.budget.check_pixels(height, width)
    source.budget.check_expansion(12 * height * width, source.size)
    array = _decode_with_opencv(source.whole())
    if array is None:
        raise FileError(f"{source.path} is a damaged or incomplete Radiance HDR image")
    return StoredImage(array, "Radiance HDR", linear=True)


def _decode_webp(source: Source) -> StoredImage:
    webp = webp_parts(source)
    height, width = webp.size
    source.budget.check_pixels(height, width)
    source.budget.check_expansion(3 * height * width, webp.packed_bytes, lossy=True)
    # Pillow would make room for the picture first and has a limit of its own.
    array = _decode_with_opencv(webp.content)
    if array is None:
        raise FileError(f"{source.path} is a damaged or incomplete WebP image")
    with _damage_told(source):
        return _described(array, "WEBP", _exif_of(webp.exif), {"icc_profile": webp.profile})


def _decode_with_pillow(source: Source, kind: str) -> StoredImage:
    with _damage_told(source):
        content, picture = _open_picture(source, kind)
        picture.load()  # raises if the file is truncated
        table = JpegTable.of(getattr(picture, "quantization", None))  # gone once the pixels are converted
        described = _described(_pillow_pixels(picture, content), kind, picture.getexif(), picture.info)
        return replace(described, jpeg=table if kind == "JPEG" else None)


@contextmanager
def _damage_told(source: Source) -> Iterator[None]:
    """Say in one line what decoders say in many ways."""
    try:
        yield
    except RelblurError:
        raise
    except Exception as error:  # of any type; all mean an unusable file
        raise FileError(f"{source.path} is damaged or incomplete: {_first_line(error)}") from None


def _described(array: AnyArray, kind: str, exif: Any, info: Mapping[Any, Any]) -> StoredImage:
    """Return pixels with what EXIF and the rest of the file say about them."""
    colour_space, interoperability = exif.get_ifd(_EXIF_IFD).get(0xA001), None
    with suppress(KeyError):  # Pillow before 13 raises it where there is none
        interoperability = exif.get_ifd(0xA005).get(1)
    orientation = exif.get(0x0112, 1)
    profile = info.get("icc_profile")
    return StoredImage(
        turned_upright(array, orientation),
        kind,
        icc_profile=profile if isinstance(profile, bytes) else None,
        png_gamma=info.get("gamma") if kind == "PNG" else None,
        srgb="srgb" in info or colour_space == 1,
        adobe_rgb=colour_space == 2 or (colour_space == 0xFFFF and interoperability == "R03"),
        changes=_said(orientation),
        shot=Shot.of(exif.get_ifd(_EXIF_IFD)),
    )


def _exif_of(content: bytes) -> Any:
    from PIL.Image import Exif

    exif = Exif()
    with suppress(Exception):  # damaged: as if there were none
        exif.load(content)
    return exif


def read_exif(path: PathLike) -> tuple[dict[int, Any], int]:
    """Return what a photograph's EXIF data say about the shot, by number, and its width in px."""
    with opened(path) as source:
        start = source.read(0, 2)
        try:
            if start == b"RI":
                webp = webp_parts(source)
                return dict(_exif_of(webp.exif).get_ifd(_EXIF_IFD)), webp.size[1]
            _, picture = _open_picture(source, {PNG_MAGIC[:2]: "PNG", b"\xff\xd8": "JPEG"}.get(start, "TIFF"))
            return dict(picture.getexif().get_ifd(_EXIF_IFD)), int(picture.size[0])
        except RelblurError:
            raise
        except Exception:  # of any type; all mean an unusable file
            raise FileError(
                f"{path} is not a photograph whose EXIF data can be read; give the camera by hand"
            ) from None


class _Clocked(io.BytesIO):
    """Bytes that are not given out for ever: decoders that read on and on are stopped."""

    def __init__(self, content: bytes, budget: Budget) -> None:
        super().__init__(content)
        self.budget = budget

    def read(self, size: int | None = -1, /) -> bytes:
        self.budget.check_time()
        return super().read(size)


def _open_picture(source: Source, kind: str) -> tuple[bytes, Any]:
    """Return a file's content and the picture in it, whose size is checked and whose pixels are not yet unpacked.

    Pictures are opened by their own class: ``Image.open`` has a limit of 89 megapixels for the whole process.
    """
    from PIL.JpegImagePlugin import JpegImageFile
    from PIL.PngImagePlugin import PngImageFile
    from PIL.TiffImagePlugin import TiffImageFile

    logging.getLogger("PIL").addHandler(_SILENCE)  # the error says enough
    if kind == "TIFF":  # for what EXIF says; its pixels are unpacked elsewhere
        content = source.whole()
        return content, TiffImageFile(_Clocked(content, source.budget))
    content, packed_bytes = png_content(source) if kind == "PNG" else jpeg_content(source)
    picture = (PngImageFile if kind == "PNG" else JpegImageFile)(_Clocked(content, source.budget))
    source.budget.check_pixels(picture.height, picture.width)
    depth = 2 if kind == "PNG" and content[24] == 16 else 1
    channels = 3 if picture.mode == "P" else len(picture.getbands())
    unpacked = depth * picture.height * picture.width * channels
    source.budget.check_expansion(unpacked, packed_bytes, lossy=kind == "JPEG")
    return content, picture


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


def _decode_with_opencv(content: bytes) -> AnyArray | None:
    """Return what OpenCV makes of an image, None if nothing."""
    import cv2

    # The function moved in OpenCV 4.13.
    set_log_level = getattr(getattr(cv2.utils, "logging", cv2), "setLogLevel")  # noqa: B009
    with quietly():
        before = set_log_level(0)  # silent
        try:
            array = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
        except cv2.error:
            return None
        finally:
            set_log_level(before)
    if array is not None and array.ndim == 3:
        array = np.concatenate([array[:, :, 2::-1], array[:, :, 3:]], axis=2)  # BGR(A) to RGB(A)
    return array


def _plain_channels(array: AnyArray, path: PathLike) -> AnyArray:
    if array.ndim not in (2, 3) or array.size == 0:
        raise FileError(f"{path} holds an array of shape {array.shape}; an image has (H, W) or (H, W, channels)")
    if array.dtype == np.int32 and array.min() >= 0 and array.max() <= 65535:
        array = array.astype(np.uint16)  # Pillow's way of giving 16-bit grey
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
            raise FileError(f"{path} has {channels} channels; relblur takes 1 (grey) or 3 (colour), or 1 of alpha more")
    return np.ascontiguousarray(array)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
