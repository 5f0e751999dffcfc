"""Discrete moves that a gradient cannot make: each pixel is offered the values of its neighbours.

Beside a jump, or inside a speck, the right answer is the neighbour's.  The plane of a neighbour,
``z(x + o) - p(x + o) . o``, is taken where the residuals around fit it better; the median around a pixel is taken
unless they fit it worse.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .energy import Energy
from .grid import box

__all__ = ["follow_median", "propagate"]

Array = NDArray[np.float32]

#: Least gain over the window for a move, nats.
MARGIN = 2.0
#: Side of the square of the median, px; the window that judges it; and the largest loss for taking it, nats.
MEDIAN, JUDGING, LOSS = 11, 5, 4.0


def propagate(energy: Energy, z: Array, slope: Array, reach: int, window: tuple[int, int]) -> Array:
    """Return a map after offering the planes of the four neighbours ``reach`` px away.

    ``window`` is the size of the window that judges: towards the neighbour, and along a jump between it and the pixel.
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
    """Return the planes of the pixels ``offset`` away along an axis, or at the border, continued to here."""
    here = np.arange(z.shape[axis])
    there = np.clip(here + offset, 0, z.shape[axis] - 1)
    distance = (there - here).astype(np.float32)
    return np.asarray(z.take(there, axis) - slope.take(there, axis) * (distance[:, None] if axis == 0 else distance))


def follow_median(energy: Energy, z: Array) -> Array:
    """Return a map whose specks are replaced by the median level around them, unless the residuals contradict it."""
    volume = energy.volume
    level = volume.axis.level_of(z)
    fine = min(4, 255 // volume.levels)  # the median filter takes 8 bits
    parts = np.clip(np.round(level * fine), 0, 255).astype(np.uint8)
    median = np.asarray(cv2.medianBlur(parts, MEDIAN), np.float32) / np.float32(fine)
    differs = np.abs(median - level) > 1
    candidate = volume.clip(np.asarray(volume.axis.value_of(median), np.float32))
    worse = box(energy.cost(candidate) - energy.cost(z), JUDGING)
    return np.asarray(np.where(differs & (worse < np.float32(LOSS / JUDGING**2)), candidate, z))
