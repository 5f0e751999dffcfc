"""Candidates from the neighbourhood: the discrete moves a gradient cannot make.

Gauss-Newton slides down the basin a pixel is in.  Beside a jump, or inside a speck with a wrong root, the right basin
is the neighbour's.  Each pixel is offered its neighbours' planes, ``s(x + o) - p(x + o) . o``, and the majority value
around it, and takes the one its own surroundings fit best.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from . import engine
from .coordinate import Coordinate
from .likelihood import Likelihood

Array = NDArray[np.float32]

#: A plane from one side must fit better by this much log-likelihood over the window ...
_MARGIN = 2.0
#: ... while the majority is taken unless it fits worse by this much.
_BENEFIT = 4.0
_MAJORITY = 11


def propagate(likelihood: Likelihood, coordinate: Coordinate, z: Array, slope: Array, reach: int, size: int) -> Array:
    """Offer the planes of the four neighbours ``reach`` px away; ``size`` is the side of the window that judges."""
    s = coordinate.to_s(z)
    variance = likelihood.variance(s)
    best = engine.box(likelihood.cost(s, variance), size) - np.float32(_MARGIN / size**2)
    out = z
    height, width = z.shape
    rows, cols = np.arange(height), np.arange(width)
    for dy, dx in ((reach, 0), (-reach, 0), (0, reach), (0, -reach)):
        y, x = np.clip(rows + dy, 0, height - 1), np.clip(cols + dx, 0, width - 1)
        there = np.ix_(y, x)
        rise = slope[0][there] * (y - rows).astype(np.float32)[:, None] + slope[1][there] * (x - cols).astype(
            np.float32
        )
        candidate = coordinate.clip(z[there] - rise, likelihood.bounds)
        cost = engine.box(likelihood.cost(coordinate.to_s(candidate), variance), size)
        better = cost < best
        out = np.where(better, candidate, out)
        best = np.where(better, cost, best)
    return out


def follow_majority(likelihood: Likelihood, s: Array) -> Array:
    """Replace specks by the median around them unless the data object."""
    level = likelihood.stack.level_of(s)
    fine = min(4, 255 // len(likelihood.stack.s_levels))  # the median filter takes 8 bits
    quarters = np.clip(np.round(level * fine), 0, 255).astype(np.uint8)
    median = cv2.medianBlur(quarters, _MAJORITY) / np.float32(fine)
    candidate = likelihood.clip(likelihood.stack.s_of(median))
    variance = likelihood.variance(s)
    size = 5
    worse = engine.box(likelihood.cost(candidate, variance) - likelihood.cost(s, variance), size)
    take = (np.abs(median - level) > 1) & (worse < np.float32(_BENEFIT / size**2))
    return np.asarray(np.where(take, candidate, s))
