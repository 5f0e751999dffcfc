"""Tone curves: conversion of stored numbers to light and back.

Defocus adds light, so relative blur is a Gaussian in *linear* light only. Photographs store light under a tone curve,
mostly that of sRGB.
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

#: Full scale of light in 16 bits.
TOP = 65535
#: Step in rows and columns of the sample for the mean slope of the curve, px.
_SPARSE = 8

Decoder = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Curve:
    """A tone curve between stored values and light, both on a 0..1 scale.

    ``decoders`` contains one function for all channels, or one for each. ``encoder`` is the inverse of a single
    decoder, if it has a formula.
    """

    name: str
    decoders: tuple[Decoder, ...]
    encoder: Decoder | None = None

    @property
    def is_linear(self) -> bool:
        """True if stored values are light already."""
        return self is LINEAR

    def undo(self, stored: AnyArray, dtype: type = np.float32) -> AnyArray:
        """Convert stored values (integers of full scale, or floats) to light.

        Negative floats (noise around black) use the mirrored curve.
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
        """Convert light to stored values, 0..1: the inverse of :meth:`undo`. A linear curve does not clip."""
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

        The rounding error is uniform in stored values. In light it grows with the slope of the curve. For a power near
        2 the squared slope is nearly proportional to the light, so a straight line fits, as for photon noise.
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
    """Convert values, 0..1, stored under the sRGB curve to light."""
    return np.where(stored <= 0.04045, stored / 12.92, ((stored + 0.055) / 1.055) ** 2.4)


def encode_srgb(light: FloatArray) -> FloatArray:
    """Convert light, clipped to 0..1, to values stored under the sRGB curve."""
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
    """Convert uint8 or uint16 values to light as uint16; also return the light (0..1) of one stored level of 255.

    ``bits`` is the number of bits that the values use, by default all of their type. The light of one level depends on
    the value; its root mean square over the image is returned.
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
    """Return the light of every stored value, and the light of one stored level of 255 at that value."""
    stored = np.arange(2**bits, dtype=np.float64)
    # Limited range (BT.709): 16 to 235 of 256 levels, in proportion for more bits.
    unit = 2.0 ** (bits - 8)
    share = stored / (2**bits - 1) if full_range else (stored - 16 * unit) / (219 * unit)
    light = np.asarray(curve.undo(share.clip(0, 1), np.float64))
    # Central differences over one level of 255; the ends repeat their neighbours.
    step = max(1, round(unit))
    slope = (np.roll(light, -step) - np.roll(light, step)) / 2
    slope[:step], slope[-step:] = slope[step], slope[-step - 1]
    return np.rint(TOP * light).astype(np.uint16), slope.clip(min=0)


def _rms(slopes: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(slopes)))) if slopes.size else 1 / 255
