"""How stiff the data allow the prior to be, place by place: a score test.

At a map the data agree with, the score summed over a block, ``sum g``, has the variance ``sum w``: the ratio
``T = (sum g)^2 / sum w`` is about 1.  A prior that is too stiff pulls whole blocks away from their data, and T grows.
So ``mu`` grows where T is below 1.2 and falls where it is above.

T of one block is a poor statistic (chi-squared with one degree of freedom), and that of a block without texture is
none.  Each is shrunk towards that of the blocks around it, and theirs towards a larger neighbourhood, up to the whole
image: blocks that know little inherit the stiffness of those that know more.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .windows import enlarged, sum_blocks

__all__ = ["adapt", "initial", "score_test", "spread"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Side of a block in px: some correlation lengths of the residual, and small against objects.
BLOCK = 24
#: Least log10 of mu: the surface may bend by 0.1 from pixel to pixel.
LEAST = 2.0
#: Largest T of one block, and the mean of a chi-squared variable that is so limited.
CAP, CAP_MEAN = 6.0, 0.96
#: The value of T that mu is moved to.
TARGET = 1.2
#: Most that log10 mu grows and falls in one step, and how much it moves for a factor of 10 in T.
STIFFEN, SOFTEN, GAIN = 0.5, 1.0, 5.0
#: Weight of a neighbourhood in units of fully informed blocks, and the information (in units of a relative change of
#: 5 %) that makes a block one.
SHRINK, INFORMED = 6.0, 400.0


def initial(shape: tuple[int, int], start: float) -> Doubles:
    """Return log10 mu of every block before any test."""
    return np.full([-(-n // BLOCK) for n in shape], start)


def score_test(w: Array, g: Array, scale: Array) -> Doubles:
    """Return the largest T over blocks of 1, 2, 4 times the side and so on, each shrunk towards its surroundings.

    ``scale`` is the change of the map that counts as a relative change by 1.
    """
    score, info, precision = (_block_sums(a) for a in (g, w, w * scale**2))
    shape = score.shape
    worst = np.zeros(shape)
    for level in range((max(shape) - 1).bit_length() + 1):
        t = np.minimum(score**2 / (info + 1e-12), CAP) / CAP_MEAN
        informed = np.minimum(1.0, precision / INFORMED) + 1e-3
        worst = np.maximum(worst, enlarged(_shrunk(t * informed, informed), 2**level, shape))
        score, info, precision = (sum_blocks(a) for a in (score, info, precision))
    return worst


def _block_sums(a: Array) -> Doubles:
    """Sum over blocks; the last row and column of blocks may be smaller."""
    rows, cols = (np.arange(0, n, BLOCK) for n in a.shape)
    return np.asarray(np.add.reduceat(np.add.reduceat(a, rows, axis=0, dtype=np.float64), cols, axis=1))


def _shrunk(value: Doubles, weight: Doubles) -> Doubles:
    """Return the weighted mean of every block with its parents' (2 x 2 merged, recursively)."""
    if max(value.shape) == 1:
        return value / weight
    parent = enlarged(_shrunk(sum_blocks(value), sum_blocks(weight)), 2, value.shape)
    near, mass = (cv2.blur(a, (3, 3), borderType=cv2.BORDER_CONSTANT) * 9 for a in (value, weight))
    return np.asarray((near + SHRINK * parent) / (mass + SHRINK))


def adapt(log_mu: Doubles, t: Doubles, may_stiffen: bool, most: float) -> Doubles:
    """Return log10 mu of the blocks, moved towards ``T = TARGET``."""
    step = np.clip(GAIN * np.log10(TARGET / np.maximum(t, 1e-3)), -SOFTEN, STIFFEN if may_stiffen else 0.0)
    return np.asarray(np.clip(log_mu + step, LEAST, most))


def spread(log_mu: Doubles, shape: tuple[int, int]) -> Array:
    """Return mu of every pixel: that of the blocks, smoothed over 3 x 3 and interpolated."""
    smooth = cv2.blur(log_mu, (3, 3), borderType=cv2.BORDER_REPLICATE)
    return np.exp(enlarged((smooth * np.log(10.0)).astype(np.float32), BLOCK, shape))
