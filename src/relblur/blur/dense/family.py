"""The kernels that made a pair: a program's sampled Gaussian, a band-limited one, or the discs of a lens.

From 0.8 px on the two Gaussians are the same.  Below, a program's kernel of 0.5 px has the second moment of a lens of
0.46 px, and passes far more of the finest detail: where the pair shows such detail, the residuals distinguish them.
Discs differ from Gaussians where blur is larger; their parameter is described in :mod:`relblur.filters.discs`.

At every window each family takes the blur that suits it best, and the remaining ``log max(c, v)`` are compared, with
``c`` the mean of ``e^2`` and ``v`` its variance in noise alone.  This is the negative log-likelihood with a misfit that
makes up for unexplained residuals.  A lens fits neither Gaussian exactly: the worse the fit, the clearer the difference
has to be.  A few squares with much texture are compared.
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

#: Blurs (px^2) between which the two Gaussians, and discs and Gaussians, are compared: less is alike, more is rare.
_GAUSSIANS, _DISCS = (0.05, 0.6), (0.5, 12.0)
#: Side of a window, and the distance of the windows that are compared, px.
_WINDOW, _STRIDE = 9, 4
#: Largest preference that one window counts, nats.
_MOST = 1.0
#: Least mean preference, in standard errors.
_STANDARD_ERRORS = 3.0
#: Additional preference (nats) for the other Gaussian, of a noisy pair or one that seems band-limited, and where
#: residuals are twice what noise explains. Photographs prefer one by up to 0.06, computed pairs by 0.3 and more.
_FOR_NOISE, _FOR_MISFIT = 0.018, 0.1
#: Parameters of the discs that are tried beside 0, px, and the factor to those beside the best.
_APART, _BESIDE = (1.4, 2.0, 2.8, 4.0), 2**0.25
#: Least preference (nats) for discs of parameter 0, and of others over those. Real lenses reach 0.05 to 0.9 on
#: `street`, `table`, `leaves` and the demo's pairs; computed Gaussians in noise and in JPEG files stay below 0.
_DISCS_BETTER, _APART_BETTER = 0.02, 0.01
#: Number and side in px of the squares.
_SQUARES, _SQUARE = 4, 160


def usual_family(signed: bool) -> Family:
    """Return the family to use unless the pair contradicts: a signed map needs a slope at zero."""
    return "band_limited" if signed else "sampled"


def choose_family(
    parts: Sequence[Part], noise: PairNoise, family: Family, lowest: float, highest: float, loops: Loops
) -> Family:
    """Return the family that suits some (images, usable), not prefiltered, or the given one.

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
    """Return the discs that suit squares clearly better than a family of Gaussians, or that family."""
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
    place = order.index(best)
    if not best or place + 1 == len(order) or not order[place - 1]:
        return best
    x = np.log(order[place - 1 : place + 2])
    bend, slope, _ = np.polyfit(x - x[1], [means[apart] for apart in order[place - 1 : place + 2]], 2)
    return float(best * np.exp(np.clip(-slope / (2 * bend), x[0] - x[1], x[2] - x[1]))) if bend < 0 else best


def _textured_squares(parts: Sequence[Part]) -> list[Part]:
    """Return the squares of some images in which most pixels have more contrast than the median pixel."""
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
    """Return equal parts of a side, about as long as a square's."""
    edges = np.linspace(0, length, max(round(length / _SQUARE), 1) + 1).astype(int).tolist()
    return [slice(*ends) for ends in itertools.pairwise(edges)]


@dataclass(frozen=True)
class _Gain:
    """Mean preference for a family, the part of it that may be chance, and the relative misfit, 0 to 1."""

    mean: float
    chance: float
    misfit: float


@dataclass(frozen=True)
class _Fit:
    """The least ``c`` of each window, its ``v``, whether it is between the levels, and at a blur within the limits."""

    least: Array
    noise: Array
    inside: NDArray[np.bool_]
    telling: NDArray[np.bool_]

    def cost(self, less: float) -> Array:
        """Return the cost with ``less`` times the noise."""
        return np.asarray(np.log(np.maximum(self.least, np.float32(less) * self.noise)), np.float32)


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
        """Return the preference for the second family over the first."""
        gains, excesses = [], []
        for mine, theirs, (_, usable) in zip(self._fit(family), self._fit(other), self._squares, strict=True):
            # Blur beyond the search fits any kernel that is narrower than it should be.
            telling = mine.telling & theirs.inside & usable[::_STRIDE, ::_STRIDE]
            excess = np.minimum(mine.least / mine.noise, theirs.least / theirs.noise)[telling]
            # Noise that is overestimated would favour the family that lets less of it pass.
            less = min(1.0, float(np.median(excess))) if excess.size else 1.0
            gains.append(np.clip(mine.cost(less) - theirs.cost(less), -_MOST, _MOST)[telling])
            excesses.append(excess)
        gain = np.concatenate(gains)
        # Windows overlap: only so many are independent.
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

        def look(k: int) -> None:
            power = np.zeros(shape, np.float32)
            for channel in range(channels):
                power += cv2.sqrBoxFilter(residual(channel, float(levels[k])), cv2.CV_32F, window, borderType=border)
            c[k] = power[::_STRIDE, ::_STRIDE] / channels

        self._loops.team.each(look, range(len(levels)))
        variance = np.add(*self._noise.variances(levels, noise_gain(levels, family, 0.0)))
        v, s = np.maximum(variance, 1e-30).astype(np.float32)[:, None, None], np.abs(levels)
        best = np.where(c < v, np.log(v) + c / v, np.log(np.maximum(c, v)) + 1).argmin(axis=0)
        k = np.clip(best, 1, len(s) - 2)
        below, here, above = (np.take_along_axis(c, (k + step)[None], 0)[0] for step in (-1, 0, 1))
        # The least of the parabola through three levels, within half a level.
        bend = np.maximum(below - 2 * here + above, np.float32(1e-20))
        u = np.clip((below - above) / (2 * bend), -0.5, 0.5)
        least = np.maximum(here - (below - above) * u / 2 + bend * u * u / 2, here * np.float32(0.02))
        inside = (best > 0) & (best < len(s) - 1)
        telling = inside & (s[k] > self._limits[0]) & (s[k] < self._limits[1])
        return _Fit(least, np.take(v[:, 0, 0], k), inside, telling)
