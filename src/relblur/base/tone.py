"""Tone curves: how stored numbers become light, and back.

Defocus adds light, so relative blur is a Gaussian in *linear* light only; a photograph's numbers are light after a
tone curve, mostly that of sRGB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._typing import AnyArray, FloatArray
from .pixels import unit_float

__all__ = ["LINEAR", "SRGB", "Curve", "Decoder", "decode_srgb", "encode_srgb", "power_curve"]

Decoder = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Curve:
    """How stored values on a 0..1 scale become light on a 0..1 scale.

    ``decoders`` holds one function for all channels, or one for each.
    """

    name: str
    decoders: tuple[Decoder, ...]

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


LINEAR = Curve("linear", (lambda stored: stored,))
SRGB = Curve("sRGB curve", (decode_srgb,))


def power_curve(gamma: float) -> Curve:
    """Return the curve ``light = stored ** gamma``."""
    return LINEAR if gamma == 1 else Curve(f"gamma {gamma:g}", (lambda stored: stored**gamma,))


def encode_srgb(light: FloatArray) -> FloatArray:
    """Return the stored values, 0..1, of light within 0..1 under the sRGB curve."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
