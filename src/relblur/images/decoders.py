"""Decoders from an open file to a :class:`~relblur.images.stored.StoredImage`, for all formats but TIFF.

Each decoder checks the declared size first. The table of :mod:`relblur.images.images` states which decoders run in a
child process.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import sys
import warnings
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError, MissingDependencyError, RelblurError
from .compression import JpegTable
from .exif import Exif, exif_of
from .reading import Plane, Source, first_line, in_child
from .stored import StoredImage, damage_as_error, described

__all__ = [
    "count_frames",
    "decode_by_opencv",
    "decode_exr",
    "decode_npy",
    "decode_picture",
    "decode_raw",
]
__all__ += ["needed", "open_picture", "opencv_values", "pillow_values"]

#: Lossless compressions of OpenEXR: none, RLE, ZIPS, ZIP, PIZ.
_LOSSLESS_EXR = range(5)

#: Classes of Pillow, used directly because ``Image.open`` is limited to 89 megapixels.
_CLASSES = {
    "PNG": "PngImagePlugin.PngImageFile", "JPEG": "JpegImagePlugin.JpegImageFile", "GIF": "GifImagePlugin.GifImageFile",
    "BMP": "BmpImagePlugin.BmpImageFile", "WEBP": "WebPImagePlugin.WebPImageFile",
    "AVIF": "AvifImagePlugin.AvifImageFile",
}  # fmt: skip
_LOSSY = ("JPEG", "WEBP", "HEIC", "AVIF")
#: Modes of Pillow whose numbers are intensities.
_PLAIN_MODES = ("L", "LA", "RGB", "RGBA", "I", "I;16", "I;16B", "F")

#: Package and extra of the formats that not every installation reads.
_PACKAGES = {
    "camera raw": ("rawpy", "which needs rawpy: pip install 'relblur[raw]'"),
    "OpenEXR": ("OpenEXR", "which needs the OpenEXR package: pip install 'relblur[exr]'"),
    "HEIC": ("pillow_heif", "which needs pillow-heif: pip install 'relblur[heif]'"),
    "AVIF": ("PIL._avif", "which needs Pillow 11.3 or newer with AVIF: pip install -U pillow"),
}


def needed(source: Source, kind: str) -> None:
    """Refuse a format whose package is not installed."""
    package, remedy = _PACKAGES.get(kind, ("", ""))
    if package and find_spec(package) is None:
        raise MissingDependencyError(f"{source.path} is {kind}, {remedy}")


#: Largest number of reads before the size of a picture is decoded; a JPEG has some hundred segments.
_MOST_READS = 50_000


class _LimitedBytes(io.BytesIO):
    """The bytes of a file, with limits on the time and the number of reads of a decoder."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.whole())
        self._source = source
        self.reads_left = _MOST_READS

    def read(self, size: int | None = -1, /) -> bytes:
        self._source.check_time()
        self.reads_left -= 1
        if self.reads_left < 0:
            raise FileError(f"{self._source.path} is damaged or incomplete: its header does not end")
        return super().read(size)


def open_picture(source: Source, kind: str) -> Any:
    """Return a picture of Pillow or pillow-heif with a checked size, whose pixels are still packed."""
    content = _LimitedBytes(source)
    if kind == "HEIC":
        import pillow_heif

        picture = pillow_heif.open_heif(content, convert_hdr_to_8bit=False)
        depth = 2 if picture.mode.endswith(";16") else 1
        channels = len(picture.mode.partition(";")[0])
    else:
        logging.getLogger("PIL").addHandler(logging.NullHandler())  # keeps Python from printing the error
        module, _, name = _CLASSES[kind].partition(".")
        picture = getattr(importlib.import_module(f"PIL.{module}"), name)(content)
        depth = 2 if _is_deep(picture) else 1
        channels = 3 if picture.mode == "P" else len(picture.getbands())
    content.reads_left = sys.maxsize
    width, height = picture.size
    source.check_pixels(height, width)
    source.check_expansion(depth * height * width * channels, lossy=kind in _LOSSY)
    return picture


def _is_deep(picture: Any) -> bool:
    """Return whether a PNG has 16 bits, by its raw mode: the mode of a colour image in Pillow has 8."""
    return picture.format == "PNG" and "16" in str(picture.tile[0][3] if picture.tile else "")


