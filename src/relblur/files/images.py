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
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError, RelblurError
from .boxed_pictures import decode_avif, decode_heif, decode_jpeg_2000, open_avif, open_heif
from .boxes import CODESTREAM_MAGIC, JP2_MAGIC, brands_of, is_avif, is_heic
from .budget import Budget
from .compression import JpegTable
from .containers import PNG_MAGIC, jpeg_content, png_content, webp_parts
from .exif import EXIF_IFD, SOFTWARE, Exif, exif_of
from .exr import EXR_MAGIC, exr_pixels
from .plain_formats import PNM_MAGIC, gif_packed_bytes, pnm_pixels
from .reading import Source, opened
from .replacing import PathLike
from .stored import (
    StoredImage,
    damage_told,
    decode_with_opencv,
    described,
    first_line,
    said_of,
    turned_upright,
)
from .tiff import read_first_page, tiff_pixels
from .tiff_tags import TIFF_MAGIC

__all__ = ["RAW_SUFFIXES", "READ_SUFFIXES", "StoredImage", "is_result", "read_exif", "read_image", "read_stored"]

READ_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jp2", ".j2k", ".bmp", ".gif",
    ".ppm", ".pgm", ".hdr", ".exr", ".npy",
)  # fmt: skip

#: Camera raw, read if the extra ``raw`` is installed.
RAW_SUFFIXES = (".dng", ".nef", ".cr2", ".cr3", ".arw", ".raf", ".orf", ".rw2", ".pef", ".srw", ".3fr", ".iiq", ".nrw")

#: Without any, Python itself tells standard error what a library logs.
_SILENCE = logging.NullHandler()


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
    start = source.read(0, 64)
    if Path(source.path).suffix.lower() in RAW_SUFFIXES:
        from .raw import read_raw

        values, changes = read_raw(source)
        return StoredImage(values, "camera raw", linear=True, changes=changes, exif=Exif.of_tiff(source))
    for is_its_start, decode in _FORMATS:
        if is_its_start(start):
            return decode(source)
    raise FileError(_not_an_image(source, start))


def _not_an_image(source: Source, start: bytes) -> str:
    """Say what a file seems to be, and what to do about it."""
    videos = (b"\x1aE\xdf\xa3", b"\0\0\1\xba", b"\0\0\1\xb3", b"OggS", b"FLV")
    if brands_of(start) or start.startswith(videos) or (start[:4] == b"RIFF" and start[8:12] == b"AVI "):
        return f"{source.path} is a video; save two of its frames as images, and give these"
    if start.startswith((b"PK\3\4", b"%PDF", b"\x1f\x8b", b"8BPS")):
        kind = {b"PK": "an archive", b"%P": "a PDF", b"8B": "a Photoshop file"}.get(start[:2], "an archive")
        return f"{source.path} is {kind}, not an image; save the two photographs in it as images"
    return (
        f"{source.path} is not an image relblur can read; it takes {', '.join(READ_SUFFIXES)}, "
        f"and camera raw ({', '.join(RAW_SUFFIXES[:4])} ...) with relblur[raw]"
    )


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
        raise FileError(f"{source.path} is not a usable NPY file: {first_line(error)}") from None


def _decode_tiff(source: Source) -> StoredImage:
    source.budget.check_file()
    page = read_first_page(source)
    array = tiff_pixels(page)
    if page.pages > 1:
        warnings.warn(f"{source.path} has {page.pages} pages; the first is used", stacklevel=6)
    return StoredImage(
        turned_upright(array, page.orientation),
        "TIFF",
        icc_profile=page.profile,
        changes=said_of(page.orientation),
        exif=Exif.of_tiff(source),
    )


def _decode_hdr(source: Source) -> StoredImage:
    size = re.search(rb"\n[-+][XY] (\d{1,20}) [-+][XY] (\d{1,20})\n", source.read(0, 100_000))
    height, width = (int(size[1]), int(size[2])) if size else (0, 0)
    source.budget.check_pixels(height, width)
    source.budget.check_expansion(12 * height * width, source.size)
    array = decode_with_opencv(source.whole())
    if array is None:
        raise FileError(f"{source.path} is a damaged or incomplete Radiance HDR image")
    return StoredImage(array, "Radiance HDR", linear=True)


def _decode_webp(source: Source) -> StoredImage:
    webp = webp_parts(source)
    height, width = webp.size
    source.budget.check_pixels(height, width)
    source.budget.check_expansion(3 * height * width, webp.packed_bytes, lossy=True)
    # Pillow would make room for the picture first and has a limit of its own.
    array = decode_with_opencv(webp.content)
    if array is None:
        raise FileError(f"{source.path} is a damaged or incomplete WebP image")
    with damage_told(source):
        return described(array, "WEBP", exif_of(webp.exif), {"icc_profile": webp.profile, "exif": webp.exif})


def _decode_pnm(source: Source) -> StoredImage:
    return StoredImage(pnm_pixels(source), "PNM")


def _decode_with_pillow(source: Source, kind: str) -> StoredImage:
    with damage_told(source):
        content, picture = _open_picture(source, kind)
        if kind == "GIF" and picture.is_animated:
            warnings.warn(f"{source.path} has several frames; the first is used", stacklevel=7)
            picture.seek(0)
        picture.load()  # raises if the file is truncated
        table = JpegTable.of(getattr(picture, "quantization", None))  # gone once the pixels are converted
        stored = described(_pillow_pixels(picture, content), kind, picture.getexif(), picture.info)
        return replace(stored, jpeg=table if kind == "JPEG" else None)


