"""How stiff the prior should be, from the data, place by place.

At a map the data agree with, the score summed over a block, ``sum g``, has variance ``sum w``: the ratio ``T = (sum
g)^2 / sum w`` is about 1.  A prior that is too stiff pulls whole blocks away from what they say, and T grows; so T
well below 2 is leave to stiffen, T beyond it an order to soften (a score, or Lagrange-multiplier, test).

One block is a poor statistic (chi-squared with one degree of freedom) and a block without texture has none, so each
block's T is shrunk towards that of the blocks around it, theirs towards a larger neighbourhood, up to the whole image:
weak blocks inherit the stiffness of informed ones.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ..averages import sum_blocks
from ..loops import Loops

Array = NDArray[np.float32]

#: Side of a block in px: some correlation lengths of the residual, and small against objects.
BLOCK = 24
#: Least log10 mu. Where to start and the most are the coordinate's to say.
LOWEST = 2.0
#: T is capped here so that one wild block cannot speak for a region; 0.96 is the mean of a so capped chi-squared.
_CAP, _CAP_MEAN = 6.0, 0.96
#: The value of T the prior may reach.  Of 1, 1.2 and 1.4 the largest that lets ramps of sigma bend (crops of camera,
#: coins and rocket in noise).
TARGET = 1.2
#: Most that log10 mu may grow at a time: the map must follow before it is tested again.  It may fall by one.
STIFFEN = 0.5
#: A neighbourhood counts as much as this many fully informed blocks.
_SHRINK = 6.0


def score_test(w: Array, g: Array, scale: Array, loops: Loops) -> NDArray[np.float64]:
    """Return the largest T over blocks of 1, 2, 4 times the side and so on, each shrunk towards its surroundings.

    ``scale`` is the change of the map that goes with a relative change of blur by 1: what a block's information is
    measured against.
    """
    score, info, precision = loops.block_sums(w, g, scale, BLOCK)
    shape = score.shape
    worst = np.zeros(shape)
    for level in range((max(shape) - 1).bit_length() + 1):
        t = np.minimum(score**2 / (info + 1e-12), _CAP) / _CAP_MEAN
        informed = np.minimum(1.0, precision / 400) + 1e-3
        t = _shrink(t * informed, informed)
        blocks = 2**level
        size = (t.shape[1] * blocks, t.shape[0] * blocks)
        worst = np.maximum(worst, cv2.resize(t, size, interpolation=cv2.INTER_LINEAR)[: shape[0], : shape[1]])
        score, info, precision = (sum_blocks(a) for a in (score, info, precision))
    return worst


def _shrink(value: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighted mean of every cell with its parents' (2 x 2 merged, recursively)."""
    if max(value.shape) == 1:
        return value / weight
    rows, cols = (-(-n // 2) for n in value.shape)
    parent = _shrink(sum_blocks(value), sum_blocks(weight))
    up = cv2.resize(parent, (2 * cols, 2 * rows), interpolation=cv2.INTER_LINEAR)[: value.shape[0], : value.shape[1]]
    near, mass = (cv2.blur(a, (3, 3), borderType=cv2.BORDER_CONSTANT) * 9 for a in (value, weight))
    return np.asarray((near + _SHRINK * up) / (mass + _SHRINK))


def initial(shape: tuple[int, int], start: float) -> NDArray[np.float64]:
    """Return log10 mu of every block before any test."""
    return np.full([-(-n // BLOCK) for n in shape], start)


def adapt(
    log_mu: NDArray[np.float64], t: NDArray[np.float64], may_stiffen: bool, highest: float
) -> NDArray[np.float64]:
    """Move log10 mu of the blocks towards T = TARGET."""
    step = np.clip(5 * np.log10(TARGET / np.maximum(t, 1e-3)), -1.0, STIFFEN if may_stiffen else 0.0)
    return np.asarray(np.clip(log_mu + step, LOWEST, highest))


def spread(log_mu: NDArray[np.float64], shape: tuple[int, int]) -> Array:
    """Return mu of every pixel: the blocks' log10 mu, smoothed 3 x 3 and interpolated."""
    smooth = cv2.blur(log_mu, (3, 3), borderType=cv2.BORDER_REPLICATE)
    rows, cols = smooth.shape
    smooth = (smooth * np.log(10.0)).astype(np.float32)
    full = cv2.resize(smooth, (cols * BLOCK, rows * BLOCK), interpolation=cv2.INTER_LINEAR)[: shape[0], : shape[1]]
    return np.asarray(np.exp(full))