def count_frames(source: Source, kind: str) -> int:
    """Return the number of pictures in a file that Pillow reads, 1 for all others."""
    if kind not in _CLASSES:
        return 1
    with damage_as_error(source):
        return int(getattr(_with_frames(open_picture(source, kind)), "n_frames", 1))


def _with_frames(picture: Any) -> Any:
    """Return a JPEG that contains further pictures as an MPO file; other pictures unchanged."""
    if picture.format != "JPEG" or "mp" not in picture.info:
        return picture
    from PIL.MpoImagePlugin import MpoImageFile

    return MpoImageFile.adopt(picture, picture._getmp())


def decode_picture(source: Source, kind: str, plane: Plane | None = None) -> StoredImage:
    """Decode a format of Pillow or pillow-heif; of several frames the first, or a given one."""
    with damage_as_error(source):
        picture = open_picture(source, kind)
        if plane is not None:
            picture = _with_frames(picture)
            if plane.number:  # unpacks all earlier frames that this one depends on
                picture.seek(plane.number)
        elif kind in ("GIF", "AVIF", "WEBP") and picture.is_animated:
            warnings.warn(f"{source.path} has {picture.n_frames} frames; frame 1 is used", stacklevel=7)
            picture.seek(0)
        if kind == "HEIC":
            exif, values = exif_of(picture.info.get("exif") or b""), _heif_values(picture)
        else:
            is_deep = _is_deep(picture)
            picture.load()  # raises if the file is truncated
            table = JpegTable.of(getattr(picture, "quantization", None))  # lost when the pixels are converted
            exif = picture.getexif()
            if is_deep and picture.mode in ("RGB", "RGBA", "LA"):  # Pillow reduces it to 8 bits
                values = np.asarray(in_child(f"{__name__}:opencv_values", source, kind))
            else:
                values = pillow_values(picture)
        stored = described(values, kind, exif, picture.info, upright=kind == "HEIC")
        if kind in ("HEIC", "AVIF"):
            return _with_curve(stored, source)
        return replace(stored, jpeg=table) if kind == "JPEG" else stored


def pillow_values(picture: Any) -> AnyArray:
    """Return the intensities of a picture of Pillow."""
    if picture.mode in _PLAIN_MODES:
        return np.asarray(picture)
    if picture.mode == "1":
        return np.asarray(picture.convert("L"))
    return np.asarray(picture.convert("RGBA" if "transparency" in picture.info else "RGB"))


def _heif_values(picture: Any) -> AnyArray:
    values = np.array(picture)  # a copy: pillow-heif owns the memory
    if values.dtype == np.uint16:  # the values are shifted up; scale them so that full scale is that of 16 bits
        depth = int(picture.info.get("bit_depth", 8))
        values = np.rint((values >> 16 - depth) * (65535 / ((1 << depth) - 1))).astype(np.uint16)
    return values


def _with_curve(stored: StoredImage, source: Source) -> StoredImage:
    """Set the tone curve that the box of a HEIC or AVIF names (ITU-T H.273), sRGB by default."""
    content = source.whole()
    at = content.find(b"colrnclx")
    transfer = int.from_bytes(content[at + 10 : at + 12], "big") if at >= 0 else None
    if transfer in (16, 18) and stored.icc_profile is None:
        raise FileError(f"{source.path} has an HDR tone curve (PQ or HLG); export it as standard dynamic range")
    return replace(stored, srgb=transfer != 8, linear=transfer == 8, lossy=True)


def opencv_values(source: Source, kind: str, content: bytes | None = None) -> AnyArray:
    """Decode a file, or its changed content, with OpenCV, which keeps 16 bits of colour."""
    import cv2

    array = cv2.imdecode(np.frombuffer(content or source.whole(), np.uint8), cv2.IMREAD_UNCHANGED)
    if array is None:
        raise FileError(f"{source.path} is a damaged or incomplete {kind} image")
    source.check_pixels(*array.shape[:2])
    source.check_expansion(array.nbytes, lossy=kind in _LOSSY)
    if array.ndim == 3:
        array = np.concatenate([array[:, :, 2::-1], array[:, :, 3:]], axis=2)  # BGR(A) to RGB(A)
    return array


