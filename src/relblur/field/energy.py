"""What the residuals say of a map: cost, score and information of every pixel, from one robust law.

With the variance ``v`` of a residual and ``y_c = e_c^2 / v`` the cost of a pixel is

    rho(y) = y / 2 / (1 + y / 2c)             summed over the channels

(Geman and McClure): that of a normal residual, at most ``c``.  Its derivative gives the weight
``r = 1 / (1 + y / 2c)^2`` of

    information  w = sum r a^2 D^2 / v         score  g = sum r a e D / v         D = -de/dz

Four corrections make them honest:

* *errors in variables*: noise is in ``e`` and in ``D``.  ``D - e cov(e, D) / v`` takes the place of ``D``; it is the
  derivative of ``e / sqrt(v)``.  Part of its square is noise too, hence ``a = 1 - noise / mean(D^2)``.
* *misfit*: ``v`` is the larger of the noise and of the local mean ``m`` of ``e^2``, which holds the model's error.
* *support*: each pixel counts by the share of its texture that all images show (:class:`.volume.Support`).
* *correlation*: ``w`` and ``g`` are divided by ``mean (sum g)^2 / mean sum w`` over small windows, which is 1 for
  residuals that are independent from pixel to pixel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .loops import Reading
from .noise import Tables
from .volume import Volume
from .windows import box, row_bands

__all__ = ["Energy", "Evidence"]

Array = NDArray[np.float32]

#: Sides of the windows of the correlation: of the sum, of its mean, and of the mean information, px.
SUM, MEAN, AROUND = 5, 31, 35
#: Side of the window of the misfit, px.
MISFIT = 7
#: Largest misfit over that of the best local fit, and the largest ``e^2`` in it over the best fit's.
MOST_MISFIT, OUTLIER = 2, 20
#: Least misfit: the rounding of float32 on images of contrast 1.
LEAST_MISFIT = np.float32(1e-14)


@dataclass(frozen=True)
class Evidence:
    """Information ``w`` and score ``g`` at a map; ``power`` is the mean of ``e^2`` over the channels."""

    w: Array
    g: Array
    power: Array


class Energy:
    """Cost, score and information of a volume, with the misfit and the weights at the present map."""

    def __init__(self, volume: Volume) -> None:
        self.volume = volume
        self._tables = Tables(volume.noise, volume.axis)
        best = volume.loops.best_fit(volume.residuals, volume.noise.gain)
        self._ceiling = box(best, MISFIT)
        #: Variance of what the model does not explain, beside the noise that is passed on: a geometric mean to begin
        #: with, so that a jump in the window does not hide the good fit beside it.
        self.misfit = np.exp(box(np.log(best + LEAST_MISFIT), MISFIT))
        #: Correlation ratio of the last evidence.
        self.inflation = np.ones_like(best)
        #: Weight of each pixel in costs, and in information.
        self.weight = np.ones_like(best)
        self._support = np.ones_like(best)
        # The least that cannot be used: what is blurred most reaches farthest.
        self.weigh(volume.clip(np.zeros_like(best)))

    def weigh(self, z: Array) -> None:
        """Set the weights of the pixels at a map."""
        volume = self.volume
        if volume.weight_at is not None:
            self.weight = volume.weight_at(z)
        if volume.finding is not None:
            self._support = volume.finding.at(z)

    @property
    def use(self) -> Array:
        """Weight of each pixel in costs and in information."""
        return self.weight * self._support

    def variance(self, z: Array) -> Array:
        """Return ``v`` at a map."""
        return self._reading(z).variance()

    def noise(self, z: Array) -> Array:
        """Return the part of ``v`` that is noise."""
        own, passed = self._tables.at(self.volume.axis.level_of(z), 0, 1)
        return np.asarray(self.volume.noise.on(slice(None)) * (own + passed))

    def _reading(self, z: Array, channels: slice = slice(None)) -> Reading:
        volume, level = self.volume, np.empty_like(z)
        for rows in row_bands(z.shape):
            level[rows] = volume.axis.level_of(z[rows])
        return Reading(volume.residuals[channels], level, self.misfit, volume.noise.relative, self._tables)

    def cost(self, z: Array) -> Array:
        """Return the cost of each pixel at a map, over the correlation ratio."""
        weight = np.float32(self.volume.independent) * self.use / self.inflation
        return self.volume.loops.cost(self._reading(z), weight)

    def evidence(self, z: Array, *, correlated: bool = True) -> Evidence:
        """Return information and score at a map; without ``correlated`` pixels count as independent."""
        w, g, power = self._evidence(z, slice(None))
        if correlated:
            self.inflation = self._correlation(w, g)
            w /= self.inflation
            g /= self.inflation
        return Evidence(w, g, power)

    def of_channel(self, z: Array, channel: int) -> tuple[Array, Array]:
        """Return information and score of one channel by itself, pixels counting as independent."""
        w, g, _ = self._evidence(z, slice(channel, channel + 1))
        return w, g

    def _evidence(self, z: Array, channels: slice) -> tuple[Array, Array, Array]:
        factor = np.empty_like(z)
        for rows in row_bands(z.shape):
            factor[rows] = self.volume.axis.by_value(np.full_like(z[rows], -1), z[rows])
        weight = self.use * np.float32(self.volume.independent)
        return self.volume.loops.evidence(self._reading(z, channels), factor, weight)

    def _correlation(self, w: Array, g: Array) -> Array:
        """Return ``mean (sum g)^2 / mean sum w`` over small windows, at least 1.

        Scores are taken about the map that suits the surroundings best.  Otherwise a wrong map, whose scores are alike,
        would lose its evidence.
        """
        step = np.asarray(box(g, MEAN) / np.maximum(box(w, MEAN), np.float32(1e-12)), np.float32)
        total = box(g - w * step, SUM)
        ratio = box(total * total, MEAN) * np.float32(SUM**2) / (box(w, AROUND) + np.float32(1e-20))
        return np.asarray(np.maximum(ratio, 1), np.float32)

    def refit(self, z: Array, evidence: Evidence, w: Array, variance: Array) -> None:
        """Set the misfit to the local mean of ``e^2`` without each pixel's own influence, less the noise passed on.

        It may not exceed that of the best local fit by much.  ``w`` is the information and ``variance`` the posterior
        variance of the map.
        """
        square = np.minimum(evidence.power, OUTLIER * self._ceiling)
        square *= 1 + w * variance  # a pixel's own residual has the weight w V / (1 + w V) in its estimate
        mean = np.minimum(box(square, MISFIT), MOST_MISFIT * self._ceiling)
        if self.volume.noise.present:
            (passed,) = self._tables.at(self.volume.axis.level_of(z), 1)
            mean -= self.volume.noise.on(slice(None)) * passed
        self.misfit = np.maximum(mean, LEAST_MISFIT)