def read_exif(path: PathLike) -> tuple[dict[int, Any], int]:
    """Return what a photograph's EXIF data say about the shot, by number, and its width in px."""
    with opened(path) as source:
        start = source.read(0, 2)
        try:
            if start == b"RI":
                webp = webp_parts(source)
                return dict(exif_of(webp.exif).get_ifd(EXIF_IFD)), webp.size[1]
            brands = brands_of(source.read(0, 64)) or ()
            if is_avif(brands):
                picture = open_avif(source)[1]
                return dict(picture.getexif().get_ifd(EXIF_IFD)), int(picture.size[0])
            if is_heic(brands):
                heif = open_heif(source)[1]
                return dict(exif_of(heif.info.get("exif") or b"").get_ifd(EXIF_IFD)), int(heif.size[0])
            _, picture = _open_picture(source, {PNG_MAGIC[:2]: "PNG", b"\xff\xd8": "JPEG"}.get(start, "TIFF"))
            return dict(picture.getexif().get_ifd(EXIF_IFD)), int(picture.size[0])
        except RelblurError:
            raise
        except Exception:  # of any type; all mean an unusable file
            raise FileError(
                f"{path} is not a photograph whose EXIF data can be read; give the camera by hand"
            ) from None


def is_result(path: PathLike) -> bool:
    """Return whether a PNG, JPEG or TIFF names relblur as its maker; of other files this is not known."""
    try:
        with opened(path) as source:
            start = source.read(0, 4)
            if start in TIFF_MAGIC:
                return Exif.of_tiff(source).names_relblur
            kind = {PNG_MAGIC[:2]: "PNG", b"\xff\xd8": "JPEG"}.get(start[:2])
            if kind is None:
                return False
            _, picture = _open_picture(source, kind)
            own = str(picture.info.get("Software")).startswith(SOFTWARE.split()[0] + " ")
            return own or Exif.of(picture.info.get("exif") or b"").names_relblur
    except Exception:  # of any type: a file that cannot be used is refused where it is read
        return False


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
    from PIL.BmpImagePlugin import BmpImageFile
    from PIL.GifImagePlugin import GifImageFile
    from PIL.JpegImagePlugin import JpegImageFile
    from PIL.PngImagePlugin import PngImageFile
    from PIL.TiffImagePlugin import TiffImageFile

    logging.getLogger("PIL").addHandler(_SILENCE)  # the error says enough
    if kind == "TIFF":  # for what EXIF says; its pixels are unpacked elsewhere
        content = source.whole()
        return content, TiffImageFile(_Clocked(content, source.budget))
    if kind in ("BMP", "GIF"):
        content = source.whole()
        packed_bytes = gif_packed_bytes(content) if kind == "GIF" else len(content)
    else:
        content, packed_bytes = png_content(source) if kind == "PNG" else jpeg_content(source)
    classes: dict[str, Any] = {"PNG": PngImageFile, "JPEG": JpegImageFile, "BMP": BmpImageFile, "GIF": GifImageFile}
    picture = classes[kind](_Clocked(content, source.budget))
    source.budget.check_pixels(picture.height, picture.width)
    depth = 2 if kind == "PNG" and content[24] == 16 else 1
    channels = 3 if picture.mode == "P" else len(picture.getbands())
    unpacked = depth * picture.height * picture.width * channels
    source.budget.check_expansion(unpacked, packed_bytes, lossy=kind == "JPEG")
    return content, picture


def _pillow_pixels(picture: Any, content: bytes) -> AnyArray:
    # Pillow reduces 16-bit colour to 8 bits; OpenCV does not.
    if picture.format == "PNG" and content[24] == 16 and picture.mode in ("RGB", "RGBA", "LA"):
        array = decode_with_opencv(content)
        if array is not None:
            return array
    if picture.mode in ("P", "1", "CMYK", "YCbCr", "LAB", "HSV", "PA"):
        target = "RGBA" if "transparency" in picture.info else "RGB"
        return np.asarray(picture.convert("L" if picture.mode == "1" else target))
    return np.asarray(picture)


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


def _begins(*magic: bytes) -> Callable[[bytes], bool]:
    return lambda start: start.startswith(magic)


#: How the bytes at the beginning of a file are known, and who decodes it.
_FORMATS: tuple[tuple[Callable[[bytes], bool], Callable[[Source], StoredImage]], ...] = (
    (_begins(b"\x93NUMPY"), lambda source: StoredImage(_decode_npy(source), "NPY")),
    (_begins(*TIFF_MAGIC), _decode_tiff),
    (_begins(EXR_MAGIC), lambda source: StoredImage(exr_pixels(source), "OpenEXR", linear=True)),
    (_begins(b"#?RADIANCE", b"#?RGBE"), _decode_hdr),
    (_begins(PNG_MAGIC), lambda source: _decode_with_pillow(source, "PNG")),
    (_begins(b"\xff\xd8\xff"), lambda source: _decode_with_pillow(source, "JPEG")),
    (lambda start: start[:4] == b"RIFF" and start[8:12] == b"WEBP", _decode_webp),
    (lambda start: is_avif(brands_of(start) or ()), decode_avif),
    (lambda start: is_heic(brands_of(start) or ()), decode_heif),
    (_begins(JP2_MAGIC, CODESTREAM_MAGIC), decode_jpeg_2000),
    (_begins(b"GIF87a", b"GIF89a"), lambda source: _decode_with_pillow(source, "GIF")),
    (_begins(b"BM"), lambda source: _decode_with_pillow(source, "BMP")),
    (_begins(*PNM_MAGIC), _decode_pnm),
)
