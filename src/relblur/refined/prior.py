"""What neighbours say about ``s``: piecewise affine, with jumps.

The prior on ``s`` (planes are affine in ``s``, not in sigma) is second-order total generalised variation in quadratic
form with a line process:

    sum over edges of  lambda h_ij (s_j - s_i - p_ij)^2  +  mu sum of  h |grad p|^2

``p`` is a slope field of its own, ``mu`` the inverse variance of the curvature, and ``h = exp(-2 d^2 / tau^2)`` cuts an
edge whose step ``d`` the slope does not explain (a jump).  Everything else follows from ``mu``:

* a window of ``l`` x ``l`` pixels measures ``s`` with variance ``1 / sum w`` while ``s`` itself wanders by
  ``l^2 / (256 mu)``; the best window gives the variance of the estimate (:func:`posterior_variance`).  For uniform
  ``w`` it is ``1 / (8 sqrt(mu w))``, the exact posterior variance of the thin-plate prior.
* ``lambda = 1 / (4 variance)``, which for uniform ``w`` is ``2 sqrt(mu w)``: critical damping, first and second order
  terms act over the same length ``(mu / w)^(1/4)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from .engine import ALONE, Crew
from .solver import Multigrid

Array = NDArray[np.float32]

WINDOWS = (5, 9, 17, 33, 65, 129, 257)
LARGEST_LAMBDA = np.float32(3e5)
#: Most that a pixel's own datum is said to weigh in its estimate.
MOST_LEVERAGE = np.float32(0.9)
#: Weight left to an edge that is cut.
CUT = np.float32(1e-6)
#: Weight below which an edge counts as a jump.
JUMP = 0.1
#: Both ends of the edges along an axis.
_EDGE_ENDS = (
    ((slice(None, -1), slice(None)), (slice(1, None), slice(None))),
    ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
)


def posterior_variance(w: Array, mu: Array, crew: Crew = ALONE, lines: Array | None = None) -> Array:
    """Return ``min over l of 1 / (l^2 mean_l w) + l^2 / (256 mu)``: the error of the best window.

    ``lines`` counts the edges of each pixel that are cut.  A straight jump cuts about ``l`` of them in a window and
    leaves half of it on the pixel's own side, two leave a third: only so much of the information counts then.
    """
    sizes = [size for size in WINDOWS if size == WINDOWS[0] or size <= 2 * max(w.shape)]

    def mean(image: Array, size: int, out: Array | None = None) -> Array:
        found = box_any(image, size, out)
        if lines is not None:
            found /= 1 + np.float32(size) * np.maximum(box_any(lines, size), 0)
        return found

    if crew.compiled is not None:
        return crew.compiled.least_variance(w, mu, sizes, mean)
    means: dict[int, Array] = {}

    def average(size: int) -> None:
        means[size] = mean(w, size)

    best = np.full_like(w, np.inf)

    def choose(rows: slice) -> None:
        bend, least = 1 / (256 * mu[rows]), best[rows]
        for size in sizes:
            area = np.float32(size * size)
            variance = np.maximum(means[size][rows], 0)
            variance *= area
            variance += np.float32(1e-6)
            np.divide(1, variance, out=variance)
            variance += area * bend
            np.minimum(least, variance, out=least)

    crew.each(average, sizes)
    crew.in_bands(choose, w.shape)
    return best


def box_any(image: Array, size: int, out: Array | None = None) -> Array:
    """Box mean of any size; windows beyond the image are limited to it."""
    h, w = image.shape
    window = (min(size, 2 * w - 1), min(size, 2 * h - 1))
    return np.asarray(cv2.blur(image, window, dst=out, borderType=cv2.BORDER_REFLECT))


def leverage(w: Array, variance: Array) -> Array:
    """Return the weight of a pixel's own datum in its estimate: its residual is too small by that."""
    own = w * variance
    return np.asarray(np.minimum(own / (1 + own), MOST_LEVERAGE))


def stiffness(variance: Array) -> Array:
    """Return ``lambda`` for the posterior variance."""
    return np.minimum(np.float32(0.25) / variance, LARGEST_LAMBDA)


@dataclass(frozen=True)
class Edges:
    """Unexplained steps of the edges to the right and below, and their ``cut``: the weight over lambda.

    Valid until the next call of :func:`link`: compiled loops use the arrays again.
    """

    step_right: Array
    step_down: Array
    cut_right: Array
    cut_down: Array


def count_lines(edges: Edges) -> Array:
    """Return how many of the edges to the right of and below each pixel are cut."""
    lines = np.zeros((edges.cut_right.shape[0], edges.cut_down.shape[1]), np.float32)
    lines[:, :-1] += edges.cut_right < JUMP
    lines[:-1] += edges.cut_down < JUMP
    return lines


def link(s: Array, slope: Array, variance: Array, mu: Array, tolerance: Array, crew: Crew = ALONE) -> Edges:
    """Weigh the edges of the pixel grid.

    Parameters
    ----------
    slope : (2, H, W)
        ``p``: rise of ``s`` per pixel along rows (0) and columns (1).
    tolerance : (H, W)
        Step in px^2 that is not yet called a jump.
    """
    if crew.compiled is not None:
        return Edges(*crew.compiled.link(s, slope, variance, mu, tolerance))
    tau2 = tolerance * tolerance + np.float32(0.1) / stiffness(variance) + np.float32(0.125) / mu
    out = []
    for axis in (1, 0):
        a, b = _EDGE_ENDS[axis]
        d = _unexplained(s, slope, axis)
        out.append((d, np.maximum(np.exp(-4 * d * d / (tau2[a] + tau2[b])), CUT)))
    (dr, hr), (dd, hd) = out
    return Edges(dr, dd, hr, hd)


def _unexplained(s: Array, slope: Array, axis: int) -> Array:
    """Return the steps of ``s`` along an axis that the slopes do not explain."""
    p = slope[axis]
    near, far = _EDGE_ENDS[axis]
    return np.asarray(s[far] - s[near] - np.float32(0.5) * (p[near] + p[far]))


class Draw(NamedTuple):
    """Pulls a map towards a level: ``weight (z - level)^2 / 2`` at every pixel."""

    weight: Array
    level: np.float32


def solve_step(
    z: Array,
    slope: Array,
    w: Array,
    g: Array,
    draw: Draw | None,
    edges: Edges,
    variance: Array,
    steps: int,
    crew: Crew = ALONE,
) -> Array:
    """Return the Gauss-Newton step of likelihood and prior together: ``(w + grad^T c grad) delta = g - grad^T c d``.

    The edges' cuts count, not their steps: ``d`` is what the slopes do not explain now.
    """
    if crew.compiled is not None:
        return crew.compiled.solve_step(z, slope, w, g, draw, variance, (edges.cut_right, edges.cut_down), steps)
    half_lam = np.float32(0.5) * stiffness(variance)
    w, b = (w, g.copy()) if draw is None else (w + draw.weight, g + draw.weight * (draw.level - z))
    weights = []
    for axis, cut in ((1, edges.cut_right), (0, edges.cut_down)):
        near, far = _EDGE_ENDS[axis]
        c = (half_lam[near] + half_lam[far]) * cut
        pull = c * _unexplained(z, slope, axis)
        b[near] += pull
        b[far] -= pull
        weights.append(c)
    return Multigrid(w + np.float32(1e-4), weights[0], weights[1], crew).solve(b, steps)
