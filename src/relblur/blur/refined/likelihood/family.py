"""Which Gaussian made the pair: one sampled on the pixel grid by a program, or one that light went through.

From 0.8 px on the two are the same.  Below, a program's kernel of 0.5 px has the second moment of a lens of 0.46 px,
and lets far more of the finest detail pass: where the pair shows such detail, the residuals tell which it was.

At every pixel either family is given the blur that suits it best, and what is left is compared: ``log max(c, v)``, with
``c`` the mean of ``e^2`` over a window and ``v`` its variance in noise alone.  (It is the negative log-likelihood with
a misfit that makes up what noise does not explain; to fit noise better than that is no merit.)  A lens fits neither
exactly, and small preferences of a pair that fits badly mean little: the worse the fit, the clearer the difference has
to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ....filters.kernels import Family
from ..team import SERIAL, ThreadTeam
from .noise import PairNoise
from .stack import ResidualStack, build_stack

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
    mine = _fit(stack, noise, slice(low, high + 1), team)
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
    theirs = _fit(other, noise, slice(None), team)
    telling = (mine.telling | theirs.telling) & seen
    excess = np.minimum(mine.excess, theirs.excess)[telling]
    # Noise that is taken for more than it is would favour the family that lets less of it pass.
    less = min(1.0, float(np.median(excess))) if excess.size else 1.0
    gain = np.clip(mine.cost(less) - theirs.cost(less), -_MOST, _MOST)
    return Preference(gain[telling], excess)


def is_better(preferences: Sequence[Preference], noise: PairNoise, family: Family) -> bool:
    """Tell whether the other family than this one is to be used."""
    gain, excess = (np.concatenate([getattr(each, name) for each in preferences]) for name in ("gain", "excess"))
    # Windows overlap: only so many are independent.
    count = gain.size * (_STRIDE / _WINDOW) ** 2
    if count < 2:
        return False
    misfit = min(max(float(np.median(excess)) - 1, 0.0), 1.0)
    asked = _FOR_NOISE * (max(noise.sensor) > 0 or family == "sampled") + _FOR_MISFIT * misfit
    chance = _STANDARD_ERRORS * float(gain.std(dtype=np.float64)) / np.sqrt(count)
    return bool(gain.mean(dtype=np.float64) > asked + chance)


@dataclass(frozen=True)
class _Fit:
    """The least ``c`` at every pixel, its ``v``, and whether it is at a blur that can tell."""

    least: Array
    noise: Array
    telling: NDArray[np.bool_]

    @property
    def excess(self) -> Array:
        """``c / v``."""
        return np.asarray(self.least / np.maximum(self.noise, np.float32(1e-30)), np.float32)

    def cost(self, less: float) -> Array:
        """Return the cost with ``less`` times the noise."""
        noise = np.maximum(np.float32(less) * self.noise, np.float32(1e-30))
        return np.asarray(np.log(np.maximum(self.least, noise)), np.float32)


def _fit(stack: ResidualStack, noise: PairNoise, levels: slice, team: ThreadTeam) -> _Fit:
    """Fit the best blur among some levels."""
    tables = noise.tables(stack)
    v = (tables.own + tables.passed)[levels].astype(np.float32)[:, None, None]
    s = np.abs(stack.s_levels[levels])
    residuals = stack.residuals[:, levels]
    height, width = (-(-n // _STRIDE) for n in residuals.shape[2:])
    c = np.empty((len(s), height, width), np.float32)

    def fill(k: int) -> None:
        power = sum(cv2.sqrBoxFilter(plane, cv2.CV_32F, (_WINDOW, _WINDOW), **_MEAN) for plane in residuals[:, k])
        c[k] = power[::_STRIDE, ::_STRIDE] / len(residuals)

    team.each(fill, range(len(s)))
    best = _cost(c, v).argmin(axis=0)
    k = np.clip(best, 1, len(s) - 2)
    below, here, above = (np.take_along_axis(c, (k + step)[None], 0)[0] for step in (-1, 0, 1))
    # The least of the parabola through three levels, within half a level.
    bend = np.maximum(below - 2 * here + above, np.float32(1e-20))
    u = np.clip((below - above) / (2 * bend), -0.5, 0.5)
    least = np.maximum(here - (below - above) * u / 2 + bend * u * u / 2, here * np.float32(0.02))
    inside = (best > 0) & (best < len(s) - 1)
    v_best = np.take(v[:, 0, 0], k)
    return _Fit(least, v_best, inside & (s[k] > _NEARLY_NONE) & (s[k] < _NEARLY_ALIKE))


def _cost(c: Array, v: Array) -> Array:
    return np.where(c < v, np.log(v) + c / v, np.log(np.maximum(c, v)) + 1)
