"""What a codec has done to the pixels of a frame, as noise in stored levels of 255.

Lossless codecs have done nothing. Lossy ones round the coefficients of a transform, which removes fine, weak
texture: blur is then measured on what they left. Their error is known from the quantiser that the data carry
(H.264: its quantisation parameter, JPEG: its table), else assumed. Told this noise, :class:`relblur.Stream`
stops believing in weak texture; but such errors repeat from pixel to pixel, and differ between a sharp image and a
blurry one, so standard errors are widened as well (:data:`WIDENING`). ``benchmarks/video.py`` prints what comes of it.
"""

from __future__ import annotations

import io
import math
import struct
from typing import Any

import numpy as np

from ...images.compression import JpegTable

__all__ = ["ASSUMED_LEVELS", "ROUNDING_LEVELS", "WIDENING", "h264_levels", "is_lossless", "mjpeg_levels"]

#: Standard deviation of rounding to whole levels.
ROUNDING_LEVELS = 1 / math.sqrt(12)

#: Error of a codec that does not tell its quantiser: that of H.264 and H.265 at their usual quality (crf 23 and 28).
ASSUMED_LEVELS = 4.0

#: Standard errors of lossy frames are multiplied by this. Chosen on three photographs, so that within two standard
#: errors lie as many true values as without compression (70 to 75 % of :class:`relblur.Stream`) or more, for JPEG
#: of divisors up to 10 and H.264 up to crf 23.
WIDENING = 2.0

#: Error over quantiser step of H.264: 0.29 if coefficients were large against the step; fits crf 18 to 28.
_SHARE_OF_STEP = 0.28
#: What photographs hold at the frequencies that a codec removes bounds the error, levels.
_MOST_LEVELS = 8.0

#: The head of FFmpeg's AVVideoEncParams: number of blocks, where they begin, their size, kind, quantiser.
_HEAD = struct.Struct("=I4xQQii")
#: In a block: its place and size, then how far its quantiser is from the frame's.
_DELTA_AT = 16


def is_lossless(codec: Any) -> bool:
    """Tell whether a codec (PyAV's) gives back what was put in, always."""
    return bool(codec.lossless and not codec.lossy)


def h264_levels(frame: Any) -> float | None:
    """Return the error of a decoded H.264 frame, 0 if it is lossless, None if it does not tell its quantiser."""
    for data in frame.side_data:
        if data.type.name == "VIDEO_ENC_PARAMS":
            quantiser = _mean_quantiser(bytes(data))
            if quantiser is None:
                return None
            return 0.0 if quantiser == 0 else min(_SHARE_OF_STEP * 2 ** ((quantiser - 4) / 6), _MOST_LEVELS)
    return None


def _mean_quantiser(raw: bytes) -> float | None:
    if len(raw) < _HEAD.size:
        return None
    blocks, offset, size, _, quantiser = _HEAD.unpack_from(raw)
    if not blocks:
        return float(quantiser)
    if size < _DELTA_AT + 4 or offset + blocks * size > len(raw):
        return None
    table = np.frombuffer(raw, np.uint8, blocks * size, offset).reshape(blocks, size)
    deltas = np.ascontiguousarray(table[:, _DELTA_AT : _DELTA_AT + 4]).view(np.int32)
    return float(quantiser + deltas.mean())


def mjpeg_levels(packet: bytes) -> float | None:
    """Return the error of a Motion JPEG frame from its table, None if it has none."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(packet), formats=["JPEG"]) as picture:
            table = JpegTable.of(getattr(picture, "quantization", None))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return None
    return None if table is None else table.noise
