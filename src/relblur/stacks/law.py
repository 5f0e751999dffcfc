"""Growth of the blur with the distance from focus, measured from three frames.

With ``sigma_i = k |x - x_i|`` the difference of variances of frames ``i`` and ``j`` is affine in the place ``x``,

    s_ij = k^2 (x_i - x_j) (2 x - x_i - x_j),

and three frames determine ``k`` at every pixel: ``s_ij / (x_i - x_j) - s_jl / (x_j - x_l) = k^2 (x_l - x_i)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.options import Stack
from ..base.settings import MAX_SIGMA
from ..blur.estimate import estimate_blur

__all__ = ["growth_error", "growth_of_blur"]

#: Largest blur of the measurement, as a fraction of the largest blur of the search.
_INSIDE = 0.9
#: Least number of pixels of the measurement.
_LEAST_PIXELS = 100
#: Relative standard error of the growth: sigma of a lens is not exactly proportional to the distance from focus.
#: Chosen on computed stacks of three frames of a plane, whose growth is measured 3 % too large.
_LAW_ERROR = 0.03
#: Additional relative error, times the squared growth (px a frame), because small blur depends on the sampling.
_SAMPLING_ERROR = 0.04


def growth_of_blur(frames: Sequence[AnyArray], usable: BoolArray, places: FloatArray, options: Stack) -> float:
    """Return ``k`` in px per unit of the places, from aligned (H, W, C) frames; NaN if they do not determine it."""
    ratios, reliable = [], []
    for (one, two), (x_one, x_two) in zip(pairwise(frames), pairwise(places), strict=True):
        blur = estimate_blur(one, two, valid=usable, channel_axis=-1, workers=options.workers, engine=options.engine)
        s = blur.variance_difference
        with np.errstate(invalid="ignore"):
            reliable.append((blur.flags == 0) & (np.abs(s) < (_INSIDE * MAX_SIGMA) ** 2))
        ratios.append(s / (x_one - x_two))
    squares = [
        ((ratios[i] - ratios[i + 1]) / (places[i + 2] - places[i]))[reliable[i] & reliable[i + 1]]
        for i in range(len(ratios) - 1)
    ]
    square = np.concatenate(squares)
    growth = np.sqrt(max(np.median(square), 0)) if square.size >= _LEAST_PIXELS else 0
    return float(growth) or float("nan")


def growth_error(place: AnyArray, places: FloatArray, growth: float) -> FloatArray:
    """Return the standard error of places between frames due to the error of the growth.

    Two frames around a place give ``x - (x_i + x_j) / 2 = s / (2 k^2 (x_i - x_j))``.
    """
    order = np.sort(places)
    before = np.clip(np.searchsorted(order, place) - 1, 0, len(order) - 2)
    middle = (order[before] + order[before + 1]) / 2
    a_frame = growth * float(np.ptp(places)) / (len(places) - 1)
    relative = np.hypot(_LAW_ERROR, _SAMPLING_ERROR / a_frame**2)
    return np.asarray(2 * relative * np.abs(place - middle))
