"""Convert decoded frames to light, and estimate the noise of their codec.

Blur is measured on brightness alone. Codecs keep this plane at full resolution, and one plane costs a third of three
colours. In most files brightness is computed from encoded colours, not from light. Undoing its tone curve is exact for
grey and a good approximation for all but saturated colours. Frames of red, green and blue are first converted to light.

Lossless codecs add no noise. Lossy codecs round the coefficients of a transform, which removes fine, weak texture. The
error follows from the quantiser stored in the data (H.264: its quantisation parameter, JPEG: its table); without one it
is assumed. :class:`relblur.Stream` ignores texture that is weak against this noise. The errors are correlated between
pixels and differ between a sharp and a blurry image, so standard errors are also widened (:data:`WIDENING`).
"""

from __future__ import annotations

import io
import math
import struct
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.tone import TOP, Curve, light_in_16_bits
from ...images.compression import JpegTable
from ...images.stored import StoredImage

__all__ = [
    "ASSUMED_LEVELS",
    "REFUSED",
    "ROUNDING_LEVELS",
    "WIDENING",
    "bits_of",
    "frame_light",
    "h264_levels",
    "light_of",
    "mjpeg_levels",
    "stored_as",
]

#: Weights of linear red, green and blue in the brightness (ITU-R BT.709).
_WEIGHTS = (0.2126, 0.7152, 0.0722)

#: Pixel formats: prefixes for brightness as the first plane, for colours and for grey; excluded suffixes.
_PLANAR = ("yuv4", "yuvj4", "yuva4", "gray", "nv12", "nv21", "nv16", "nv24")
_COLOURS, _GREYS = ("gbr", "rgb", "bgr", "pal"), ("gray", "ya8", "ya16", "mono")
_NOT_PLAIN = ("be", "f32le", "f16le")

#: Transfer characteristics that are refused, by number (ITU-T H.273).
REFUSED = {9: "logarithmic", 10: "logarithmic", 16: "PQ (HDR)", 17: "SMPTE 428", 18: "HLG (HDR)"}

#: Standard deviation of rounding to whole levels, levels.
ROUNDING_LEVELS = 1 / math.sqrt(12)

#: Error if the quantiser is unknown, levels of 255: that of H.264 and H.265 at usual quality (crf 23 and 28).
ASSUMED_LEVELS = 4.0

#: Factor of the standard errors of lossy frames. Chosen on three photographs: coverage of two standard errors is at
#: least that without compression (70 to 75 %), for JPEG with divisors up to 10 and H.264 up to crf 23.
WIDENING = 2.0

#: Error of H.264 over its quantiser step: fitted to crf 18 to 28 (0.29 for coefficients much larger than the step).
_SHARE_OF_STEP = 0.28
#: Upper limit of the error, levels: the contrast of photographs at the frequencies that a codec removes.
_MOST_LEVELS = 8.0

#: Head of FFmpeg's AVVideoEncParams: number of blocks, offset of the first, size of a block, kind, quantiser.
_HEAD = struct.Struct("=I4xQQii")
#: Offset in a block of the difference of its quantiser from the frame's, bytes.
_DELTA_AT = 16


def bits_of(frame: Any) -> int:
    """Return the number of bits per value of a frame of PyAV."""
    return max(8, *(int(component.bits) for component in frame.format.components))


def stored_as(frame: Any, codec: str, transfer: int) -> StoredImage:
    """Return the encoding of a frame (range, bits, transfer), for the choice of the tone curve.

    ``transfer`` is the number of the transfer characteristics. It is ignored for TIFF, because FFmpeg's decoder states
    gamma 2.2 for every file.
    """
    luma = ("full" if _is_luma(frame) else "") if _is_full_range(frame) else "limited"
    nothing = np.zeros((0, 0), np.uint8 if bits_of(frame) == 8 else np.uint16)
    return StoredImage(nothing, codec, transfer=None if codec == "tiff" else transfer, luma=luma)


def frame_light(frame: Any, curve: Curve) -> tuple[AnyArray, float]:
    """Return the light of a frame of PyAV, and the average step of light (0..1) per stored level of 255."""
    name, bits = frame.format.name, bits_of(frame)
    if frame.format.is_rgb or name.startswith(_COLOURS):
        return light_of(frame.to_ndarray(format="rgb24" if bits == 8 else "rgb48le"), curve)
    if name.startswith(_PLANAR) and not name.endswith(_NOT_PLAIN):
        return light_in_16_bits(_first_plane(frame, bits), curve, bits, full_range=_is_full_range(frame))
    # The conversion yields full range for every format.
    return light_of(frame.to_ndarray(format="gray" if bits == 8 else "gray16le"), curve)


def light_of(stored: AnyArray, curve: Curve) -> tuple[AnyArray, float]:
    """Return the light of an (H, W) or (H, W, 3) frame of full range, uint8 or uint16, and its step per level.

    The value 65535 means the top of the range: :class:`relblur.Stream` flags it as clipped.
    """
    channels, per_level = light_in_16_bits(stored, curve)
    if channels.ndim == 2 or channels.shape[2] == 1:
        return channels.reshape(channels.shape[:2]), per_level
    import cv2

    brightness = cv2.transform(channels.astype(np.float32), np.array([_WEIGHTS], np.float32))
    light = np.rint(brightness).clip(0, TOP).astype(np.uint16)
    light[channels.max(axis=2) == TOP] = TOP
    # Errors of the three channels are independent, so the weighted mean has a smaller one.
    return light, per_level * float(np.hypot.reduce(_WEIGHTS))


def _is_full_range(frame: Any) -> bool:
    if int(frame.color_range) in (1, 2):
        return int(frame.color_range) == 2
    return frame.format.name.startswith("yuvj") or not _is_luma(frame)


def _is_luma(frame: Any) -> bool:
    """Return whether the first plane is brightness computed from encoded colours, not grey or RGB."""
    return not (frame.format.is_rgb or frame.format.name.startswith((*_COLOURS, *_GREYS)))


def _first_plane(frame: Any, bits: int) -> AnyArray:
    plane = frame.planes[0]
    dtype = np.dtype("u1" if bits == 8 else "<u2")
    rows = np.frombuffer(plane, dtype, plane.height * plane.line_size // dtype.itemsize)
    return rows.reshape(plane.height, -1)[: frame.height, : frame.width]


def h264_levels(frame: Any) -> float | None:
    """Return the error of a decoded H.264 frame, levels of 255; 0 if lossless, None if the quantiser is unknown."""
    raw = next((bytes(data) for data in frame.side_data if data.type.name == "VIDEO_ENC_PARAMS"), b"")
    if len(raw) < _HEAD.size:
        return None
    blocks, offset, size, _, quantiser = _HEAD.unpack_from(raw)
    if blocks:
        if size < _DELTA_AT + 4 or offset + blocks * size > len(raw):
            return None
        table = np.frombuffer(raw, np.uint8, blocks * size, offset).reshape(blocks, size)
        quantiser += np.ascontiguousarray(table[:, _DELTA_AT : _DELTA_AT + 4]).view(np.int32).mean()
    return 0.0 if quantiser == 0 else min(_SHARE_OF_STEP * 2 ** ((quantiser - 4) / 6), _MOST_LEVELS)


def mjpeg_levels(packet: bytes) -> float | None:
    """Return the error of a Motion JPEG frame from its quantisation table, levels of 255; None without a table."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(packet), formats=["JPEG"]) as picture:
            table = JpegTable.of(getattr(picture, "quantization", None))
    except (OSError, ValueError, SyntaxError):
        return None
    return None if table is None else table.noise
