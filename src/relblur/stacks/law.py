"""How fast the blur grows with the distance from focus, from the frames themselves.

With ``sigma_i = k |x - x_i|`` the difference of variances of frames ``i`` and ``j`` is affine in the place ``x``,

    s_ij = k^2 (x_i - x_j) (2 x - x_i - x_j).

For three frames in a row that leaves ``k`` alone, at every pixel: ``s_ij / (x_i - x_j) - s_jl / (x_j - x_l)`` is
``k^2 (x_l - x_i)`` (:func:`growth_of_triples`). Where the places are known already, a single pair will do
(:func:`growth_of_pair`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.errors import InputError
from ..base.settings import MAX_SIGMA
from ..blur.blur_map import BlurMap
from ..blur.estimate import estimate_blur

__all__ = ["growth_error", "growth_of_pair", "growth_of_triples"]

#: Pixels whose value says something: no flag, and within this share of the largest blur looked for.
_INSIDE = 0.9
#: Fewer of them are no sample.
_LEAST_PIXELS = 100
#: A place tells the growth from this distance (steps) from the middle of the pair on.
_TELLS = 0.25
#: Relative standard error of the growth: sigma of a real lens, or of a sampled kernel, is not exactly proportional to
#: the distance from focus. Chosen on made stacks of three frames of a plane, whose growth comes out 3 % too large.
_LAW_ERROR = 0.03


def growth_of_triples(
    frames: Sequence[AnyArray], usable: BoolArray, places: FloatArray, workers: int | None, engine: str
) -> float:
    """Return ``k`` in px per unit of the places, from aligned (H, W, C) frames."""
    maps = [_pair(frames[i], frames[i + 1], usable, workers, engine) for i in range(len(frames) - 1)]
    found, weights = [], []
    for i in range(len(maps) - 2 + 1):
        one, two = maps[i], maps[i + 1]
        slopes = [blur.variance_difference / (places[i + o] - places[i + o + 1]) for o, blur in ((0, one), (1, two))]
        square = (slopes[0] - slopes[1]) / (places[i + 2] - places[i])
        good = _tells(one) & _tells(two) & np.isfinite(square)
        if good.sum() >= _LEAST_PIXELS:
            found.append(float(np.median(square[good])))
            weights.append(int(good.sum()))
    positive = [(k2, w) for k2, w in zip(found, weights, strict=True) if k2 > 0]
    if not positive:
        raise InputError(
            "the growth of blur from frame to frame could not be measured (too little texture, or steps too large); "
            "pass a camera and focus_m"
        )
    values, counts = np.array([k2 for k2, _ in positive]), np.array([w for _, w in positive])
    order = np.argsort(values)
    middle = np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2)
    return float(np.sqrt(values[order][middle]))


def growth_error(place: FloatArray, places: FloatArray) -> FloatArray:
    """Return the standard error of places between frames that comes from the error of the growth.

    Two frames around a place give ``x - (x_i + x_j) / 2 = s / (2 k^2 (x_i - x_j))``.
    """
    order = np.sort(places)
    before = np.clip(np.searchsorted(order, place) - 1, 0, len(order) - 2)
    middle = (order[before] + order[before + 1]) / 2
    return np.asarray(2 * _LAW_ERROR * np.abs(place - middle))


def growth_of_pair(
    frames: Sequence[AnyArray], usable: BoolArray, places: FloatArray, x: FloatArray, workers: int | None, engine: str
) -> float:
    """Return ``k`` from two aligned (H, W, C) frames at known places; NaN if they do not tell."""
    blur = _pair(frames[0], frames[1], usable, workers, engine)
    factor = (places[0] - places[1]) * (2 * x - places[0] - places[1])
    good = _tells(blur) & (np.abs(2 * x - places.sum()) > 2 * _TELLS * abs(places[1] - places[0]))
    if good.sum() < _LEAST_PIXELS:
        return float("nan")
    square = float(np.median(blur.variance_difference[good] / factor[good]))
    return float(np.sqrt(square)) if square > 0 else float("nan")


def _pair(one: AnyArray, two: AnyArray, usable: BoolArray, workers: int | None, engine: str) -> BlurMap:
    axis = -1 if one.ndim == 3 else None
    return estimate_blur(one, two, valid=usable, channel_axis=axis, workers=workers, engine=engine)


def _tells(blur: BlurMap) -> BoolArray:
    s = blur.variance_difference
    with np.errstate(invalid="ignore"):
        return np.asarray((blur.flags == 0) & (np.abs(s) < (_INSIDE * MAX_SIGMA) ** 2) & np.isfinite(s))
