"""White noise of each image of a pair, told from texture.

Two things are looked at, on cells of 2 x 2 pixels:

* *fine*: power of second differences of the image, ``n^2`` plus what texture there is;
* *coarse*: the same of the image averaged over the cells, ``n^2 / 4`` plus at least as much texture (pictures have more
  of it on a larger scale).  The fifth of the cells where it is least is the flattest, and there

      (fine - coarse) 4 / 3  <=  n^2  <=  fine


The lesser noise is that of the flatter of the two images at each place, in the flattest places.  If the lower bound of
the other image is larger, that image has more noise, or it shows grain of the scene, which is as white as noise but
shared by both.  Which of the two is asked of the textured half of the pair: with the right noise its residuals are
of the greatest likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...field import box, pairs
from ..noise import fine_power
from .residuals import Residuals

Array = NDArray[np.float32]

#: Share of the cells that counts as flat, in percent.
_FLATTEST = 20
#: Mean over the 20th percentile of the smaller of two local powers of white noise.
_OF_QUANTILE = 1.39
#: White noise over its residual where the best of all levels is taken, in variance: at most this.
_LEAST = 1.3
#: Bounds are good to this factor in variance: what differs by less is equal.
_TELLING = 1.5
#: The noise of one image is not taken for less than this part of the other's, in variance: no model fits that well.
_MOST_UNEQUAL = 100.0
#: Bands of so many rows, one of them every so many rows, are enough to tell.
_BAND, _EVERY = 10, 40
#: Minimum drop of the mean negative log-likelihood per pixel (nats) for preferring unequal noise. Chosen on brick,
#: coffee, camera.
DOUBT = 0.005
#: Share of the height of a parabola through three levels that its vertex is not known to.
_APPROXIMATE = np.float32(0.005)
#: A residual this many times its variance is a misfit of the model, whatever the noise.
_MISFIT = np.float32(25)


@dataclass(frozen=True)
class CellPowers:
    """Powers of the usable cells of a pair, each (2, cells) for the first and the second image."""

    fine: Array
    coarse: Array


def measure_powers(first: Array, second: Array, usable: NDArray[np.bool_]) -> CellPowers:
    """Look at a pair of (channels, H, W) images."""
    use = pairs(usable.astype(np.float32)) == 1
    if not use.any():
        use[...] = True
    return CellPowers(
        fine=np.stack([pairs(_roughness(image))[use] for image in (first, second)]),
        coarse=np.stack([_roughness(np.stack([pairs(p) for p in image]))[use] for image in (first, second)]),
    )


@dataclass(frozen=True)
class NoiseCandidates:
    """Variances of the noise of (first, second): the same for both, and what else they may be."""

    equal: tuple[float, float]
    unequal: tuple[float, float] | None


def noise_candidates(powers: Sequence[CellPowers], residual_variance: float) -> NoiseCandidates:
    """Return the noises that a pair may have.

    Parameters
    ----------
    residual_variance : float
        Median variance of the best local fit: the lesser noise cannot exceed it by more than the choice of the best
        explains.
    """
    bounds = [_bounds(powers, side) for side in (0, 1)]
    lesser = min((0, 1), key=lambda side: bounds[side][1])
    flatter = np.concatenate([one.fine.min(axis=0) for one in powers])
    least = min(_OF_QUANTILE * float(np.percentile(flatter, _FLATTEST)), _LEAST * residual_variance)
    other = min(bounds[1 - lesser])
    little = max(least, other / _MOST_UNEQUAL)
    unequal = (little, other) if lesser == 0 else (other, little)
    return NoiseCandidates((least, least), unequal if other > _TELLING * least else None)


def negative_log_likelihood(stack: Residuals, variances: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return, for some noises, the mean of ``e^2 / v + log v`` over the textured half of a pair at its best blurs.

    ``variances`` are what each of them would give to the residuals, (levels,).  ``e^2``, averaged over 5 x 5 pixels, is
    that at the vertex of the parabola through three levels, which is where it is least but for a small part of the
    parabola's height.
    """
    some = _bands(stack.planes)
    change: Array = box(np.square(some[:, -1] - some[:, 0]).sum(axis=0), 5)
    textured = change >= np.median(change)
    inside = np.arange(len(change)) % _BAND
    textured &= ((inside >= 2) & (inside < _BAND - 2))[:, None] | (len(change) < _EVERY)
    powers = [_power(some, k)[textured] for k in (0, 1)]
    best = np.full((len(variances), powers[0].size), np.inf, np.float32)
    for k in range(1, len(stack.levels) - 1):
        powers.append(_power(some, k + 1)[textured])
        below, here, above = powers
        bend = np.maximum(below + above - 2 * here, np.float32(1e-30))
        place = np.clip((below - above) / (2 * bend), -1, 1)
        least = np.maximum(here - place * (below - above) / 4, 0)
        for i, variance in enumerate(variances):
            v = np.float32(variance[k]) + _APPROXIMATE * bend
            np.minimum(best[i], np.minimum(least / v, _MISFIT) + np.log(v), out=best[i])
        powers.pop(0)
    return best.mean(axis=1, dtype=np.float64)


def prefer_second(costs: NDArray[np.float64], by: float = DOUBT) -> bool:
    """Return whether the second of two noises is the more likely ``by`` so much, in nats a pixel."""
    return bool(costs[1] < costs[0] - by)


def _bands(residuals: Array) -> Array:
    """Return some of the rows of a (channels, levels, H, W) stack, all if there are few."""
    count = residuals.shape[2] // _EVERY
    if count == 0:
        return residuals
    rows = residuals[:, :, : count * _EVERY].reshape(*residuals.shape[:2], count, _EVERY, -1)[:, :, :, :_BAND]
    return np.ascontiguousarray(rows).reshape(*residuals.shape[:2], count * _BAND, -1)


def _power(residuals: Array, k: int) -> Array:
    squares = np.square(residuals[:, k])
    return box(squares[0] if len(squares) == 1 else squares.mean(axis=0), 5)


def _bounds(powers: Sequence[CellPowers], side: int) -> tuple[float, float]:
    """Return what the variance of an image's noise is at least and at most."""
    fine, coarse = (np.concatenate([getattr(one, name)[side] for one in powers]) for name in ("fine", "coarse"))
    flat = coarse <= np.percentile(coarse, _FLATTEST)
    most = float(fine[flat].mean(dtype=np.float64))
    return max(most - float(coarse[flat].mean(dtype=np.float64)), 0.0) * 4 / 3, most


def _roughness(image: Array) -> Array:
    # Running sums may leave a negative trace of a zero.
    return np.asarray(np.maximum(fine_power(image), 0))
