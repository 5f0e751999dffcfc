"""The evidence of the residuals for a map: cost, score and information of every pixel, from one robust law.

With the variance ``v`` of a residual and ``y_c = e_c^2 / v`` the cost of a pixel is

    rho(y) = y / 2 / (1 + y / 2c)             summed over the channels

(Geman and McClure): that of a normal residual, at most ``c``.  Its derivative gives the weight
``r = 1 / (1 + y / 2c)^2`` of

    information  w = sum r a^2 D^2 / v         score  g = sum r a e D / v         D = -de/dz

with four corrections:

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

from .grid import box
from .loops import Reading
from .noise import Tables
from .volume import Volume

__all__ = ["Energy", "Evidence"]

Array = NDArray[np.float32]

#: Sides of the windows of the correlation (px): of the sum, of its mean, and of the mean information.
SUM, MEAN, AROUND = 5, 31, 35
#: Side of the window of the misfit, px, and its largest value over that of the best local fit.
MISFIT, MOST_MISFIT = 7, 2
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
        self.tables = Tables(volume.noise, volume.axis)
        best = volume.loops.best_fit(volume.residuals, volume.noise.gain)
        self._ceiling = MOST_MISFIT * box(best, MISFIT)
        #: Variance of the model's errors: a geometric mean at first, so that a jump in the window does not hide the
        #: good fit beside it.
        self.misfit = np.exp(box(np.log(best + LEAST_MISFIT), MISFIT))
        #: Correlation ratio of the last evidence.
        self.inflation = np.ones_like(best)
        #: Weight of each pixel in the start, and in costs and information.
        self.weight = self.use = np.ones_like(best)
        # The largest weights: at zero blur reaches least far.
        self.weigh(volume.clip(np.zeros_like(best)))

    def weigh(self, z: Array) -> None:
        """Set the weights of the pixels at a map."""
        volume = self.volume
        if volume.weight_at is not None:
            self.weight = self.use = volume.weight_at(z)
        if volume.finding is not None:
            self.use = self.weight * volume.finding.at(z)

    def reading(self, z: Array, channels: slice = slice(None)) -> Reading:
        """Return the residuals to be read at a map."""
        volume, level = self.volume, np.asarray(self.volume.axis.level_of(z), np.float32)
        return Reading(volume.residuals[channels], level, self.misfit, volume.noise.relative, self.tables)

    def cost(self, z: Array) -> Array:
        """Return the cost of each pixel at a map, over the correlation ratio."""
        weight = np.float32(self.volume.independent) * self.use / self.inflation
        return self.volume.loops.cost(self.reading(z), weight)

    def evidence(self, z: Array, *, correlated: bool = True, channels: slice = slice(None)) -> Evidence:
        """Return information and score of some channels at a map, of independent pixels without ``correlated``."""
        factor = np.asarray(-self.volume.axis.rate(z), np.float32)
        weight = self.use * np.float32(self.volume.independent)
        w, g, power = self.volume.loops.evidence(self.reading(z, channels), factor, weight)
        if correlated:
            self.inflation = _correlation(w, g)
            w /= self.inflation
            g /= self.inflation
        return Evidence(w, g, power)

    def refit(self, z: Array, evidence: Evidence, variance: Array) -> None:
        """Set the misfit to the local mean of ``e^2`` without each pixel's own influence, less the noise passed on.

        It may not exceed that of the best local fit by much.  ``variance`` is the posterior variance of the map.
        """
        # A pixel's own residual has the weight w V / (1 + w V) in its estimate.
        mean = np.minimum(box(evidence.power * (1 + evidence.w * variance), MISFIT), self._ceiling)
        if self.volume.noise.present:
            (passed,) = self.tables.at(self.volume.axis.level_of(z), 1)
            mean -= self.volume.noise.at_pixels * passed
        self.misfit = np.maximum(mean, LEAST_MISFIT)


def _correlation(w: Array, g: Array) -> Array:
    """Return ``mean (sum g)^2 / mean sum w`` over small windows, at least 1.

    Scores are taken about the map that suits the surroundings best: the scores of a wrong map are alike, too.
    """
    step = np.asarray(box(g, MEAN) / np.maximum(box(w, MEAN), np.float32(1e-12)), np.float32)
    total = box(g - w * step, SUM)
    ratio = box(total * total, MEAN) * np.float32(SUM**2) / (box(w, AROUND) + np.float32(1e-20))
    return np.asarray(np.maximum(ratio, 1), np.float32)
