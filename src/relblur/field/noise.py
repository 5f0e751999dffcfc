"""Noise of the residuals: its variance at each level and its covariance between levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .axis import Axis, read_cubic

__all__ = ["Noise", "Tables"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Entries of the tables of noise per level.
FINER = 8


@dataclass(frozen=True)
class Noise:
    """Variance of the residuals that noise explains."""

    own: Doubles  #: (K,) variance at each level due to the image that is not blurred there: the scale of misfits
    passed: Doubles  #: (K,) variance due to the other images
    covariance: Doubles  #: (K, K) of the residuals at two levels, without rounding
    gain: Doubles  #: (K,) variance if all images have white noise of variance 1, over that at a reference level
    of_images: float = 0.0  #: variance of the noise of the noisiest image
    relative: Array | None = None  #: (H, W) variance over its mean; None: 1 everywhere
    repeats: bool = False  #: noise is correlated between pixels, so that averaging does not remove it

    @property
    def present(self) -> bool:
        """Whether there is any noise but that of rounding."""
        return bool(self.covariance.any())

    @property
    def at_pixels(self) -> Array | np.float32:
        """The relative variance, or 1."""
        return np.float32(1) if self.relative is None else self.relative


class Tables:
    """Noise of a residual ``e`` and of its sensitivity ``D = -de/dz``, read linearly between finer levels.

    The covariance of both and the variance of ``D`` follow from the weights by which residuals are read.
    """

    def __init__(self, noise: Noise, axis: Axis) -> None:
        count = len(noise.own)
        level = np.arange((count - 1) * FINER + 1) / FINER
        factor = -axis.rate(axis.value_of(level))
        base = np.clip(level.astype(np.intp), 1, count - 3)
        one = np.eye(count)
        value, slope = read_cubic(one[base - 1], one[base], one[base + 1], one[base + 2], (level - base)[:, None])
        covariance = factor * np.einsum("ij,jk,ik->i", value, noise.covariance, slope)
        variance = factor**2 * np.einsum("ij,jk,ik->i", slope, noise.covariance, slope)
        levels = np.arange(count)
        knots = (*(np.interp(level, levels, table) for table in (noise.own, noise.passed)), covariance, variance)
        #: (4, entries)
        self.knots: Array = np.stack(knots).astype(np.float32)

    def at(self, level: Array, *numbers: int) -> list[Array]:
        """Return the tables of some numbers (0: own, 1: passed, 2: covariance, 3: variance of D) at levels."""
        place = level * np.float32(FINER)
        base = np.clip(place.astype(np.intp), 0, self.knots.shape[1] - 2)
        place -= base
        low, high = self.knots.take(base, axis=1), self.knots.take(base + 1, axis=1)
        return [low[number] + place * (high[number] - low[number]) for number in numbers]
