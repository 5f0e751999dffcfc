"""The kernel family of a pair: the sampled Gaussian of a program, a band-limited Gaussian, or the discs of a lens.

From 0.8 px on the two Gaussians are equal.  Below, a sampled kernel of 0.5 px has the second moment of a band-limited
one of 0.46 px, and passes far more of the finest detail.  Such detail in the pair distinguishes them.  Discs differ
from Gaussians at larger blur.  Their parameter is described in :mod:`relblur.filters.discs`.

Each family is fitted to each window with its best blur.  The values of ``log max(c, v)`` are compared, with ``c`` the
mean of ``e^2`` and ``v`` its variance from noise alone.  This is the negative log-likelihood with a misfit for
unexplained residuals.  The least significant difference grows with the misfit, because a lens fits neither Gaussian
exactly.  A few squares with much texture are compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ...field import Loops
from ...filters.discs import discs_family
from ...filters.kernels import SOFTENING, STEP, Family
from .noise import PairNoise
from .residuals import noise_gain, residuals_of

__all__ = ["Part", "choose_family", "usual_family"]

Array = NDArray[np.float32]
#: Images and their usable pixels.
Part = tuple[tuple[Array, Array], NDArray[np.bool_]]

#: Range of blur (px^2) in which the two Gaussians, and discs and Gaussians, are compared. Below they are equal; larger
#: blur is rare.
_GAUSSIANS, _DISCS = (0.05, 0.6), (0.5, 12.0)
#: Side of a window, and the distance between the windows, px.
_WINDOW, _STRIDE = 9, 4
#: Largest difference of the log-likelihood in a window, nats.
_MOST = 1.0
#: Least mean difference, in standard errors.
_STANDARD_ERRORS = 3.0
#: Least difference (nats) for the other Gaussian, of a noisy or band-limited pair, and its increase for residuals of
#: twice the noise. It is up to 0.06 for photographs, and 0.3 or more for computed pairs.
_FOR_NOISE, _FOR_MISFIT = 0.018, 0.1
#: Parameters of the discs other than 0 (px), and the factor between the best one and its two refinements.
_APART, _BESIDE = (1.4, 2.0, 2.8, 4.0), 2**0.25
#: Least difference (nats) for discs of parameter 0 over Gaussians, and for other discs over those. 0.05 to 0.9 for real
#: lenses (`street`, `table`, `leaves`, the demo), and negative for computed Gaussians in noise and in JPEG files.
_DISCS_BETTER, _APART_BETTER = 0.02, 0.01
#: Number of squares, and their side in px.
_SQUARES, _SQUARE = 4, 160


def usual_family(signed: bool) -> Family:
    """Return the default family: band-limited for a signed map, which needs a slope at zero."""
    return "band_limited" if signed else "sampled"


def choose_family(
    parts: Sequence[Part], noise: PairNoise, family: Family, lowest: float, highest: float, loops: Loops
) -> Family:
    """Return the family with the best fit to some (images, usable), not prefiltered; by default ``family``.

    ``lowest`` and ``highest`` are the range of ``s`` in px^2.
    """
    squares = _textured_squares(parts)
    small = _Comparison(squares, noise, lowest, highest, _GAUSSIANS, STEP, loops)
    other: Family = "sampled" if family == "band_limited" else "band_limited"
    gain = small.gain(family, other)
    least = _FOR_NOISE * (max(noise.sensor) > 0 or family == "sampled") + _FOR_MISFIT * gain.misfit
    if gain.mean > least + gain.chance:
        family = other
    if noise.is_arithmetic or highest < _DISCS[0]:
        return family
    return _choose_discs(_Comparison(squares, noise, lowest, highest, _DISCS, 2 * STEP, loops), family)


def _choose_discs(large: _Comparison, family: Family) -> Family:
    """Return the discs if they fit significantly better than a family of Gaussians, else that family."""
    first = large.gain(family, discs_family(0.0))
    if first.mean <= _DISCS_BETTER + first.chance:
        return family
    means = {0.0: first.mean} | {apart: large.gain(family, discs_family(apart)).mean for apart in _APART}

    def best() -> float:
        return max(means, key=lambda apart: means[apart] - (_APART_BETTER if apart else 0.0))

    if middle := best():
        for apart in (middle / _BESIDE, middle * _BESIDE):
            means[apart] = large.gain(family, discs_family(apart)).mean
    return discs_family(_vertex(means, best()))


def _vertex(means: dict[float, float], best: float) -> float:
    """Return the maximum of the parabola through the best parameter and its neighbours, in octaves."""
    order = sorted(means)
    index = order.index(best)
    if not best or index + 1 == len(order) or not order[index - 1]:
        return best
    x = np.log(order[index - 1 : index + 2])
    bend, slope, _ = np.polyfit(x - x[1], [means[apart] for apart in order[index - 1 : index + 2]], 2)
    return float(best * np.exp(np.clip(-slope / (2 * bend), x[0] - x[1], x[2] - x[1]))) if bend < 0 else best


def _textured_squares(parts: Sequence[Part]) -> list[Part]:
    """Return the squares of some images with most pixels of more contrast than the median."""
    squares, shares = [], []
    slopes = [
        np.asarray(sum(np.abs(cv2.Laplacian(plane, cv2.CV_32F)) for image in images for plane in image))
        for images, _ in parts
    ]
    median = np.median(np.concatenate([slope.ravel() for slope in slopes]))
    for ((first, second), usable), slope in zip(parts, slopes, strict=True):
        textured = (slope > median) & usable
        for rows, columns in itertools.product(*map(_pieces, usable.shape)):
            here = np.s_[rows, columns]
            cut = (np.ascontiguousarray(first[:, rows, columns]), np.ascontiguousarray(second[:, rows, columns]))
            squares.append((cut, usable[here]))
            shares.append(float(textured[here].mean()))
    order = sorted(range(len(squares)), key=lambda n: -shares[n])
    return [squares[n] for n in order[:_SQUARES]]


def _pieces(length: int) -> list[slice]:
    """Return equal parts of a side, about as long as a square."""
    edges = np.linspace(0, length, max(round(length / _SQUARE), 1) + 1).astype(int).tolist()
    return [slice(*ends) for ends in itertools.pairwise(edges)]


@dataclass(frozen=True)
class _Gain:
    """Mean difference of the log-likelihood of two families, its error, and the relative misfit, 0 to 1."""

    mean: float
    chance: float
    misfit: float


@dataclass(frozen=True)
class _Fit:
    """The best fit of a family to each window."""

    least: Array  #: least ``c``
    noise: Array  #: its ``v``
    inside: NDArray[np.bool_]  #: whether the best blur is between the levels
    informative: NDArray[np.bool_]  #: whether it is also within the limits of the comparison

    def cost(self, factor: float) -> Array:
        """Return the cost with the noise times a factor."""
        return np.asarray(np.log(np.maximum(self.least, np.float32(factor) * self.noise)), np.float32)


class _Comparison:
    """Families on some squares, where ``|s|`` is between limits."""

    def __init__(
        self,
        squares: Sequence[Part],
        noise: PairNoise,
        lowest: float,
        highest: float,
        limits: tuple[float, float],
        step: float,
        loops: Loops,
    ) -> None:
        most = max(int(np.arcsinh(min(highest, 1.5 * limits[1]) / SOFTENING) / step), 2)
        #: Levels, px^2.
        self._levels = SOFTENING * np.sinh(step * np.arange(-most if lowest < 0 else 0, most + 1))
        self._squares, self._noise, self._limits, self._loops = squares, noise, limits, loops
        self._fits: dict[Family, list[_Fit]] = {}

    def gain(self, family: Family, other: Family) -> _Gain:
        """Return the log-likelihood of the second family minus that of the first."""
        gains, excesses = [], []
        for one, two, (_, usable) in zip(self._fit(family), self._fit(other), self._squares, strict=True):
            # The other fit excludes blur beyond the search, at which too narrow a kernel fits better.
            informative = one.informative & two.inside & usable[::_STRIDE, ::_STRIDE]
            excess = np.minimum(one.least / one.noise, two.least / two.noise)[informative]
            # Overestimated noise would favour the family that passes less of it.
            factor = min(1.0, float(np.median(excess))) if excess.size else 1.0
            gains.append(np.clip(one.cost(factor) - two.cost(factor), -_MOST, _MOST)[informative])
            excesses.append(excess)
        gain = np.concatenate(gains)
        # Number of independent windows; windows overlap.
        count = gain.size * (_STRIDE / _WINDOW) ** 2
        if count < 2:
            return _Gain(0.0, np.inf, 0.0)
        chance = _STANDARD_ERRORS * float(gain.std(dtype=np.float64)) / count**0.5
        misfit = min(max(float(np.median(np.concatenate(excesses))) - 1, 0.0), 1.0)
        return _Gain(float(gain.mean(dtype=np.float64)), chance, misfit)

    def _fit(self, family: Family) -> list[_Fit]:
        if family not in self._fits:
            self._fits[family] = [self._best(images, family) for images, _ in self._squares]
        return self._fits[family]

    def _best(self, images: tuple[Array, Array], family: Family) -> _Fit:
        """Fit the best blur of a family to the windows of one square."""
        levels, (channels, *shape) = self._levels, images[0].shape
        residual = residuals_of(*images, float(np.abs(levels).max()), family)
        c = np.empty((len(levels), *(-(-n // _STRIDE) for n in shape)), np.float32)
        window, border = (_WINDOW, _WINDOW), cv2.BORDER_REFLECT

        def fill_level(k: int) -> None:
            power = np.zeros(shape, np.float32)
            for channel in range(channels):
                power += cv2.sqrBoxFilter(residual(channel, float(levels[k])), cv2.CV_32F, window, borderType=border)
            c[k] = power[::_STRIDE, ::_STRIDE] / channels

        self._loops.team.each(fill_level, range(len(levels)))
        variance = np.add(*self._noise.variances(levels, noise_gain(levels, family, 0.0)))
        v, s = np.maximum(variance, 1e-30).astype(np.float32)[:, None, None], np.abs(levels)
        best = np.where(c < v, np.log(v) + c / v, np.log(np.maximum(c, v)) + 1).argmin(axis=0)
        k = np.clip(best, 1, len(s) - 2)
        below, here, above = (np.take_along_axis(c, (k + step)[None], 0)[0] for step in (-1, 0, 1))
        # The minimum of the parabola through three levels, within half a level.
        bend = np.maximum(below - 2 * here + above, np.float32(1e-20))
        u = np.clip((below - above) / (2 * bend), -0.5, 0.5)
        least = np.maximum(here - (below - above) * u / 2 + bend * u * u / 2, here * np.float32(0.02))
        inside = (best > 0) & (best < len(s) - 1)
        informative = inside & (s[k] > self._limits[0]) & (s[k] < self._limits[1])
        return _Fit(least, np.take(v[:, 0, 0], k), inside, informative)
