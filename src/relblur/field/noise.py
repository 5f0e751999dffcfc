"""Noise of the residuals: its variance at each level and its covariance between levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .axis import Axis, read_cubic

__all__ = ["Noise", "Tables"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Entries of the tables of noise for each level.
FINER = 8


@dataclass(frozen=True)
class Noise:
    """Variance of the residuals that noise explains."""

    own: Doubles  #: (K,) variance due to the image that is not blurred at a level
    passed: Doubles  #: (K,) variance due to the other images
    covariance: Doubles  #: (K, K) of the residuals at two levels, without rounding
    gain: Doubles  #: (K,) variance for unit white noise in all images, relative to that at a reference level
    of_images: float = 0.0  #: variance of the noise of the noisiest image
    relative: Array | None = None  #: R, (H, W), variance over its mean; None: 1 everywhere
    repeats: bool = False  #: whether noise is correlated between pixels, so that averaging does not remove it

    @property
    def present(self) -> bool:
        """Whether there is noise other than rounding."""
        return bool(self.covariance.any())

    @property
    def at_pixels(self) -> Array | np.float32:
        """The relative variance, or 1."""
        return np.float32(1) if self.relative is None else self.relative


class Tables:
    """Noise of a residual ``e`` and of ``D = -de/dz``, interpolated linearly between finer levels.

    cov(e, D) and var(D) follow from the weights of the cubic between levels.
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
        entry = level * np.float32(FINER)
        base = np.clip(entry.astype(np.intp), 0, self.knots.shape[1] - 2)
        entry -= base
        low, high = self.knots.take(base, axis=1), self.knots.take(base + 1, axis=1)
        return [low[number] + entry * (high[number] - low[number]) for number in numbers]
