"""Where the data say nothing, the start takes one smooth value from what lies around.

Paths through an area without evidence carry the level at which they enter it straight across, each row its own.
Instead the labels are averaged over ever larger cells, weighted by how sure they are, and what is unsure takes the
average of the finest cell that is not.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ..averages import block_means

__all__ = ["certainty", "fill_smoothly"]

Array = NDArray[np.float32]

#: Difference between the best and the worst level that makes a label half sure, in units of log-likelihood: the price
#: of a jump (:mod:`.labels`), for less than which the evidence could be about anything.
_HALF_SURE = 6.0
#: Sides of the blocks of cells that may be sure together.
_TOGETHER = (1, 4, 16)
#: Part of a block's evidence, spread evenly, that a cell must have around itself to be as sure as the block.
_PART = 0.25


def certainty(cost: Array) -> Array:
    """Return how sure the label of each cell can be, 0 to 1, from the costs of the levels (levels, rows, cols).

    Weak evidence adds up over a block, if it speaks for the same level, and is about the cells that have some of it:
    what an outline tells is not about the wall beside it.
    """
    rows, cols = cost.shape[1:]
    sure = np.zeros((rows, cols), np.float32)
    near = cv2.blur(cost.max(axis=0) - cost.min(axis=0), (3, 3), borderType=cv2.BORDER_REFLECT)
    for side in _TOGETHER:
        if side > 1 and side > min(rows, cols):
            break
        blocks = np.stack([block_means(level, side) for level in cost]) * np.float32(side**2) if side > 1 else cost
        told = blocks.max(axis=0) - blocks.min(axis=0)
        told = cv2.resize(told, (told.shape[1] * side, told.shape[0] * side), interpolation=cv2.INTER_LINEAR)
        told = told[:rows, :cols]
        part = near * np.float32(side**2 / _PART) / np.maximum(told, np.float32(1e-12))
        np.maximum(sure, np.minimum(part, 1) * told / (told + np.float32(_HALF_SURE)), out=sure)
    return sure


def fill_smoothly(value: Array, sure: Array) -> Array:
    """Return values that are as they were where sure, and otherwise the mean of what is sure around."""
    # A doubtful label among sure ones hardly counts; where all are, they are all there is.
    weight = np.square(sure) + np.float32(1e-6)
    return np.asarray(sure * value + (1 - sure) * _mean_around(value * weight, weight), np.float32)


def _mean_around(value: Array, weight: Array) -> Array:
    """Return the weighted mean of the smallest cells that have some weight, from sums of value and weight."""
    rows, cols = weight.shape
    if max(rows, cols) == 1:
        return np.asarray(value / np.maximum(weight, np.float32(1e-12)))
    coarse = _mean_around(block_means(value, 2), block_means(weight, 2))
    size = (coarse.shape[1] * 2, coarse.shape[0] * 2)
    far = cv2.resize(coarse, size, interpolation=cv2.INTER_LINEAR)[:rows, :cols]
    value, weight = (np.asarray(cv2.blur(a, (3, 3), borderType=cv2.BORDER_REFLECT)) for a in (value, weight))
    known = np.minimum(weight * np.float32(4), 1)
    return np.asarray(known * value / np.maximum(weight, np.float32(1e-12)) + (1 - known) * far)
