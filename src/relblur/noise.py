"""Noise of a photograph: what rounding alone leaves, and a sensor's read and shot noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ._typing import FloatArray

__all__ = ["NoiseModel", "rounding_noise"]

#: Floats are not exact either: kernels cut at 5 sigma leave out 4e-6 of the intensity range.
FLOAT_NOISE = 2e-6

#: Filtering itself rounds, relative to the values; far above float64's error, far below any texture.
ARITHMETIC_NOISE = 1e-9


@dataclass(frozen=True)
class NoiseModel:
    """Noise whose variance grows with the light: ``read^2 + shot * light``.

    Attributes
    ----------
    read : float
        Standard deviation in the dark, on the images' scale.
    shot : float
        Variance per unit of light (photons arrive at random; 1 / full-well electrons).
    """

    read: float
    shot: float = 0.0

    def variance(self, light: FloatArray) -> FloatArray:
        """Return the variance at each pixel of an image, or of light values."""
        return self.read**2 + self.shot * np.maximum(light, 0)

    def __add__(self, other: NoiseModel) -> NoiseModel:
        """Return the noise of two independent sources together."""
        return NoiseModel(math.hypot(self.read, other.read), self.shot + other.shot)


def rounding_noise(image: FloatArray) -> float:
    """Standard deviation of the rounding error in an image.

    ``step / sqrt(12)`` if every value sits on a grid of 8 or 16 bits, or of whole numbers, else a small share of
    the intensity range. It is the least noise that any estimate may assume.
    """
    contrast = float(np.ptp(image))
    # Whole numbers (floats that hold 0..255) only count from 16 steps on: a drawing of 0 and 1
    # is not rounded. Within less than one step every value is "on the grid"; that is no grid.
    for step, least_steps in ((1.0, 16.0), (1 / 255, 0.5), (1 / 65535, 0.5)):
        scaled = image / step
        if contrast > least_steps * step and float(np.abs(scaled - np.rint(scaled)).max()) < 1e-4:
            return step / math.sqrt(12)
    return max(FLOAT_NOISE * contrast, ARITHMETIC_NOISE * float(np.abs(image).max()), np.finfo(np.float64).tiny)
