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

import cv2
import numpy as np
from numpy.typing import NDArray

from .solver import Multigrid

Array = NDArray[np.float32]

WINDOWS = (5, 9, 17, 33, 65, 129, 257)
_LARGEST_LAMBDA = np.float32(3e5)
_CUT = np.float32(1e-6)
#: The slope field lives on blocks of this many pixels.
CELL = 4


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
    lam = np.minimum(np.float32(0.25) / variance, _LARGEST_LAMBDA)
    tau2 = tolerance * tolerance + np.float32(0.1) / lam + np.float32(0.125) / mu
    out = []
    for axis in (1, 0):
        a = (slice(None), slice(None, -1)) if axis == 1 else (slice(None, -1), slice(None))
        b = (slice(None), slice(1, None)) if axis == 1 else (slice(1, None), slice(None))
        half = np.float32(0.5)
        d = s[b] - s[a] - half * (slope[axis][a] + slope[axis][b])
        cut = np.maximum(np.exp(-4 * d * d / (tau2[a] + tau2[b])), _CUT)
        out.append((half * (lam[a] + lam[b]) * cut, d, cut))
    (cr, dr, hr), (cd, dd, hd) = out
    return Edges(cr, cd, dr, dd, hr, hd)


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


def fit_slope(s: Array, edges: Edges, variance: Array, mu: Array, steps: int) -> Array:
    """Return the slope field ``p`` (2, H, W) that minimises the prior for a given ``s``.

    ``lambda h (grad s - p)^2 + mu h |grad p|^2``, divided by ``lambda``, on a grid of 4 x 4 cells; slopes do not pass
    over an edge that is cut anywhere between two cell centres.
    """
    height, width = s.shape
    rows, cols = -(-height // CELL), -(-width // CELL)
    reach = np.maximum(4 * mu * variance, np.float32(CELL**2))  # mu / lambda in px^2, no finer than the grid
    share = np.float32(CELL**2) / reach
    data = np.zeros((2, rows * CELL, cols * CELL), np.float32)
    rise = np.zeros_like(data)
    # An edge belongs half to each of its pixels.
    for axis, cut, ds in (
        (1, edges.cut_right, s[:, 1:] - s[:, :-1]),
        (0, edges.cut_down, s[1:] - s[:-1]),
    ):
        view = (slice(0, height), slice(0, width))
        near = tuple(slice(0, n - (k == axis)) for k, n in enumerate((height, width)))
        far = tuple(slice(int(k == axis), n) for k, n in enumerate((height, width)))
        for side in (near, far):
            c = np.float32(0.5) * cut * share[side]
            data[axis][view][side] += c
            rise[axis][view][side] += c * ds
    b = _sum_cells(data)
    a = _sum_cells(rise)
    right = _open_path(edges.cut_right, rows, cols)
    down = _open_path(edges.cut_down.T, cols, rows).T
    grid = np.float32(CELL**2)
    two = (2, 1, 1)
    p = Multigrid(b + np.float32(1e-5), np.tile(grid * right, two), np.tile(grid * down, two)).solve(a, steps)
    fine = [
        cv2.resize(component, (cols * CELL, rows * CELL), interpolation=cv2.INTER_LINEAR)[:height, :width]
        for component in p
    ]
    return np.stack(fine)


def _sum_cells(a: Array) -> Array:
    n, h, w = a.shape
    return np.asarray(a.reshape(n, h // CELL, CELL, w // CELL, CELL).sum(axis=(2, 4)))


def _open_path(cut: Array, rows: int, cols: int) -> Array:
    """Return between horizontally neighbouring cells the least ``h`` on the way, mean over the four lines."""
    height, edges = cut.shape
    padded = np.zeros((rows * CELL, cols * CELL + 2), np.float32)
    padded[:height, :edges] = cut
    padded[height:, :edges] = cut[height - 1 :]
    padded[:height, edges:] = cut[:, edges - 1 :]
    padded[height:, edges:] = cut[height - 1, edges - 1]
    least = padded[:, 1 : 1 + CELL * (cols - 1) : CELL].copy()
    for offset in range(2, CELL + 2):
        np.minimum(least, padded[:, offset : offset + CELL * (cols - 1) : CELL], out=least)
    return np.asarray(np.maximum(least.reshape(rows, CELL, cols - 1).mean(axis=1), _CUT))
