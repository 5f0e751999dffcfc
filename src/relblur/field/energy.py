"""Cost, score and information of every pixel at a map, from a robust likelihood of the residuals.

With the variance ``v`` of a residual and ``y_c = e_c^2 / v`` the cost of a pixel is

    rho(y) = y / 2 / (1 + y / 2c)             summed over the channels

(Geman and McClure), which is ``y / 2`` for small ``y`` and ``c`` at most.  Its derivative gives the weight
``r = 1 / (1 + y / 2c)^2`` of

    information  w = sum r a^2 D^2 / v         score  g = sum r a e D / v         D = -de/dz

with four corrections:

* *errors in variables*: noise is in ``e`` and in ``D``.  ``D`` is replaced by ``D - e cov(e, D) / v``, the derivative
  of ``e / sqrt(v)``.  Part of its square is noise, hence ``a = 1 - noise / mean(D^2)``.
* *misfit*: ``v`` is the larger of the noise and of the local mean ``m`` of ``e^2``, which contains the model's error.
* *support*: each pixel is weighted by the share of its texture that all images show (:class:`.volume.Support`).
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

#: Sides of the windows of the correlation ratio (px): sum of scores, mean of its square, mean information.
SUM, MEAN, AROUND = 5, 31, 35
#: Side of the window of the misfit (px), and its largest ratio to that of the best local fit.
MISFIT, MOST_MISFIT = 7, 2
#: Least misfit, the rounding variance of float32 on images of contrast 1.
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
        #: Variance of the model's errors. It starts as a geometric mean, which a jump in the window affects little.
        self.misfit = np.exp(box(np.log(best + LEAST_MISFIT), MISFIT))
        #: Correlation ratio of the last evidence.
        self.inflation = np.ones_like(best)
        #: Weight of each pixel, 0 where its blur reaches an unusable pixel. ``q`` is this weight times the support.
        self.weight = self.q = np.ones_like(best)
        # The weights are largest at zero, where the reach of blur is least.
        self.weigh(volume.clip(np.zeros_like(best)))

    def weigh(self, z: Array) -> None:
        """Set the weights of the pixels at a map."""
        volume = self.volume
        if volume.weight_at is not None:
            self.weight = self.q = volume.weight_at(z)
        if volume.search_support is not None:
            self.q = self.weight * volume.search_support.at(z)

    def reading(self, z: Array, channels: slice = slice(None)) -> Reading:
        """Return the input of the loops at a map."""
        volume, level = self.volume, np.asarray(self.volume.axis.level_of(z), np.float32)
        return Reading(volume.residuals[channels], level, self.misfit, volume.noise.relative, self.tables)

    def cost(self, z: Array) -> Array:
        """Return the cost of each pixel at a map, divided by the correlation ratio."""
        weight = np.float32(self.volume.independent) * self.q / self.inflation
        return self.volume.loops.cost(self.reading(z), weight)

    def evidence(self, z: Array, *, correlated: bool = True, channels: slice = slice(None)) -> Evidence:
        """Return information and score of some channels at a map, over the correlation ratio if ``correlated``."""
        factor = np.asarray(-self.volume.axis.rate(z), np.float32)
        weight = self.q * np.float32(self.volume.independent)
        w, g, power = self.volume.loops.evidence(self.reading(z, channels), factor, weight)
        if correlated:
            self.inflation = _correlation(w, g)
            w /= self.inflation
            g /= self.inflation
        return Evidence(w, g, power)

    def refit(self, z: Array, evidence: Evidence, variance: Array) -> None:
        """Set the misfit to the local mean of ``e^2`` without each pixel's own influence, less the passed noise.

        It is at most ``MOST_MISFIT`` times that of the best local fit.  ``variance`` is the posterior variance of the
        map.
        """
        # A pixel's own residual has the weight w V / (1 + w V) in its estimate.
        mean = np.minimum(box(evidence.power * (1 + evidence.w * variance), MISFIT), self._ceiling)
        if self.volume.noise.present:
            (passed,) = self.tables.at(self.volume.axis.level_of(z), 1)
            mean -= self.volume.noise.at_pixels * passed
        self.misfit = np.maximum(mean, LEAST_MISFIT)


def _correlation(w: Array, g: Array) -> Array:
    """Return ``mean (sum g)^2 / mean sum w`` over small windows, at least 1.

    Scores are taken after the best common change of the surroundings, because a wrong map correlates them too.
    """
    step = np.asarray(box(g, MEAN) / np.maximum(box(w, MEAN), np.float32(1e-12)), np.float32)
    total = box(g - w * step, SUM)
    ratio = box(total * total, MEAN) * np.float32(SUM**2) / (box(w, AROUND) + np.float32(1e-20))
    return np.asarray(np.maximum(ratio, 1), np.float32)
