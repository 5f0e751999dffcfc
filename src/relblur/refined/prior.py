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

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from .solver import Multigrid

Array = NDArray[np.float32]

WINDOWS = (5, 9, 17, 33, 65, 129, 257)
_LARGEST_LAMBDA = np.float32(3e5)
#: Weight left to an edge that is cut.
CUT = np.float32(1e-6)


def posterior_variance(w: Array, mu: Array) -> Array:
    """Return ``min over l of 1 / (l^2 mean_l w) + l^2 / (256 mu)``: the error of the best window."""
    best: Array | None = None
    for size in WINDOWS:
        if best is not None and size > 2 * max(w.shape):
            break
        area = np.float32(size * size)
        variance = 1 / (area * np.maximum(box_any(w, size), 0) + np.float32(1e-6)) + area / (256 * mu)
        best = variance if best is None else np.minimum(best, variance)
    assert best is not None
    return best


def box_any(image: Array, size: int) -> Array:
    """Box mean of any size; windows beyond the image are limited to it."""
    h, w = image.shape
    return np.asarray(cv2.blur(image, (min(size, 2 * w - 1), min(size, 2 * h - 1)), borderType=cv2.BORDER_REFLECT))


def leverage(w: Array, variance: Array) -> Array:
    """Return the weight of a pixel's own datum in its estimate (at most 0.9): its residual is too small by that."""
    own = w * variance
    return np.asarray(np.minimum(own / (1 + own), np.float32(0.9)))


def stiffness(variance: Array) -> Array:
    """Return ``lambda`` for the posterior variance."""
    return np.minimum(np.float32(0.25) / variance, _LARGEST_LAMBDA)


@dataclass(frozen=True)
class Edges:
    """Weights and unexplained steps of the edges to the right and below; ``cut`` is the weight over lambda."""

    right: Array
    down: Array
    step_right: Array
    step_down: Array
    cut_right: Array
    cut_down: Array


def link(s: Array, slope: Array, variance: Array, mu: Array, tolerance: Array) -> Edges:
    """Weigh the edges of the pixel grid.

    Parameters
    ----------
    slope : (2, H, W)
        ``p``: rise of ``s`` per pixel along rows (0) and columns (1).
    tolerance : (H, W)
        Step in px^2 that is not yet called a jump.
    """
    lam = stiffness(variance)
    tau2 = tolerance * tolerance + np.float32(0.1) / lam + np.float32(0.125) / mu
    out = []
    for axis in (1, 0):
        a = (slice(None), slice(None, -1)) if axis == 1 else (slice(None, -1), slice(None))
        b = (slice(None), slice(1, None)) if axis == 1 else (slice(1, None), slice(None))
        half = np.float32(0.5)
        d = _unexplained(s, slope, axis)
        cut = np.maximum(np.exp(-4 * d * d / (tau2[a] + tau2[b])), CUT)
        out.append((half * (lam[a] + lam[b]) * cut, d, cut))
    (cr, dr, hr), (cd, dd, hd) = out
    return Edges(cr, cd, dr, dd, hr, hd)


def relink(edges: Edges, s: Array, slope: Array) -> Edges:
    """Return the edges with other slopes and the weights they had."""
    return replace(edges, step_right=_unexplained(s, slope, 1), step_down=_unexplained(s, slope, 0))


def _unexplained(s: Array, slope: Array, axis: int) -> Array:
    """Return the steps of ``s`` along an axis that the slopes do not explain."""
    p = slope[axis]
    if axis == 1:
        return np.asarray(s[:, 1:] - s[:, :-1] - np.float32(0.5) * (p[:, 1:] + p[:, :-1]))
    return np.asarray(s[1:] - s[:-1] - np.float32(0.5) * (p[1:] + p[:-1]))


def solve_step(w: Array, g: Array, edges: Edges, steps: int) -> Array:
    """Return the Gauss-Newton step of likelihood and prior together: ``(w + grad^T c grad) delta = g - grad^T c d``."""
    b = g.copy()
    pull = edges.right * edges.step_right
    b[:, :-1] += pull
    b[:, 1:] -= pull
    pull = edges.down * edges.step_down
    b[:-1] += pull
    b[1:] -= pull
    return Multigrid(w + np.float32(1e-4), edges.right, edges.down).solve(b, steps)
