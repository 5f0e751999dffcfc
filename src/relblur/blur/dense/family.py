"""The kernels that made a pair: a program's sampled Gaussian, a band-limited one, or the discs of a lens.

From 0.8 px on the two Gaussians are the same.  Below, a program's kernel of 0.5 px has the second moment of a lens of
0.46 px, and passes far more of the finest detail: where the pair shows such detail, the residuals distinguish them.

At every window each family takes the blur that suits it best, and what is left is compared: ``log max(c, v)``, with
``c`` the mean of ``e^2`` and ``v`` its variance in noise alone, which is the negative log-likelihood with a misfit that
makes up what noise does not explain.  A lens fits neither Gaussian exactly: the worse the fit, the clearer the
difference has to be.

Discs are compared with the Gaussian in the same way, where blur is larger.  Where they fit better their parameter
(:mod:`relblur.filters.discs`) is looked for.  All comparisons use a few squares with much texture.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ...field import Loops
from ...filters.discs import discs_family
from ...filters.kernels import SOFTENING, STEP, Family
from .noise import PairNoise
from .residuals import noise_gain, residuals_of

__all__ = ["choose_family", "usual_family"]

Array = NDArray[np.float32]

#: Blur in px^2 up to which the families are compared, and between which they differ enough to be told apart.
_ALIKE, _NEARLY_NONE, _NEARLY_ALIKE = 1.0, 0.05, 0.6
#: Share of the pixels below which it does not matter.
_FEW = 0.003
#: Side of the window in px, and the distance between windows that are looked at.
_WINDOW, _STRIDE = 9, 4
_MEAN: dict[str, Any] = {"normalize": True, "borderType": cv2.BORDER_REFLECT}
#: Most that one pixel's preference counts.
_MOST = 1.0
#: Standard errors of the mean preference that are asked for, and what in addition of a noisy pair or one that seems
#: band-limited (with 0.016 a photograph was taken for computed), and of residuals twice what noise explains.
#: (Photographs and rendered lenses prefer one by up to 0.06, computed pairs without noise by 0.3 and more.)
_STANDARD_ERRORS, _FOR_NOISE, _FOR_MISFIT = 3.0, 0.018, 0.1
#: Blur in px^2 between which discs are told from Gaussians: less is alike, more is rare.
_DISCS_FROM, _DISCS_TO = 0.5, 12.0
#: Parameters of the discs that are tried beside 0, px, and the factor to those beside the best.
_APART, _BESIDE = (1.4, 2.0, 2.8, 4.0), 2**0.25
#: Least mean preference (nats) for discs of parameter 0, and of others over those. Real lenses reach 0.05 to 0.9 on
#: `street`, `table`, `leaves` and the demo's pairs; computed Gaussians in noise and in JPEG files stay below 0.
_DISCS_BETTER, _APART_BETTER = 0.02, 0.01
#: Number and side in px of the squares that are looked at.
_SQUARES, _SQUARE = 4, 160
#: Step of the levels that are looked at: twice that of the estimate.
_COARSE_STEP = 0.4


def usual_family(signed: bool) -> Family:
    """Return the family to use unless the pair says otherwise: a signed map needs a slope at zero."""
    return "band_limited" if signed else "sampled"


def other_family(family: Family) -> Family:
    """Return the other one."""
    return "sampled" if family == "band_limited" else "band_limited"


#: Images and their usable pixels.
Part = tuple[tuple[Array, Array], NDArray[np.bool_]]


def choose_family(
    parts: Sequence[Part], noise: PairNoise, family: Family, lowest: float, highest: float, loops: Loops
) -> Family:
    """Return the family that suits some (images, usable), not prefiltered, or the given one.

    ``lowest`` and ``highest`` are the range of ``s`` in px^2.
    """
    squares = _textured_squares(parts)
    if _is_better(_compare_gaussians(squares, noise, family, lowest, highest, loops), noise, family):
        family = other_family(family)
    if noise.is_arithmetic or highest < _DISCS_FROM:
        return family
    return _choose_discs(squares, noise, family, lowest, highest, loops) or family


@dataclass(frozen=True)
class _Preference:
    """How much better the other family suits each telling window, and ``c / v`` with the better of the two."""

    gain: Array
    excess: Array


def _compare_gaussians(
    squares: Sequence[Part], noise: PairNoise, family: Family, lowest: float, highest: float, loops: Loops
) -> _Preference:
    """Compare a family of Gaussians with the other one, where blur is small."""
    most = int(np.arcsinh(min(highest, 1.5 * _ALIKE) / SOFTENING) / STEP)
    levels = SOFTENING * np.sinh(STEP * np.arange(-most if lowest < 0 else 0, most + 1))
    if len(levels) < 3:
        return _Preference(*np.zeros((2, 0), np.float32))
    found = []
    for images, usable in squares:
        seen = usable[::_STRIDE, ::_STRIDE]
        mine, theirs = (
            _fit(levels, images, noise, each, (_NEARLY_NONE, _NEARLY_ALIKE), loops)
            for each in (family, other_family(family))
        )
        telling = (mine.telling | theirs.telling) & seen
        # Where few windows tell, the families would give the same map.
        found.append(_preference(mine, theirs, telling & (telling.sum() >= _FEW * max(seen.sum(), 1))))
    return _Preference(*(np.concatenate([getattr(each, name) for each in found]) for name in ("gain", "excess")))


def _preference(mine: _Fit, theirs: _Fit, telling: NDArray[np.bool_]) -> _Preference:
    excess = np.minimum(mine.excess, theirs.excess)[telling]
    # Noise that is taken for more than it is would favour the family that lets less of it pass.
    less = min(1.0, float(np.median(excess))) if excess.size else 1.0
    gain = np.clip(mine.cost(less) - theirs.cost(less), -_MOST, _MOST)
    return _Preference(gain[telling], excess)


def _choose_discs(
    squares: Sequence[Part], noise: PairNoise, family: Family, lowest: float, highest: float, loops: Loops
) -> Family | None:
    """Return the discs that suit squares clearly better than a family of Gaussians."""
    steps = np.arange(1, int(np.arcsinh(min(highest, 1.5 * _DISCS_TO) / SOFTENING) / _COARSE_STEP) + 1)
    levels = SOFTENING * np.sinh(_COARSE_STEP * np.concatenate([-steps[::-1], steps] if lowest < 0 else [steps]))

    def fit(family: Family, images: tuple[Array, Array]) -> _Fit:
        return _fit(levels, images, noise, family, (_DISCS_FROM, _DISCS_TO), loops)

    usual = [fit(family, images) for images, _ in squares]
    found: dict[float, tuple[float, float]] = {}

    def look(apart: float) -> None:
        gains = np.zeros(0, np.float32)
        for mine, (images, usable) in zip(usual, squares, strict=True):
            theirs = fit(discs_family(apart), images)
            # Blur beyond the search fits any kernel that is narrower than it should be.
            telling = mine.telling & theirs.inside & usable[::_STRIDE, ::_STRIDE]
            gains = np.append(gains, _preference(mine, theirs, telling).gain)
        found[apart] = (float(gains.mean(dtype=np.float64)), _chance(gains)) if gains.size else (0.0, np.inf)

    def best() -> float:
        return max(found, key=lambda apart: found[apart][0] - (_APART_BETTER if apart else 0.0))

    look(0.0)
    mean, chance = found[0.0]
    if mean <= _DISCS_BETTER + chance:
        return None
    for apart in _APART:
        look(apart)
    if middle := best():
        look(middle / _BESIDE)
        look(middle * _BESIDE)
    return discs_family(_vertex({apart: mean for apart, (mean, _) in found.items()}, best()))


def _vertex(means: dict[float, float], best: float) -> float:
    """Return where the parabola through the best parameter and its neighbours, in octaves, is greatest."""
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


def _chance(gain: Array) -> float:
    """Return the standard errors of a mean preference that are asked for."""
    # Windows overlap: only so many are independent.
    count = gain.size * (_STRIDE / _WINDOW) ** 2
    return _STANDARD_ERRORS * float(gain.std(dtype=np.float64)) / float(np.sqrt(max(count, 1e-9)))


def _is_better(preference: _Preference, noise: PairNoise, family: Family) -> bool:
    """Return whether the other family than this one fits better."""
    gain, excess = preference.gain, preference.excess
    if gain.size * (_STRIDE / _WINDOW) ** 2 < 2:
        return False
    misfit = min(max(float(np.median(excess)) - 1, 0.0), 1.0)
    least = _FOR_NOISE * (max(noise.sensor) > 0 or family == "sampled") + _FOR_MISFIT * misfit
    return bool(gain.mean(dtype=np.float64) > least + _chance(gain))


@dataclass(frozen=True)
class _Fit:
    """The least ``c`` at every pixel, its ``v``, whether it is between the levels, and at a blur that can tell."""

    least: Array
    noise: Array
    inside: NDArray[np.bool_]
    telling: NDArray[np.bool_]

    @property
    def excess(self) -> Array:
        """``c / v``."""
        return np.asarray(self.least / np.maximum(self.noise, np.float32(1e-30)), np.float32)

    def cost(self, less: float) -> Array:
        """Return the cost with ``less`` times the noise."""
        noise = np.maximum(np.float32(less) * self.noise, np.float32(1e-30))
        return np.asarray(np.log(np.maximum(self.least, noise)), np.float32)


def _fit(
    levels: NDArray[np.float64],
    images: tuple[Array, Array],
    noise: PairNoise,
    family: Family,
    limits: tuple[float, float],
    loops: Loops,
) -> _Fit:
    """Fit the best blur of a family among some levels; one whose ``|s|`` is between the limits can tell."""
    residual = residuals_of(*images, float(np.abs(levels).max()), family, loops)
    channels, *shape = images[0].shape
    power = _power(lambda c, k: residual(c, float(levels[k])), channels, len(levels), tuple(shape), loops)
    own, passed = noise.variances(levels, noise_gain(levels, family, 0.0))
    return _best_of(power, own + passed, levels, limits)


def _power(
    residual: Callable[[int, int], Array], channels: int, levels: int, shape: tuple[int, ...], loops: Loops
) -> Array:
    """Return the mean square of residuals (channel, level) in windows, (levels, rows, columns)."""
    c = np.empty((levels, *(-(-n // _STRIDE) for n in shape)), np.float32)

    def fill(k: int) -> None:
        power = sum(
            cv2.sqrBoxFilter(residual(channel, k), cv2.CV_32F, (_WINDOW, _WINDOW), **_MEAN)
            for channel in range(channels)
        )
        c[k] = power[::_STRIDE, ::_STRIDE] / channels

    loops.team.each(fill, range(levels))
    return c


def _best_of(c: Array, variance: NDArray[np.float64], levels: NDArray[np.float64], limits: tuple[float, float]) -> _Fit:
    """Return the least of the mean squares of each window."""
    v, s = variance.astype(np.float32)[:, None, None], np.abs(levels)
    best = _cost(c, v).argmin(axis=0)
    k = np.clip(best, 1, len(s) - 2)
    below, here, above = (np.take_along_axis(c, (k + step)[None], 0)[0] for step in (-1, 0, 1))
    # The least of the parabola through three levels, within half a level.
    bend = np.maximum(below - 2 * here + above, np.float32(1e-20))
    u = np.clip((below - above) / (2 * bend), -0.5, 0.5)
    least = np.maximum(here - (below - above) * u / 2 + bend * u * u / 2, here * np.float32(0.02))
    inside = (best > 0) & (best < len(s) - 1)
    return _Fit(least, np.take(v[:, 0, 0], k), inside, inside & (s[k] > limits[0]) & (s[k] < limits[1]))


def _cost(c: Array, v: Array) -> Array:
    return np.where(c < v, np.log(v) + c / v, np.log(np.maximum(c, v)) + 1)
