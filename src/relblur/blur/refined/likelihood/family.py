"""Which kernels made the pair: a program's sampled Gaussian, a band-limited one, or the discs of a lens.

From 0.8 px on the two Gaussians are the same.  Below, a program's kernel of 0.5 px has the second moment of a lens of
0.46 px, and lets far more of the finest detail pass: where the pair shows such detail, the residuals tell which it was.

At every pixel either family is given the blur that suits it best, and what is left is compared: ``log max(c, v)``, with
``c`` the mean of ``e^2`` over a window and ``v`` its variance in noise alone.  (It is the negative log-likelihood with
a misfit that makes up what noise does not explain; to fit noise better than that is no merit.)  A lens fits neither
Gaussian exactly, and small preferences of a pair that fits badly mean little: the worse the fit, the clearer the
difference has to be.

Discs are compared with the Gaussian in the same way, where blur is larger, on a few squares with much texture.  Where
they fit better their parameter (:mod:`.filters.discs`) is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ....filters.discs import discs_family
from ....filters.kernels import Family
from ....filters.level_axis import SOFTENING
from ..team import SERIAL, ThreadTeam
from .noise import PairNoise
from .stack import ResidualStack, build_stack, noise_gain, residuals_of

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


@dataclass(frozen=True)
class Preference:
    """How much better the other family suits each pixel that can tell, and ``c / v`` with the better of the two."""

    gain: Array
    excess: Array


def compare(
    stack: ResidualStack,
    images: tuple[Array, Array],
    noise: PairNoise,
    usable: NDArray[np.bool_],
    family: Family,
    team: ThreadTeam = SERIAL,
) -> Preference:
    """Compare the family of a stack of (channels, H, W) images, not prefiltered, with the other one."""
    seen = usable[::_STRIDE, ::_STRIDE]
    low, high = np.searchsorted(stack.s_levels, (-_ALIKE, _ALIKE))
    limits = (_NEARLY_NONE, _NEARLY_ALIKE)
    mine = _fit(stack, noise, slice(low, high + 1), limits, team)
    if np.mean(mine.telling & seen) < _FEW:  # the families would give the same map
        return Preference(*np.zeros((2, 0), np.float32))
    other = build_stack(
        images[0],
        images[1],
        lowest=float(stack.s_levels[low]),
        highest=float(stack.s_levels[min(high, len(stack.s_levels) - 1)]),
        family=other_family(family),
        prefilter=0.0,
        team=team,
    )
    theirs = _fit(other, noise, slice(None), limits, team)
    return _preference(mine, theirs, (mine.telling | theirs.telling) & seen)


def _preference(mine: _Fit, theirs: _Fit, telling: NDArray[np.bool_]) -> Preference:
    excess = np.minimum(mine.excess, theirs.excess)[telling]
    # Noise that is taken for more than it is would favour the family that lets less of it pass.
    less = min(1.0, float(np.median(excess))) if excess.size else 1.0
    gain = np.clip(mine.cost(less) - theirs.cost(less), -_MOST, _MOST)
    return Preference(gain[telling], excess)


def choose_discs(
    pairs: Sequence[tuple[tuple[Array, Array], NDArray[np.bool_]]],
    noise: PairNoise,
    family: Family,
    lowest: float,
    highest: float,
    team: ThreadTeam = SERIAL,
) -> Family | None:
    """Return the discs that suit some (images, usable), not prefiltered, clearly better than a family of Gaussians."""
    if highest < _DISCS_FROM:
        return None
    squares = _textured_squares(pairs)
    steps = np.arange(1, int(np.arcsinh(min(highest, 1.5 * _DISCS_TO) / SOFTENING) / _COARSE_STEP) + 1)
    levels = SOFTENING * np.sinh(_COARSE_STEP * np.concatenate([-steps[::-1], steps] if lowest < 0 else [steps]))

    def fit(family: Family, images: tuple[Array, Array]) -> _Fit:
        return _fit_levels(levels, images, noise, family, team)

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


def _textured_squares(
    pairs: Sequence[tuple[tuple[Array, Array], NDArray[np.bool_]]],
) -> list[tuple[tuple[Array, Array], NDArray[np.bool_]]]:
    """Return the squares of some images in which most pixels have more contrast than the median pixel."""
    squares, shares = [], []
    for (first, second), usable in pairs:
        slope = sum(np.abs(cv2.Laplacian(plane, cv2.CV_32F)) for image in (first, second) for plane in image)
        textured = (slope > np.median(slope)) & usable
        for top, left in np.ndindex(*(max(n // _SQUARE, 1) for n in usable.shape)):
            here = np.s_[top * _SQUARE : (top + 1) * _SQUARE, left * _SQUARE : (left + 1) * _SQUARE]
            cut = (np.ascontiguousarray(first[:, *here]), np.ascontiguousarray(second[:, *here]))
            squares.append((cut, usable[here]))
            shares.append(float(textured[here].mean()))
    order = sorted(range(len(squares)), key=lambda n: -shares[n])
    return [squares[n] for n in order[:_SQUARES]]


def _chance(gain: Array) -> float:
    """Return the standard errors of a mean preference that are asked for."""
    # Windows overlap: only so many are independent.
    count = gain.size * (_STRIDE / _WINDOW) ** 2
    return _STANDARD_ERRORS * float(gain.std(dtype=np.float64)) / float(np.sqrt(max(count, 1e-9)))


def is_better(preferences: Sequence[Preference], noise: PairNoise, family: Family) -> bool:
    """Tell whether the other family than this one is to be used."""
    gain, excess = (np.concatenate([getattr(each, name) for each in preferences]) for name in ("gain", "excess"))
    if gain.size * (_STRIDE / _WINDOW) ** 2 < 2:
        return False
    misfit = min(max(float(np.median(excess)) - 1, 0.0), 1.0)
    asked = _FOR_NOISE * (max(noise.sensor) > 0 or family == "sampled") + _FOR_MISFIT * misfit
    return bool(gain.mean(dtype=np.float64) > asked + _chance(gain))


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


def _fit(stack: ResidualStack, noise: PairNoise, levels: slice, limits: tuple[float, float], team: ThreadTeam) -> _Fit:
    """Fit the best blur among some levels of a stack; one whose ``|s|`` is between the limits can tell."""
    tables = noise.tables(stack)
    variance = (tables.own + tables.passed)[levels]
    residuals = stack.residuals[:, levels]
    power = _power(lambda c, k: residuals[c, k], len(residuals), len(variance), residuals.shape[2:], team)
    return _best_of(power, variance, stack.s_levels[levels], limits)


def _fit_levels(
    levels: NDArray[np.float64], images: tuple[Array, Array], noise: PairNoise, family: Family, team: ThreadTeam
) -> _Fit:
    """Fit the best blur of a family among some levels."""
    residual = residuals_of(*images, float(np.abs(levels).max()), family)
    channels, *shape = images[0].shape
    power = _power(lambda c, k: residual(c, float(levels[k])), channels, len(levels), tuple(shape), team)
    gain, second = noise_gain(levels, family, 0.0), levels > 0
    blurrier, sharper = (np.where(second, *noise.sensor[::step]) ** 2 for step in (-1, 1))
    rounding = np.where(second, *noise.rounding[::-1]) ** 2
    variance = gain.q0 * (blurrier + rounding) + gain.q * sharper
    return _best_of(power, variance, levels, (_DISCS_FROM, _DISCS_TO))


def _power(
    residual: Callable[[int, int], Array], channels: int, levels: int, shape: tuple[int, ...], team: ThreadTeam
) -> Array:
    """Return the mean square of residuals (channel, level) in windows, (levels, rows, columns)."""
    c = np.empty((levels, *(-(-n // _STRIDE) for n in shape)), np.float32)

    def fill(k: int) -> None:
        power = sum(
            cv2.sqrBoxFilter(residual(channel, k), cv2.CV_32F, (_WINDOW, _WINDOW), **_MEAN)
            for channel in range(channels)
        )
        c[k] = power[::_STRIDE, ::_STRIDE] / channels

    team.each(fill, range(levels))
    return c


def _best_of(
    c: Array, variance: NDArray[np.float64], s_levels: NDArray[np.float64], limits: tuple[float, float]
) -> _Fit:
    """Return the least of the mean squares of each window."""
    v, s = variance.astype(np.float32)[:, None, None], np.abs(s_levels)
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
