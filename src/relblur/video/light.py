"""A decoded frame as light: its brightness, with range and tone curve undone, in 16 bits.

Blur is measured on brightness alone: that is the plane which codecs keep at full resolution, and it costs a third of
three colours. In most files it is made of encoded colours, not of light; undoing its curve is right for grey and
a good approximation for all but deep colours. Frames of red, green and blue become light first.

65535 stands for "at the top of the range": :class:`relblur.Stream` flags it as clipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.errors import FileError
from ..photo.tone_curves import LINEAR, SRGB, Curve, power_curve

__all__ = ["BT709", "TOP", "Light", "choose_curve", "frame_light", "light_of_colours", "light_of_grey"]

TOP = 65535

#: Light of red, green and blue in brightness (ITU-R BT.709).
_WEIGHTS = (0.2126, 0.7152, 0.0722)

#: Formats whose first plane is the brightness, as it is stored.
_PLANAR = ("yuv4", "yuvj4", "yuva4", "gray", "nv12", "nv21", "nv16", "nv24")
_NOT_PLAIN = ("be", "f32le", "f16le", "yuyv", "grayf")

#: Every so many pixels in both directions are looked at for the mean slope of the curve.
_SPARSE = 8


def _bt709(stored: FloatArray) -> FloatArray:
    return np.where(stored < 0.081, stored / 4.5, ((stored + 0.099) / 1.099) ** (1 / 0.45))


BT709 = Curve("BT.709 curve", (_bt709,))

#: Transfer characteristics by their number (ITU-T H.273).
_CURVES = {
    1: BT709,
    4: power_curve(2.2),
    5: power_curve(2.8),
    6: BT709,
    7: BT709,
    8: LINEAR,
    11: BT709,
    12: BT709,
    13: SRGB,
    14: BT709,
    15: BT709,
}
_REFUSED = {9: "logarithmic", 10: "logarithmic", 16: "PQ (HDR)", 17: "SMPTE 428", 18: "HLG (HDR)"}


@dataclass(frozen=True, eq=False)
class Light:
    """The light of a frame, and how many units of it (0..1) one of 255 stored levels is on the average."""

    values: AnyArray
    per_level: float


def choose_curve(name: str, frame: Any, transfer: int, *, linear: bool, gamma: float | None) -> tuple[Curve, str]:
    """Return the tone curve of a clip's frames and who says so; ``transfer`` is the number by which a file names it."""
    if not linear:
        return LINEAR, "asked for"
    if gamma is not None:
        return power_curve(gamma), "asked for"
    if transfer in _REFUSED:
        raise FileError(
            f"{name} holds {_REFUSED[transfer]} video; convert it to an ordinary range, or give its curve with --gamma"
        )
    if transfer in _CURVES:
        return _CURVES[transfer], "the file says so"
    return (SRGB, "usual for full range") if _is_full_range(frame) else (BT709, "usual for video")


def frame_light(frame: Any, curve: Curve) -> Light:
    """Return the light of a frame (PyAV's)."""
    name = frame.format.name
    bits = max(component.bits for component in frame.format.components)
    if frame.format.is_rgb or name.startswith(("gbr", "rgb", "bgr", "pal")):
        return light_of_colours(frame.to_ndarray(format="rgb24" if bits <= 8 else "rgb48le"), curve)
    plain = name.startswith(_PLANAR) and not name.endswith(_NOT_PLAIN) and not name.startswith(_NOT_PLAIN)
    if plain:
        return _through(_first_plane(frame, bits), _table(curve, bits, _is_full_range(frame)))
    # Full range, whatever it was.
    return light_of_grey(frame.to_ndarray(format="gray" if bits <= 8 else "gray16le"), curve)


def light_of_grey(stored: AnyArray, curve: Curve) -> Light:
    """Return the light of an (H, W) frame of full range, uint8 or uint16."""
    stored = stored.reshape(stored.shape[:2])
    return _through(stored, _table(curve, 8 * stored.dtype.itemsize, True))


def light_of_colours(stored: AnyArray, curve: Curve) -> Light:
    """Return the light of an (H, W, 3) frame of red, green and blue, uint8 or uint16."""
    import cv2

    channels = _through(stored, _table(curve, 8 * stored.dtype.itemsize, True))
    brightness = cv2.transform(channels.values.astype(np.float32), np.array([_WEIGHTS], np.float32))
    light = np.rint(brightness).clip(0, TOP).astype(np.uint16)
    light[channels.values.max(axis=2) == TOP] = TOP
    # Errors of the three channels are independent: their mean has less.
    return Light(light, channels.per_level * float(np.hypot.reduce(_WEIGHTS)))


def _is_full_range(frame: Any) -> bool:
    name = frame.format.name
    if int(frame.color_range) in (1, 2):
        return int(frame.color_range) == 2
    return bool(frame.format.is_rgb) or name.startswith(("yuvj", "gray", "gbr", "rgb", "bgr", "pal"))


def _first_plane(frame: Any, bits: int) -> AnyArray:
    plane = frame.planes[0]
    dtype = np.dtype("u1" if bits <= 8 else "<u2")
    rows = np.frombuffer(plane, dtype, plane.height * plane.line_size // dtype.itemsize)
    return rows.reshape(plane.height, -1)[: frame.height, : frame.width]


@lru_cache(maxsize=8)
def _table(curve: Curve, bits: int, full_range: bool) -> tuple[AnyArray, FloatArray]:
    """Return the light of every stored value, and the light that one of 255 levels is there."""
    stored = np.arange(2**bits, dtype=np.float64)
    # BT.709: 16 to 235 of 256, and the same shares of finer scales.
    unit = 2.0 ** (bits - 8)
    share = stored / (2**bits - 1) if full_range else (stored - 16 * unit) / (219 * unit)
    light = np.asarray(curve.undo(share.clip(0, 1), np.float64))
    # Steps of 1/255 of the scale to either side, where there is a scale.
    step = max(1, round(unit))
    slope = (np.roll(light, -step) - np.roll(light, step)) / 2
    slope[:step], slope[-step:] = slope[step], slope[-step - 1]
    return np.rint(TOP * light).astype(np.uint16), slope.clip(min=0)


def _through(stored: AnyArray, table: tuple[AnyArray, FloatArray]) -> Light:
    import cv2

    values, slope = table
    if stored.dtype == np.uint8:
        light = np.asarray(cv2.LUT(np.ascontiguousarray(stored), values)).reshape(stored.shape)
    else:
        light = values.take(stored, mode="clip")
    return Light(light, _rms(slope.take(stored[::_SPARSE, ::_SPARSE], mode="clip")))


def _rms(slopes: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(slopes)))) if slopes.size else 1 / 255
