"""Noise of a pair: what the sensor and the rounding add to its residuals.

The residual at blur ``s > 0`` is ``second - G_s * first``, so its variance is

    v(s) = q0 (n_second^2 + step_second^2 / 12) + q(s) n_first^2

and with the roles exchanged for ``s < 0``.  ``q`` falls from ``q0`` as ``s`` grows because blurring averages the
noise of the sharper image: forgetting that makes blur look better than it is (errors in variables).  Rounding
counts for the blurrier image only: it is *part of* the sharper image, which is the source the blurrier one is made
from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...field import Noise
from ..noise import quantisation_step
from .residuals import NoiseGain, Residuals
from .sensor import CellPowers, measure_powers, negative_log_likelihood, noise_candidates, prefer_second

__all__ = ["GivenNoise", "PairNoise", "decide_noise", "estimate_noise", "rounding_floor"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Share of the contrast below which float32 arithmetic itself is noise.
ROUNDING = 2e-6
#: Noise is not taken for more than this, times the contrast: nothing is seen through it, and its square is a number.
MOST_NOISE = 1e6
#: A presumed noise is doubted from this ratio of one image's noise to the other's on (fine texture may look like 2),
#: or if the negative log-likelihood of a residual falls by so much (nats, mean).
CLEARLY_MORE, CLEARLY_BETTER = 2.5, 1.0


@dataclass(frozen=True)
class GivenNoise:
    """Noise that the caller gives.

    ``deviations`` are standard deviations of (first, second), None to estimate them.  If they ``may_differ``, they are
    the noise of the less noisy image, and of the other too unless it shows more.  If it ``repeats`` from pixel to
    pixel, averaging does not remove it.
    """

    deviations: tuple[float, float] | None = None
    may_differ: bool = False
    repeats: bool = False

    def swapped(self) -> GivenNoise:
        """Return what is given for the images in the other order."""
        return self if self.deviations is None else replace(self, deviations=self.deviations[::-1])

    def on_scale(self, unit: float) -> GivenNoise:
        """Return what is given on an intensity scale whose 1 is ``unit``."""
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
        """Whether one image was computed from the other: then every difference between them tells of blur.

        Rounding is part of an image from which the other was made; the other has the noise of arithmetic only.
        """
        return max(self.sensor) == 0 and min(self.rounding) <= ROUNDING

    def variances(self, levels: NDArray[np.float64], gain: NoiseGain) -> tuple[Doubles, Doubles]:
        """Return the variances of the residuals due to the blurrier image and to the sharper one, at each level."""
        n1, n2 = self.sensor[0] ** 2, self.sensor[1] ** 2
        f1, f2 = self.rounding[0] ** 2, self.rounding[1] ** 2
        # Share of the second image in the role of the blurrier one. Neither is at s = 0, if either may be.
        second = np.heaviside(levels, 0.5 if levels[0] < 0 else 1.0)
        own = gain.q0 * (second * (n2 + f2) + (1 - second) * (n1 + f1))
        return own, (second * n1 + (1 - second) * n2) * gain.q

    def of(self, residuals: Residuals, relative: Array | None = None, repeats: bool = False) -> Noise:
        """Return the noise of residuals; ``relative`` is its variance at each pixel over the mean."""
        gain = residuals.gain
        own, passed = self.variances(residuals.levels, gain)
        covariance = self.sensor[0] ** 2 * gain.first + self.sensor[1] ** 2 * gain.second
        return Noise(own, passed, covariance, gain.relative, max(self.sensor) ** 2, relative, repeats)


def estimate_noise(
    first: Array,
    second: Array,
    usable: NDArray[np.bool_],
    residual_variance: float,
    given: GivenNoise,
    stacks: Callable[[], Iterable[Residuals]] | None = None,
    rounding: tuple[float, float] | None = None,
) -> PairNoise:
    """Estimate the noise of a pair (before any prefilter), unless it is given.

    Parameters
    ----------
    residual_variance : float
        Median variance of the best local fit.
    stacks : callable, optional
        Residuals that decide, in doubt, whether one image has more noise than the other; equal without them.
    rounding : (float, float), optional
        :func:`rounding_floor` of both images, if it is known.
    """
    rounding = rounding or (rounding_floor(first), rounding_floor(second))
    if given.deviations is not None and not given.may_differ:
        return PairNoise(given.deviations, rounding)
    return decide_noise([measure_powers(first, second, usable)], residual_variance, rounding, stacks, given.deviations)


def rounding_floor(image: Array) -> float:
    """Return the standard deviation of what rounding or arithmetic adds to an image."""
    return max(float(quantisation_step(image) / np.sqrt(12.0)), ROUNDING)


def decide_noise(
    powers: Sequence[CellPowers],
    residual_variance: float,
    rounding: tuple[float, float],
    stacks: Callable[[], Iterable[Residuals]] | None,
    presumed: tuple[float, float] | None = None,
) -> PairNoise:
    """Return the noise that is the more likely: equal in both images, or not.

    With a ``presumed`` noise that is only asked whether one image has clearly more, and how much.
    """
    candidates = noise_candidates(powers, residual_variance)
    equal = _above_rounding(candidates.equal, rounding)
    usual = equal if presumed is None else PairNoise(presumed, rounding)
    if candidates.unequal is None or stacks is None:
        return usual
    unequal = _above_rounding(candidates.unequal, rounding)
    found = []
    for stack in stacks():
        variances = [np.add(*noise.variances(stack.levels, stack.gain)) for noise in (equal, unequal)]
        found.append(negative_log_likelihood(stack, variances))
    costs = np.mean(found, axis=0)
    if not prefer_second(costs):
        return usual
    if presumed is None:
        return unequal
    first, second = unequal.sensor
    if max(first, second) < CLEARLY_MORE * min(first, second) and not prefer_second(costs, by=CLEARLY_BETTER):
        return usual
    more = (presumed[0], max(second, presumed[1])) if first < second else (max(first, presumed[0]), presumed[1])
    return PairNoise(more, rounding)


def _above_rounding(variances: tuple[float, float], rounding: tuple[float, float]) -> PairNoise:
    floor = max(rounding) ** 2
    first, second = (float(np.sqrt(max(variance - floor, 0.0))) for variance in variances)
    return PairNoise((first, second), rounding)
