"""A decoded frame as light: its brightness, with range and tone curve undone, in 16 bits.

Blur is measured on brightness alone: that is the plane which codecs keep at full resolution, and it costs a third of
three colours. In most files it is made of encoded colours, not of light; undoing its curve is right for grey and
a good approximation for all but deep colours. Frames of red, green and blue become light first.

65535 stands for "at the top of the range": :class:`relblur.Stream` flags it as clipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.errors import FileError
from ...base.tone import TOP, Curve, light_in_16_bits
from ...images.stored import StoredImage

__all__ = ["TOP", "Light", "check_transfer", "frame_light", "light_of_colours", "light_of_grey", "stored_as"]

#: Light of red, green and blue in brightness (ITU-R BT.709).
_WEIGHTS = (0.2126, 0.7152, 0.0722)

#: Formats whose first plane is the brightness, as it is stored.
_PLANAR = ("yuv4", "yuvj4", "yuva4", "gray", "nv12", "nv21", "nv16", "nv24")
_COLOURS, _GREYS = ("gbr", "rgb", "bgr", "pal"), ("gray", "ya8", "ya16", "mono")
_NOT_PLAIN = ("be", "f32le", "f16le", "yuyv", "grayf")


#: Transfer characteristics that are not undone, by their number (ITU-T H.273).
_REFUSED = {9: "logarithmic", 10: "logarithmic", 16: "PQ (HDR)", 17: "SMPTE 428", 18: "HLG (HDR)"}


@dataclass(frozen=True, eq=False)
class Light:
    """The light of a frame, and how many units of it (0..1) one of 255 stored levels is on the average."""

    values: AnyArray
    per_level: float


def stored_as(frame: Any, codec: str, transfer: int) -> StoredImage:
    """Return what a clip states about the numbers of its frames, for the tone rule, without pixels.

    ``transfer`` is the number of the transfer characteristics. FFmpeg's TIFF decoder states gamma 2.2 for every file,
    which counts for nothing.
    """
    full, bits = _is_full_range(frame), max(component.bits for component in frame.format.components)
    luma = ("full" if _is_luma(frame) else "") if full else "limited"
    nothing = np.zeros((0, 0), np.uint8 if bits <= 8 else np.uint16)
    return StoredImage(nothing, codec, transfer=None if codec == "tiff" else transfer, luma=luma)


def check_transfer(name: str, transfer: int) -> None:
    """Refuse a clip of a high dynamic range."""
    if transfer in _REFUSED:
        raise FileError(
            f"{name} holds {_REFUSED[transfer]} video; convert it to an ordinary range, or give its curve with --gamma"
        )


def frame_light(frame: Any, curve: Curve) -> Light:
    """Return the light of a frame (PyAV's)."""
    name = frame.format.name
    bits = max(component.bits for component in frame.format.components)
    if frame.format.is_rgb or name.startswith(_COLOURS):
        return light_of_colours(frame.to_ndarray(format="rgb24" if bits <= 8 else "rgb48le"), curve)
    plain = name.startswith(_PLANAR) and not name.endswith(_NOT_PLAIN) and not name.startswith(_NOT_PLAIN)
    if plain:
        return Light(*light_in_16_bits(_first_plane(frame, bits), curve, bits, full_range=_is_full_range(frame)))
    # Full range, whatever it was.
    return light_of_grey(frame.to_ndarray(format="gray" if bits <= 8 else "gray16le"), curve)


def light_of_grey(stored: AnyArray, curve: Curve) -> Light:
    """Return the light of an (H, W) frame of full range, uint8 or uint16."""
    return Light(*light_in_16_bits(stored.reshape(stored.shape[:2]), curve))


def light_of_colours(stored: AnyArray, curve: Curve) -> Light:
    """Return the light of an (H, W, 3) frame of red, green and blue, uint8 or uint16."""
    import cv2

    channels, per_level = light_in_16_bits(stored, curve)
    brightness = cv2.transform(channels.astype(np.float32), np.array([_WEIGHTS], np.float32))
    light = np.rint(brightness).clip(0, TOP).astype(np.uint16)
    light[channels.max(axis=2) == TOP] = TOP
    # Errors of the three channels are independent: their mean has less.
    return Light(light, per_level * float(np.hypot.reduce(_WEIGHTS)))


def _is_full_range(frame: Any) -> bool:
    if int(frame.color_range) in (1, 2):
        return int(frame.color_range) == 2
    return frame.format.name.startswith("yuvj") or not _is_luma(frame)


def _is_luma(frame: Any) -> bool:
    """Return whether a frame holds a brightness computed from encoded colours, not grey or red, green and blue."""
    return not (frame.format.is_rgb or frame.format.name.startswith((*_COLOURS, *_GREYS)))


def _first_plane(frame: Any, bits: int) -> AnyArray:
    plane = frame.planes[0]
    dtype = np.dtype("u1" if bits <= 8 else "<u2")
    rows = np.frombuffer(plane, dtype, plane.height * plane.line_size // dtype.itemsize)
    return rows.reshape(plane.height, -1)[: frame.height, : frame.width]
