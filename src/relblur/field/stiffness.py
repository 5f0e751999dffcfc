"""The local stiffness ``mu`` of the prior, by a score test.

At the true map the score summed over a block, ``sum g``, has the variance ``sum w``, so the ratio
``T = (sum g)^2 / sum w`` is about 1.  A prior that is too stiff biases whole blocks, and T grows.  So ``mu`` grows
where T is below 1.2 and falls where it is above.

T of one block is chi-squared with one degree of freedom, and undefined without texture.  It is shrunk towards that of
the blocks around, which is shrunk towards larger neighbourhoods, up to the whole image.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .grid import cell_sums, enlarged

__all__ = ["adapt", "initial", "score_test", "spread"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Side of a block (px): several correlation lengths of the residual, and smaller than most objects.
BLOCK = 24
#: Least log10 of mu: a standard deviation of 0.1 of the change of slope from pixel to pixel.
LEAST = 2.0
#: Largest T of one block, and the mean of a chi-squared variable with this limit.
CAP, CAP_MEAN = 6.0, 0.96
#: Value of T at which mu does not change.
TARGET = 1.2
#: Largest increase and decrease of log10 mu in one step, and its change for a factor of 10 in T.
STIFFEN, SOFTEN, GAIN = 0.5, 1.0, 5.0
#: Weight of a neighbourhood, in fully informed blocks, and the information of such a block (for a relative change by
#: 1): a standard error of 5 %.
SHRINK, INFORMED = 6.0, 400.0


def initial(shape: tuple[int, int], start: float) -> Doubles:
    """Return the initial log10 mu of every block."""
    return np.full([-(-n // BLOCK) for n in shape], start)


def score_test(w: Array, g: Array, scale: Array) -> Doubles:
    """Return the largest T of squares of 1, 3, 5, 9, ... blocks a side, each shrunk towards its surroundings.

    ``scale`` is the change of the map that is a relative change by 1.
    """
    score, info, precision = (cell_sums(a.astype(np.float64), BLOCK) for a in (g, w, w * scale**2))
    worst = np.zeros_like(score)
    for size in _sides(1, score.shape):
        t = np.minimum(_around(score, size) ** 2 / (_around(info, size) + 1e-12), CAP) / CAP_MEAN
        informed = np.minimum(1.0, _around(precision, size) / INFORMED) + 1e-3
        worst = np.maximum(worst, _shrunk(t * informed, informed, size))
    return worst


def _sides(first: int, shape: tuple[int, ...]) -> list[int]:
    """Return sides of squares of blocks that about double, up to twice the image."""
    sides = [first]
    while sides[-1] < 2 * max(shape) - 1:
        sides.append(2 * sides[-1] - 1 if sides[-1] > 1 else 3)
    return sides


def _around(a: Doubles, size: int) -> Doubles:
    """Sum over squares of blocks."""
    return np.asarray(cv2.blur(a, (size, size), borderType=cv2.BORDER_CONSTANT) * size**2)


def _shrunk(value: Doubles, weight: Doubles, size: int) -> Doubles:
    """Return the weighted mean of each square and its neighbours, shrunk towards the means of larger areas."""
    mean = np.full_like(value, value.sum() / weight.sum())
    for side in reversed(_sides(3 * size, value.shape)):
        near, mass = (_around(a, side) * (3 / side) ** 2 for a in (value, weight))
        mean = (near + SHRINK * mean) / (mass + SHRINK)
    return mean


def adapt(log_mu: Doubles, t: Doubles, may_stiffen: bool, most: float) -> Doubles:
    """Return log10 mu of the blocks, changed towards ``T = TARGET``."""
    step = np.clip(GAIN * np.log10(TARGET / np.maximum(t, 1e-3)), -SOFTEN, STIFFEN if may_stiffen else 0.0)
    return np.asarray(np.clip(log_mu + step, LEAST, most))


def spread(log_mu: Doubles, shape: tuple[int, int]) -> Array:
    """Return mu of every pixel: log10 mu of the blocks, smoothed over 3 x 3 and interpolated."""
    smooth = cv2.blur(log_mu, (3, 3), borderType=cv2.BORDER_REPLICATE)
    return np.exp(enlarged((smooth * np.log(10.0)).astype(np.float32), shape))
