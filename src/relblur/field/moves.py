"""Discrete moves: a pixel takes the plane of a neighbour or the local median.

They correct pixels beside a jump and in specks, where Gauss-Newton steps end in a wrong minimum.  A pixel takes the
plane of a neighbour, ``z(x + o) - p(x + o) . o``, if this lowers the cost over a window.  It takes the median if this
raises the cost by little.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .energy import Energy
from .grid import box

__all__ = ["follow_median", "propagate"]

Array = NDArray[np.float32]

#: Least decrease of the cost of the window for a neighbour's plane, nats.
MARGIN = 2.0
#: Sides of the squares of the median and of the sum of costs (px), and the largest increase of that sum, nats.
MEDIAN, COST_WINDOW, LOSS = 11, 5, 4.0


def propagate(energy: Energy, z: Array, slope: Array, reach: int, window: tuple[int, int]) -> Array:
    """Return a map after moves to the planes of the four neighbours ``reach`` px away.

    Costs are summed over a window of this size: across and along a jump between the neighbour and the pixel.
    """
    out, now = z.copy(), energy.cost(z)
    best = np.full_like(z, MARGIN / (window[0] * window[1]))
    for axis, offset in ((0, reach), (0, -reach), (1, reach), (1, -reach)):
        candidate = energy.volume.clip(_plane(z, slope[axis], axis, offset))
        size = window if axis else window[::-1]
        gain = cv2.blur(now - energy.cost(candidate), size, borderType=cv2.BORDER_REFLECT)
        better = gain > best
        np.copyto(out, candidate, where=better)
        np.copyto(best, gain, where=better)
    return out


def _plane(z: Array, slope: Array, axis: int, offset: int) -> Array:
    """Return, at each pixel, the plane of the pixel ``offset`` away along an axis (at most at the border)."""
    own = np.arange(z.shape[axis])
    other = np.clip(own + offset, 0, z.shape[axis] - 1)
    distance = (other - own).astype(np.float32)
    return np.asarray(z.take(other, axis) - slope.take(other, axis) * (distance[:, None] if axis == 0 else distance))


def follow_median(energy: Energy, z: Array) -> Array:
    """Return a map whose specks are replaced by the median level around them, unless this raises the cost much."""
    volume = energy.volume
    level = volume.axis.level_of(z)
    fine = min(4, 255 // volume.levels)  # the median filter takes 8 bits
    parts = np.clip(np.round(level * fine), 0, 255).astype(np.uint8)
    median = np.asarray(cv2.medianBlur(parts, MEDIAN), np.float32) / np.float32(fine)
    differs = np.abs(median - level) > 1
    candidate = volume.clip(np.asarray(volume.axis.value_of(median), np.float32))
    worse = box(energy.cost(candidate) - energy.cost(z), COST_WINDOW)
    return np.asarray(np.where(differs & (worse < np.float32(LOSS / COST_WINDOW**2)), candidate, z))
