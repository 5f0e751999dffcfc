"""What neighbours say about ``s``: piecewise affine, with jumps.

The prior on ``s`` (planes are affine in ``s``, not in sigma) is second-order total generalised variation in quadratic
form with a line process:

    sum over edges of  lambda h_ij (s_j - s_i - p_ij)^2  +  mu sum of  h |grad p|^2

``p`` is a slope field of its own, ``mu`` the inverse variance of the curvature, and ``h = exp(-2 d^2 / tau^2)`` cuts an
edge whose step ``d`` the slope does not explain (a jump).  Everything else follows from ``mu``:

* a window of ``l`` x ``l`` pixels measures ``s`` with variance ``1 / sum w`` while ``s`` itself wanders by
  ``l^2 / (256 mu)``; the best window gives the variance of the estimate (``Loops.posterior_variance``).  For uniform
  ``w`` it is ``1 / (8 sqrt(mu w))``, the exact posterior variance of the thin-plate prior.
* ``lambda = 1 / (4 variance)``, which for uniform ``w`` is ``2 sqrt(mu w)``: critical damping, first and second order
  terms act over the same length ``(mu / w)^(1/4)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

WINDOWS = (5, 9, 17, 33, 65, 129, 257, 513, 1025)
LARGEST_LAMBDA = np.float32(3e5)
#: Most that a pixel's own datum is said to weigh in its estimate.
MOST_LEVERAGE = np.float32(0.9)
#: Weight left to an edge that is cut.
CUT = np.float32(1e-6)
#: Weight below which an edge counts as a jump.
JUMP = 0.1


def window_sizes(shape: tuple[int, ...]) -> list[int]:
    """Return the sides of the windows that an image has room for."""
    return [size for size in WINDOWS if size == WINDOWS[0] or size <= 2 * max(shape)]


def leverage(w: Array, variance: Array) -> Array:
    """Return the weight of a pixel's own datum in its estimate: its residual is too small by that."""
    own = w * variance
    return np.asarray(np.minimum(own / (1 + own), MOST_LEVERAGE))


def stiffness(variance: Array) -> Array:
    """Return ``lambda`` for the posterior variance."""
    return np.minimum(np.float32(0.25) / variance, LARGEST_LAMBDA)


@dataclass(frozen=True)
class Edges:
    """Unexplained steps of the edges to the right and below, and their ``cut``: the weight over lambda."""

    step_right: Array
    step_down: Array
    cut_right: Array
    cut_down: Array


class Pull(NamedTuple):
    """Pulls a map towards a level: ``weight (z - level)^2 / 2`` at every pixel."""

    weight: Array
    level: np.float32
