"""HEIC, AVIF and JPEG 2000: pictures in boxes, looked at before libheif, libavif and OpenJPEG unpack them."""

from __future__ import annotations

import io
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import FileError, MissingDependencyError
from .boxes import HeifParts, heif_parts, jpeg_2000_codestream
from .exif import exif_of
from .reading import Source
from .stored import StoredImage, damage_told, decode_with_opencv, described

__all__ = ["decode_avif", "decode_heif", "decode_jpeg_2000", "open_avif", "open_heif"]

#: Modes of Pillow whose numbers are intensities.
_PLAIN_MODES = ("L", "LA", "RGB", "RGBA", "I;16")


def decode_heif(source: Source) -> StoredImage:
    """HEIC, by libheif, which turns the picture upright itself."""
    with damage_told(source):
        parts, heif = open_heif(source)
        values = np.array(heif)  # a copy: the memory is pillow-heif's, and older ones free it with the file
        depth = int(heif.info.get("bit_depth", 8))
        if values.dtype == np.uint16:  # shifted up: the top of 10 bits shall be the top of 16
            values = np.rint((values >> 16 - depth) * (65535 / ((1 << depth) - 1))).astype(np.uint16)
        stored = described(values, "HEIC", exif_of(heif.info.get("exif") or b""), heif.info, upright=True)
        return _with_curve(stored, parts.transfer, source)


def open_heif(source: Source) -> tuple[HeifParts, Any]:
    """Return what a HEIC file says about itself, and its picture, not yet unpacked."""
    try:
        import pillow_heif
    except ImportError:
        raise MissingDependencyError(
            f"{source.path} is HEIC, which needs pillow-heif: pip install 'relblur[heif]'"
        ) from None
    parts = _checked_parts(source)
    return parts, pillow_heif.open_heif(io.BytesIO(parts.content), convert_hdr_to_8bit=False)


def decode_avif(source: Source) -> StoredImage:
    """AVIF, by libavif in Pillow; of several frames the first."""
    with damage_told(source):
        parts, picture = open_avif(source)
        if getattr(picture, "n_frames", 1) > 1:
            warnings.warn(f"{source.path} has several frames; the first is used", stacklevel=7)
        picture.load()
        stored = described(np.asarray(picture), "AVIF", picture.getexif(), picture.info)
        return _with_curve(stored, parts.transfer, source)


def open_avif(source: Source) -> tuple[HeifParts, Any]:
    """Return what an AVIF file says about itself, and its picture, not yet unpacked."""
    try:
        from PIL import _avif  # noqa: F401
        from PIL.AvifImagePlugin import AvifImageFile
    except ImportError:
        raise MissingDependencyError(
            f"{source.path} is AVIF, which needs Pillow 11.3 or newer with AVIF: pip install -U pillow"
        ) from None
    parts = _checked_parts(source)
    return parts, AvifImageFile(io.BytesIO(parts.content))


def _with_curve(stored: StoredImage, transfer: int | None, source: Source) -> StoredImage:
    """Return a picture that was made for viewing with the tone curve that its box names: sRGB if it names none."""
    if transfer in (16, 18) and stored.icc_profile is None:
        raise FileError(f"{source.path} holds HDR video's tones (PQ or HLG); export it as standard dynamic range")
    return replace(stored, srgb=transfer != 8, linear=transfer == 8, lossy=True)


def decode_jpeg_2000(source: Source) -> StoredImage:
    """JPEG 2000, by OpenJPEG in Pillow, deep colour by OpenCV."""
    from PIL.Jpeg2KImagePlugin import Jpeg2KImageFile

    content, stream = jpeg_2000_codestream(source)
    _check_packed(source, stream.size, stream.packed_bytes, stream.components * (2 if stream.bits > 8 else 1))
    source.budget.check_segments(stream.tiles)
    with damage_told(source):
        picture = Jpeg2KImageFile(io.BytesIO(content))
        if (picture.height, picture.width) != stream.size:
            raise FileError(f"{source.path} is damaged or incomplete: it states two sizes")
        if stream.bits > 8 and stream.components > 1:  # Pillow reduces deep colour to 8 bits
            array = decode_with_opencv(content)
            if array is None:
                raise FileError(f"{source.path} is damaged or incomplete")
        else:
            picture.load()
            array = np.asarray(picture if picture.mode in _PLAIN_MODES else picture.convert("RGB"))
        stored = described(array, "JPEG 2000", picture.getexif(), picture.info)
        return replace(stored, lossy=stream.lossy)


def _checked_parts(source: Source) -> HeifParts:
    parts = heif_parts(source)
    _check_packed(source, parts.size, parts.packed_bytes)
    return parts


def _check_packed(source: Source, size: tuple[int, int], packed_bytes: int, bytes_per_pixel: int = 3) -> None:
    source.budget.check_pixels(*size)
    source.budget.check_expansion(bytes_per_pixel * size[0] * size[1], packed_bytes, lossy=True)
