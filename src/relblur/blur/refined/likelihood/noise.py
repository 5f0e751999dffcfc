"""Noise of the pair: what the sensor and the rounding add, before any misfit of the model.

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

from ....filters.level_axis import LevelAxis, read_cubic
from ...noise import quantisation_step
from ..averages import box
from .sensor import CellPowers, measure_powers, negative_log_likelihood, noise_candidates, prefer_second
from .stack import ResidualStack

Array = NDArray[np.float32]

#: Share of the contrast below which float32 arithmetic itself is noise.
ROUNDING = 2e-6
#: Noise is not taken for more than this, times the contrast: nothing is seen through it, and its square is a number.
MOST_NOISE = 1e6
#: A presumed noise is doubted from this ratio of one image's noise to the other's on (fine texture may look like 2),
#: or if the negative log-likelihood of a residual falls by so much (nats, mean).
CLEARLY_MORE, CLEARLY_BETTER = 2.5, 1.0
#: Entries of the finer tables per level.
_FINER = 8


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

    def tables(self, stack: ResidualStack) -> NoiseTables:
        """Return what the noise does to the residuals of a stack."""
        gain = stack.gain
        n1, n2 = self.sensor[0] ** 2, self.sensor[1] ** 2
        f1, f2 = self.rounding[0] ** 2, self.rounding[1] ** 2
        # Share of the second image in the role of the blurrier one. Neither is at s = 0, if either may be.
        second = np.heaviside(stack.s_levels, 0.5 if stack.lowest < 0 else 1.0)
        return noise_tables(
            n1 * gain.first + n2 * gain.second,
            own=gain.q0 * (second * (n2 + f2) + (1 - second) * (n1 + f1)),
            passed=(second * n1 + (1 - second) * n2) * gain.q,
            axis=stack.axis,
        )

    def on(self, stack: ResidualStack, relative_variance: Array | None = None) -> ResidualNoise:
        """Return the noise of a stack's residuals, with its variance at each pixel over the mean if that varies."""
        tables = self.tables(stack)
        return residual_noise(
            self.sensor, tables, 1 + tables.passed / tables.own, stack.residuals.shape[2:], relative_variance
        )


@dataclass(frozen=True)
class NoiseTables:
    """What noise alone makes of the residuals, over the levels.

    ``own`` and ``passed`` are the parts of the variance of ``e`` due to the blurrier and the sharper image; ``in_ed``
    and ``in_dd`` (over finer levels) the means of ``e D`` and ``D^2``; ``between`` is the mean squared change
    from each level to the next.
    """

    own: NDArray[np.float64]
    passed: NDArray[np.float64]
    in_ed: NDArray[np.float64]
    in_dd: NDArray[np.float64]
    between: NDArray[np.float64]


@dataclass(frozen=True)
class ResidualNoise:
    """What noise does to the residuals of a stack.

    Attributes
    ----------
    sensor : (float, float)
        Standard deviations of the noise of first and second.
    tables : NoiseTables
    ratio : (levels,)
        Variance of the residual at each level over that in which misfits are measured.
    relative : (H, W)
        Variance of the noise at each pixel over its mean.
    varies : bool
        Whether that is not 1 everywhere.
    repeats : bool
        Whether it repeats from pixel to pixel.
    """

    sensor: tuple[float, float]
    tables: NoiseTables
    ratio: NDArray[np.float64]
    relative: Array
    varies: bool
    repeats: bool = False

    @property
    def noisy(self) -> bool:
        """Whether there is sensor noise to speak of."""
        return max(self.sensor) > 0


def residual_noise(
    sensor: tuple[float, float],
    tables: NoiseTables,
    ratio: NDArray[np.float64],
    shape: tuple[int, ...],
    relative: Array | None = None,
) -> ResidualNoise:
    """Return the noise of residuals of a shape (H, W)."""
    plane = np.ones(shape, np.float32) if relative is None else np.ascontiguousarray(relative, np.float32)
    return ResidualNoise(sensor, tables, ratio, plane, relative is not None)


def noise_tables(
    covariance: NDArray[np.float64],
    own: NDArray[np.float64],
    passed: NDArray[np.float64],
    axis: LevelAxis,
) -> NoiseTables:
    """Return the tables for residuals of a given covariance (levels, levels)."""
    levels = len(covariance)
    level = np.arange((levels - 1) * _FINER + 1) / _FINER
    factor = axis.by_s(np.full_like(level, -1), axis.s_of(level))  # from de/dlevel to D
    # The weights of all levels in e and de/dlevel, read as the stack is.
    base = np.clip(level.astype(np.intp), 1, levels - 3)
    one = np.eye(levels)
    value, slope = read_cubic(one[base - 1], one[base], one[base + 1], one[base + 2], (level - base)[:, None])
    change = np.diff(np.eye(levels), axis=0)
    return NoiseTables(
        own=own,
        passed=passed,
        in_ed=factor * np.einsum("ij,jk,ik->i", value, covariance, slope),
        in_dd=factor**2 * np.einsum("ij,jk,ik->i", slope, covariance, slope),
        between=np.einsum("ij,jk,ik->i", change, covariance, change),
    )


def dithered_share(image: Array) -> Array:
    """Return the trust that rounding leaves in the evidence of a (channels, H, W) image, 0 to 1.

    ``(1 - (step^2 / 12) / variance)^2`` over 9 x 9 pixels: the share of the variation that is not rounding.
    Rounding is independent noise only while the image varies over several steps.  Where it varies by less than one,
    the rounded image is flat, or a staircase whose treads have *sharp* edges: evidence, of no blur, that is not
    there.  The step is that at the pixel's own intensity (8 bits made linear have small steps in the dark and large
    ones in the light); the best channel counts.
    """
    shares = []
    for plane in image:
        step = _local_step(plane)
        if step is None:
            return np.ones_like(plane)
        variance = box(np.square(plane - box(plane, 9)), 9)
        rounding = box(np.square(step), 9) * np.float32(1 / 12)
        shares.append(np.square(np.maximum(1 - rounding / (variance + np.float32(1e-30)), 0)))
    return np.asarray(np.maximum.reduce(shares))


def _local_step(plane: Array) -> Array | None:
    """Return the spacing of a plane's values around each pixel's, None if it has more than 1024 of them."""
    if len(np.unique(plane[: 1 + 4096 // plane.shape[1]])) > 1024:
        return None  # without sorting them all
    values, index = np.unique(plane, return_inverse=True)
    if not 2 < len(values) <= 1024:
        return None
    gaps = np.diff(values)
    return np.asarray(np.minimum(np.append(gaps, gaps[-1]), np.append(gaps[0], gaps))[index.reshape(plane.shape)])


def estimate_noise(
    first: Array,
    second: Array,
    usable: NDArray[np.bool_],
    residual_variance: float,
    given: GivenNoise,
    stacks: Callable[[], Iterable[ResidualStack]] | None = None,
) -> PairNoise:
    """Estimate the noise of a pair (before any prefilter), unless it is given.

    Parameters
    ----------
    residual_variance : float
        Median variance of the best local fit.
    stacks : callable, optional
        Residuals that decide, in doubt, whether one image has more noise than the other; equal without them.
    """
    rounding = rounding_floor(first), rounding_floor(second)
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
    stacks: Callable[[], Iterable[ResidualStack]] | None,
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
        tables = [noise.tables(stack) for noise in (equal, unequal)]
        found.append(negative_log_likelihood(stack, [table.own + table.passed for table in tables]))
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