def decode_by_opencv(source: Source, kind: str, linear: bool = True) -> StoredImage:
    """Decode a format of OpenCV; ``linear`` states that it stores light."""
    return StoredImage(opencv_values(source, kind), kind, linear=linear)


def decode_npy(source: Source) -> StoredImage:
    """Decode an array of NumPy; refuse arrays of objects."""
    source.check_file()
    with damage_as_error(source):  # the header is parsed as Python, which may raise any type
        source.stream.seek(0)
        values = np.asarray(np.load(source.stream, allow_pickle=False))
    if values.ndim in (2, 3):
        source.check_pixels(*values.shape[:2])
    return StoredImage(values, "NPY")


def decode_exr(source: Source) -> StoredImage:
    """Decode the light in an OpenEXR file: (H, W, 3) or (H, W, 1), float32."""
    import OpenEXR

    source.check_file()
    # The library opens paths only. The path of the open descriptor, where it exists, excludes a swapped file.
    name = f"/proc/self/fd/{source.stream.fileno()}"
    open_file = partial(OpenEXR.File, name if os.path.exists(name) else os.fspath(source.path))
    try:
        with open_file(header_only=True) as exr:
            for part in exr.parts:
                _check_exr(source, part.header)
        with open_file(separate_channels=True) as exr:
            planes = {name: np.asarray(channel.pixels, np.float32) for name, channel in exr.channels().items()}
    except RelblurError:
        raise
    except Exception as error:
        detail = first_line(error)
        if "file has 0 parts" in detail or "Unable to run decoder" in detail:  # messages on damage, by version
            detail = "its pixels are damaged or incomplete"
        raise FileError(f"{source.path} is not a readable OpenEXR image: {detail.replace(name, 'it')}") from None
    for names in (("R", "G", "B"), ("Y",)):
        if all(name in planes for name in names):
            return StoredImage(np.stack([planes[name] for name in names], axis=2), "OpenEXR", linear=True)
    raise FileError(f"{source.path} has the channels {', '.join(planes)[:200]}; relblur takes R, G, B or Y")


def _check_exr(source: Source, header: Any) -> None:
    (left, top), (right, bottom) = (corner.tolist() for corner in header["dataWindow"])
    width, height = right - left + 1, bottom - top + 1
    source.check_pixels(height, width)
    lossy = int(header["compression"]) not in _LOSSLESS_EXR
    source.check_expansion(4 * height * width * len(header["channels"]), lossy=lossy)


def decode_raw(source: Source) -> StoredImage:
    """Decode camera raw to 16-bit linear light in the camera's own colours.

    The black level is subtracted, and the white balance of the shot is applied; all channels then clip at the same
    value. The mosaic is interpolated and the picture turned upright. No brightening, tone curve or colour matrix is
    applied: a matrix would mix noise and clipping of the channels, and blur is equal in every linear mixture.
    """
    import rawpy

    try:
        with rawpy.imread(io.BytesIO(source.whole())) as raw:
            height, width = int(raw.sizes.raw_height), int(raw.sizes.raw_width)
            source.check_pixels(height, width)
            source.check_expansion(2 * height * width)
            black = sorted({int(level) for level in raw.black_level_per_channel})
            white = int(raw.white_level)
            balance = [float(gain) for gain in raw.camera_whitebalance[:3]]
            values = raw.postprocess(
                gamma=(1, 1),
                no_auto_bright=True,
                adjust_maximum_thr=0.0,  # no brightening to an estimated maximum
                output_bps=16,
                use_camera_wb=balance[0] > 0,
                output_color=rawpy.ColorSpace.raw,
            )
    except RelblurError:
        raise
    except Exception as error:  # errors of LibRaw, OSError: an unusable file
        detail = first_line(error).strip("'")
        raise FileError(f"{source.path} is not a raw file that LibRaw can read: {detail}") from None
    green = balance[1] or 1.0
    shown = "/".join(f"{gain / green:.2f}" for gain in balance) if balance[0] > 0 else "LibRaw's daylight"
    changes = (
        f"black level {'/'.join(map(str, black))} subtracted, white level {white}",
        f"white balance {shown}",
        "mosaic interpolated, no brightening",
    )
    return StoredImage(values, "camera raw", linear=True, changes=changes, exif=Exif.of_tiff(source))
