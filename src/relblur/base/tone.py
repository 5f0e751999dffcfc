"""Tone curves: how stored numbers become light, and back.

Defocus adds light, so relative blur is a Gaussian in *linear* light only; a photograph's numbers are light after a
tone curve, mostly that of sRGB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ._typing import AnyArray, FloatArray
from .pixels import unit_float

__all__ = [
    "LINEAR",
    "SRGB",
    "TOP",
    "Curve",
    "Decoder",
    "decode_srgb",
    "encode_srgb",
    "light_in_16_bits",
    "power_curve",
]

#: Light at the top of the range, in 16 bits.
TOP = 65535
#: Every so many pixels in both directions count for the mean slope of the curve.
_SPARSE = 8

Decoder = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Curve:
    """How stored values on a 0..1 scale become light on a 0..1 scale.

    ``decoders`` holds one function for all channels, or one for each; ``encoder`` is the inverse of a lone one, if
    there is a formula.
    """

    name: str
    decoders: tuple[Decoder, ...]
    encoder: Decoder | None = None

    @property
    def is_linear(self) -> bool:
        """True if stored values are light already."""
        return self is LINEAR

    def undo(self, stored: AnyArray, dtype: type = np.float32) -> AnyArray:
        """Return the light in stored values: integers of full scale, or floats.

        Negative floats (noise around black) go through the curve mirrored.
        """
        if self.is_linear:
            return unit_float(stored, dtype)
        if len(self.decoders) > 1 and stored.ndim == 3:
            planes = [self._undo(stored[:, :, c], self.decoders[c], dtype) for c in range(stored.shape[2])]
            return np.stack(planes, axis=2)
        return self._undo(stored, self.decoders[0], dtype)

    def _undo(self, stored: AnyArray, decode: Decoder, dtype: type) -> AnyArray:
        if stored.dtype in (np.uint8, np.uint16):
            table: AnyArray = decode(np.linspace(0, 1, np.iinfo(stored.dtype).max + 1)).astype(dtype)
            if stored.dtype != np.uint8 or not stored.size:
                return table[stored]
            import cv2

            return np.asarray(cv2.LUT(np.ascontiguousarray(stored), table)).reshape(stored.shape)
        values = unit_float(stored)
        return np.where(values < 0, -decode(-values.clip(max=0)), decode(values.clip(min=0))).astype(dtype)

    def encode(self, light: AnyArray) -> AnyArray:
        """Return the stored values, 0..1, of light: the inverse of :meth:`undo`. Linear light is not clipped."""
        if self.is_linear:
            return light
        if self.encoder is not None:
            return np.asarray(self.encoder(light))
        stored = np.linspace(0, 1, TOP + 1)
        if len(self.decoders) == 1 or light.ndim == 2:
            return np.interp(light, self.decoders[0](stored), stored)
        planes = [np.interp(light[:, :, c], decode(stored), stored) for c, decode in enumerate(self.decoders)]
        return np.stack(planes, axis=2)

    def rounding_variance(self, steps: int) -> tuple[float, float]:
        """Return (a, b): rounding to ``steps`` steps adds noise of variance ``a + b * light``.

        Rounding in stored values is uniform; in light it grows with the curve's slope. For a
        power near 2 the squared slope is nearly proportional to the light itself, so the
        straight line is a good description: it looks like photon noise.
        """
        stored = np.linspace(0, 1, 1025)
        light = np.mean([decode(stored) for decode in self.decoders], axis=0)
        slope = np.diff(light) / np.diff(stored)
        middle = (light[1:] + light[:-1]) / 2
        b, a = np.polyfit(middle, slope**2, 1, w=1 / np.sqrt(slope**2 + 1e-3)) if np.ptp(slope) > 1e-9 else (0.0, 1.0)
        a, b = max(float(a), float(slope[0] ** 2), 1e-3), max(float(b), 0.0)
        unit = 1 / (12 * steps**2)
        return a * unit, b * unit


def decode_srgb(stored: FloatArray) -> FloatArray:
    """Return the light in values, 0..1, stored under the sRGB curve."""
    return np.where(stored <= 0.04045, stored / 12.92, ((stored + 0.055) / 1.055) ** 2.4)


def encode_srgb(light: FloatArray) -> FloatArray:
    """Return the stored values, 0..1, of light within 0..1 under the sRGB curve."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


LINEAR = Curve("linear", (lambda stored: stored,))
SRGB = Curve("sRGB curve", (decode_srgb,), encode_srgb)


def power_curve(gamma: float) -> Curve:
    """Return the curve ``light = stored ** gamma``."""
    if gamma == 1:
        return LINEAR
    return Curve(f"gamma {gamma:g}", (lambda stored: stored**gamma,), lambda light: light.clip(0, 1) ** (1 / gamma))


def light_in_16_bits(
    stored: AnyArray, curve: Curve, bits: int | None = None, *, full_range: bool = True
) -> tuple[AnyArray, float]:
    """Return the light of uint8 or uint16 values as uint16, and the light (0..1) of one of 255 stored levels.

    ``bits`` are those that the values use, all of their type by default. The second is an average over the values.
    """
    import cv2

    table, slope = _light_table(curve, bits or 8 * stored.dtype.itemsize, full_range)
    if stored.dtype == np.uint8:
        light = np.asarray(cv2.LUT(np.ascontiguousarray(stored), table)).reshape(stored.shape)
    else:
        light = table.take(stored, mode="clip")
    return light, _rms(slope.take(stored[::_SPARSE, ::_SPARSE], mode="clip"))


@lru_cache(maxsize=8)
def _light_table(curve: Curve, bits: int, full_range: bool) -> tuple[AnyArray, FloatArray]:
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


def _rms(slopes: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(slopes)))) if slopes.size else 1 / 255
