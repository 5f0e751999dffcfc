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

from .axis import read
from .volume import Tables, Volume, best_fit
from .windows import box, row_bands

__all__ = ["Energy", "Evidence"]

Array = NDArray[np.float32]

#: Largest cost of a residual, nats: one of three standard deviations counts half.
MOST_COST = np.float32(12)
#: Side of the window in which the share of noise in ``D^2`` is measured, px.
ALPHA_WINDOW = 7
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
        best = best_fit(volume.residuals, volume.noise.gain, volume.team)
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
        out = np.empty_like(z)
        for rows in row_bands(z.shape):
            out[rows] = self._variance(self.volume.axis.level_of(z[rows]), rows)
        return out

    def noise(self, z: Array) -> Array:
        """Return the part of ``v`` that is noise."""
        own, passed = self._tables.at(self.volume.axis.level_of(z), 0, 1)
        return np.asarray(self.volume.noise.on(slice(None)) * (own + passed))

    def _variance(self, level: Array, rows: slice) -> Array:
        own, passed = self._tables.at(level, 0, 1)
        relative = self.volume.noise.on(rows)
        return np.asarray(np.maximum(self.misfit[rows], relative * own) + relative * passed)

    def cost(self, z: Array) -> Array:
        """Return the cost of each pixel at a map, over the correlation ratio."""
        independent, out = np.float32(self.volume.independent), np.empty_like(z)
        use = self.use
        for rows in row_bands(z.shape):
            level = self.volume.axis.level_of(z[rows])
            e, _ = read(self.volume.residuals, level, rows.start)
            cost = _cost_of(np.asarray(np.square(e) / self._variance(level, rows), np.float32)).sum(axis=0)
            out[rows] = independent * use[rows] * cost / self.inflation[rows]
        return out

    def of_pixel(self, place: tuple[int, int], at: NDArray[np.float32]) -> Array:
        """Return the cost of one pixel at some values."""
        volume, (row, column) = self.volume, place
        level = np.asarray(volume.axis.level_of(at))[None]
        one = volume.residuals[:, :, row : row + 1, column : column + 1]
        e, _ = read(np.ascontiguousarray(np.broadcast_to(one, (*one.shape[:2], *level.shape))), level)
        own, passed = self._tables.at(level, 0, 1)
        relative = np.float32(1) if volume.noise.relative is None else volume.noise.relative[place]
        v = np.maximum(self.misfit[place], relative * own) + relative * passed
        cost = np.float32(volume.independent) * self.use[place] * _cost_of(np.square(e) / v).sum(axis=0)
        return np.asarray(cost / self.inflation[place])[0]

    def costs(self, k: int, base: Array) -> Array:
        """Return the cost of each pixel at a level, with ``base`` as the variance on the scale of the noise's gain."""
        y = np.square(self.volume.residuals[:, k]) / (base * np.float32(self.volume.noise.gain[k]))
        return np.asarray(self.weight * np.float32(self.volume.independent) * _cost_of(y).sum(axis=0))

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

    def _evidence(self, z: Array, which: slice) -> tuple[Array, Array, Array]:
        volume, noisy = self.volume, self.volume.noise.present
        residuals = volume.residuals[which]
        e, d = np.empty((2, len(residuals), *z.shape), np.float32)
        v, noise_d, w, g, power = np.zeros((5, *z.shape), np.float32)
        for rows in row_bands(z.shape):
            level = volume.axis.level_of(z[rows])
            here, slope = read(residuals, level, rows.start)
            change = -volume.axis.by_value(slope, z[rows])
            v[rows] = self._variance(level, rows)
            if noisy:
                covariance, variance = self._tables.at(level, 2, 3)
                relative = volume.noise.on(rows)
                share = relative * covariance / v[rows]
                noise_d[rows] = relative * variance - relative * covariance * share
                change -= here * share
            e[:, rows], d[:, rows] = here, change
        mean = [box(each * each, ALPHA_WINDOW) if noisy else None for each in d]
        use = self.use * np.float32(volume.independent)
        for rows in row_bands(z.shape):
            over = use[rows] / v[rows]
            for ec, dc, around in zip(e[:, rows], d[:, rows], mean, strict=True):
                square = ec * ec
                power[rows] += square
                r = over * _weight_of(square / v[rows])
                if around is None:
                    w[rows] += r * dc * dc
                else:
                    a = 1 - noise_d[rows] / np.maximum(around[rows], noise_d[rows] + np.float32(1e-30))
                    r *= a
                    w[rows] += a * r * dc * dc
                g[rows] += r * ec * dc
        power /= len(residuals)
        return w, g, power

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


def _cost_of(y: Array) -> Array:
    """Return ``rho(y)``."""
    half = np.float32(0.5) * y
    return np.asarray(half / (1 + half / MOST_COST))


def _weight_of(y: Array) -> Array:
    """Return the derivative of ``2 rho(y)``."""
    return np.asarray(1 / np.square(1 + np.float32(0.5) * y / MOST_COST))
