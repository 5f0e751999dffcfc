"""Noise of a pair, from the sensor and from rounding, and its variance in the residuals.

The residual at blur ``s > 0`` is ``second - G_s * first``, so its variance is

    v(s) = q0 (n_second^2 + step_second^2 / 12) + q(s) n_first^2

and with the images exchanged for ``s < 0``.  ``q`` decreases from ``q0`` as ``s`` grows, because blur averages the
noise of the sharper image.  Without this term large blur would seem to fit better (errors in variables).  Rounding is
included for the blurrier image only, because the rounded sharper image is the source of the blurrier one.

White noise is separated from texture on cells of 2 x 2 pixels, by two powers:

* *fine*: power of second differences of the image, ``n^2`` plus that of the texture;
* *coarse*: the same for the means over the cells, ``n^2 / 4`` plus at least as much texture, which has more power on a
  larger scale.  In the flattest cells, the fifth with the least coarse power,

      (fine - coarse) 4 / 3  <=  n^2  <=  fine

The lesser noise is that of the flatter of the two images at each pixel, in the flattest areas.  If the lower bound of
the other image is larger, that image has more noise, or the scene has grain, which is white like noise but common to
both images.  The likelihood of the residuals in the textured half of the pair distinguishes the two cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...field import Noise, box, pairs
from ..noise import fine_power, quantisation_step
from .planes import Planes
from .residuals import NoiseGain, Residuals

__all__ = ["GivenNoise", "PairNoise", "estimate_noise", "rounding_floor"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Standard deviation of the rounding of float32 arithmetic, as a fraction of the contrast.
ROUNDING = 2e-6
#: Largest noise, relative to the contrast; its square is finite in float32.
MOST_NOISE = 1e6
#: Least ratio of one image's noise to the other's (fine texture may give 2), or least drop of the mean negative
#: log-likelihood (nats), for more noise in an image than given.
CLEARLY_MORE, CLEARLY_BETTER = 2.5, 1.0
#: Percentage of flat cells, and the ratio of the mean to this percentile of the smaller of two powers of noise.
FLATTEST, OF_QUANTILE = 20, 1.39
#: Largest ratio of the variance of the noise to that of the best local fit.
LEAST_RESIDUAL = 1.3
#: Least ratio of two different bounds, and the largest ratio of the noise of two images (variances).
LEAST_UNEQUAL, MOST_UNEQUAL = 1.5, 100.0
#: Number of rows of the bands on which the likelihood is computed, and their distance.
BAND_ROWS, EVERY = 10, 40
#: Least drop of the mean negative log-likelihood (nats) for unequal noise. Chosen on brick, coffee, camera.
BETTER = 0.005
#: Relative error of the minimum of a parabola through three levels, and the largest squared residual over its variance.
APPROXIMATE, MISFIT = np.float32(0.005), np.float32(25)


@dataclass(frozen=True)
class GivenNoise:
    """Noise given by the caller.

    ``deviations`` are standard deviations of (first, second), None to estimate them.  If they ``may_differ``, they are
    the noise of the less noisy image, and a lower bound for the other.
    """

    deviations: tuple[float, float] | None = None
    may_differ: bool = False

    def on_scale(self, unit: float) -> GivenNoise:
        """Return the noise of intensities divided by ``unit``."""
        if self.deviations is None:
            return self
        one, two = (min(deviation / unit, MOST_NOISE) for deviation in self.deviations)
        return replace(self, deviations=(one, two))


@dataclass(frozen=True)
class PairNoise:
    """Standard deviations on the working intensity scale, (first, second).

    ``sensor`` is white noise of each image, ``rounding`` the floor from quantisation or arithmetic.
    """

    sensor: tuple[float, float]
    rounding: tuple[float, float]

    @property
    def is_arithmetic(self) -> bool:
        """Whether one image was computed from the other, so that every difference between them is due to blur.

        The computed image has the noise of arithmetic only. The rounding of its source is part of both images.
        """
        return max(self.sensor) == 0 and min(self.rounding) <= ROUNDING

    def variances(self, levels: Doubles, gain: NoiseGain) -> tuple[Doubles, Doubles]:
        """Return the variances of the residuals due to the blurrier image and to the sharper one, at each level."""
        n1, n2 = self.sensor[0] ** 2, self.sensor[1] ** 2
        f1, f2 = self.rounding[0] ** 2, self.rounding[1] ** 2
        # 1 where the second image is the blurrier one, one half at s = 0 of a signed map.
        second = np.heaviside(levels, 0.5 if levels[0] < 0 else 1.0)
        own = gain.q0 * (second * (n2 + f2) + (1 - second) * (n1 + f1))
        return own, (second * n1 + (1 - second) * n2) * gain.q

    def of(self, residuals: Residuals, relative: Array | None = None, repeats: bool = False) -> Noise:
        """Return the noise of residuals; ``relative`` is its variance at each pixel over the mean."""
        gain = residuals.gain
        own, passed = self.variances(residuals.levels, gain)
        covariance = self.sensor[0] ** 2 * gain.of_first + self.sensor[1] ** 2 * gain.of_second
        return Noise(own, passed, covariance, gain.relative, max(self.sensor) ** 2, relative, repeats)


def rounding_floor(image: Array) -> float:
    """Return the standard deviation of the error that rounding or arithmetic adds to an image."""
    return max(float(quantisation_step(image) / np.sqrt(12.0)), ROUNDING)


def estimate_noise(
    parts: Sequence[Planes],
    residual_variance: float,
    given: GivenNoise,
    stacks: Callable[[], Iterable[Residuals]] | None = None,
) -> PairNoise:
    """Estimate the noise of a pair (before any prefilter) from parts of it, unless it is given.

    ``residual_variance`` is the median variance of the best local fit, which limits the lesser noise.  ``stacks``
    yields residuals of the parts, which show whether one image has more noise.  Without them the noise is equal.
    """
    one, two = ([getattr(part, name).ravel() for part in parts] for name in ("first", "second"))
    rounding = rounding_floor(np.concatenate(one)), rounding_floor(np.concatenate(two))
    presumed = given.deviations
    if presumed is not None and not given.may_differ:
        return PairNoise(presumed, rounding)
    equal, unequal = _candidates(parts, residual_variance, rounding)
    usual = equal if presumed is None else PairNoise(presumed, rounding)
    if unequal is None or stacks is None:
        return usual
    better = np.mean([_drop(stack, equal, unequal) for stack in stacks()])
    if better <= BETTER:
        return usual
    if presumed is None:
        return unequal
    first, second = unequal.sensor
    if max(first, second) < CLEARLY_MORE * min(first, second) and better <= CLEARLY_BETTER:
        return usual
    more = (presumed[0], max(second, presumed[1])) if first < second else (max(first, presumed[0]), presumed[1])
    return PairNoise(more, rounding)


def _candidates(
    parts: Sequence[Planes], residual_variance: float, rounding: tuple[float, float]
) -> tuple[PairNoise, PairNoise | None]:
    """Return equal noise of both images, and unequal noise if one of them may have more."""
    fine, coarse = (np.concatenate(powers, axis=1) for powers in zip(*map(_powers, parts), strict=True))
    bounds = [_bounds(*powers) for powers in zip(fine, coarse, strict=True)]
    lesser = min((0, 1), key=lambda side: bounds[side][1])
    least = OF_QUANTILE * float(np.percentile(fine.min(axis=0), FLATTEST))
    least = min(least, LEAST_RESIDUAL * residual_variance)
    other = min(bounds[1 - lesser])
    little = max(least, other / MOST_UNEQUAL)

    def noise(*variances: float) -> PairNoise:
        one, two = (float(np.sqrt(max(variance - max(rounding) ** 2, 0.0))) for variance in variances)
        return PairNoise((one, two), rounding)

    unequal = noise(little, other) if lesser == 0 else noise(other, little)
    return noise(least, least), unequal if other > LEAST_UNEQUAL * least else None


def _powers(planes: Planes) -> tuple[Array, Array]:
    """Return the fine and the coarse power of both images in the usable cells, each (2, cells)."""
    use = pairs(planes.usable.astype(np.float32)) == 1
    if not use.any():
        use[...] = True
    images = planes.first, planes.second
    # Running sums may be slightly negative.
    fine = [pairs(np.maximum(fine_power(image), 0))[use] for image in images]
    coarse = [np.maximum(fine_power(np.stack([pairs(p) for p in image])), 0)[use] for image in images]
    return np.stack(fine), np.stack(coarse)


def _bounds(fine: Array, coarse: Array) -> tuple[float, float]:
    """Return the least and the largest variance that the noise of an image may have."""
    flat = coarse <= np.percentile(coarse, FLATTEST)
    most = float(fine[flat].mean(dtype=np.float64))
    return max(most - float(coarse[flat].mean(dtype=np.float64)), 0.0) * 4 / 3, most


def _drop(stack: Residuals, *noises: PairNoise) -> float:
    """Return the drop of the mean of ``e^2 / v + log v`` from the first noise to the second.

    The mean is over the textured half of a pair at its best blurs.  ``e^2``, averaged over 5 x 5 pixels, is the minimum
    of the parabola through three levels.
    """
    rows = _bands(stack.planes)
    change: Array = box(np.square(rows[:, -1] - rows[:, 0]).sum(axis=0), 5)
    textured = change >= np.median(change)
    inside = np.arange(len(change)) % BAND_ROWS
    textured &= ((inside >= 2) & (inside < BAND_ROWS - 2))[:, None] | (len(change) < EVERY)
    variances = [np.add(*noise.variances(stack.levels, stack.gain)) for noise in noises]
    powers = [box(np.square(rows[:, k]).mean(axis=0), 5)[textured] for k in range(rows.shape[1])]
    best = np.full((len(noises), powers[0].size), np.inf, np.float32)
    for k in range(1, len(powers) - 1):
        below, here, above = powers[k - 1 : k + 2]
        bend = np.maximum(below + above - 2 * here, np.float32(1e-30))
        vertex = np.clip((below - above) / (2 * bend), -1, 1)
        least = np.maximum(here - vertex * (below - above) / 4, 0)
        for cost, variance in zip(best, variances, strict=True):
            v = np.float32(variance[k]) + APPROXIMATE * bend
            np.minimum(cost, np.minimum(least / v, MISFIT) + np.log(v), out=cost)
    one, two = best.mean(axis=1, dtype=np.float64)
    return float(one - two)


def _bands(residuals: Array) -> Array:
    """Return some of the rows of a (channels, levels, H, W) stack, all if there are few."""
    count = residuals.shape[2] // EVERY
    if count == 0:
        return residuals
    rows = residuals[:, :, : count * EVERY].reshape(*residuals.shape[:2], count, EVERY, -1)[:, :, :, :BAND_ROWS]
    return np.ascontiguousarray(rows).reshape(*residuals.shape[:2], count * BAND_ROWS, -1)
