"""The slopes of the piecewise affine prior, found together with the map.

The prior (:mod:`prior`) ties the map ``z`` to a slope field ``p``.  Solving for one with the other held, in turn, takes
hundreds of rounds where the data are silent: there the map follows the slopes and the slopes follow the map.  So the
slopes are found with the change ``delta`` of the map that they call for, as one least-squares problem,

    sum w delta^2 / 2 - g delta  +  lambda h (z_j + delta_j - z_i - delta_i - p_ij)^2 / 2  +  mu h |grad p|^2 / 2

on cells of 4 x 4 pixels: slopes vary slowly, and a flat area is then crossed as a thin plate would.  Only ``p`` is
kept; the map is solved for anew, pixel by pixel, with these slopes.

Where the data are silent both the map and its slopes return to their means over the rest of the image
(:mod:`stationary`).
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ..loops import Loops
from .prior import Edges, Pull, leverage
from .stationary import measure

Array = NDArray[np.float32]

#: Side of a cell in px.
CELL = 4


class SlopeField:
    """Rise of the map per pixel along rows (0) and columns (1): ``cells`` (2, rows, cols)."""

    def __init__(self, shape: tuple[int, int], loops: Loops) -> None:
        self._shape = shape
        self._loops = loops
        self.cells: Array = np.zeros((2, *(-(-n // CELL) for n in shape)), np.float32)
        self._usual, self._pull = np.float32(0), np.zeros_like(self.cells[0])

    def pixels(self) -> Array:
        """Return the slopes of every pixel, (2, H, W)."""
        fine = np.empty((2, *self._shape), np.float32)
        for p, out in zip(self.cells, fine, strict=True):
            self._spread(p, out)
        return fine

    def _spread(self, cells: Array, out: Array) -> Array:
        height, width = self._shape
        rows, cols = cells.shape
        fine = cv2.resize(cells, (cols * CELL, rows * CELL), interpolation=cv2.INTER_LINEAR)
        out[...] = fine[:height, :width]
        return out

    def fit(self, z: Array, w: Array, g: Array, edges: Edges, variance: Array, mu: Array, steps: int) -> None:
        """Set the slopes to those that suit the map ``z`` after the step that the data ask for."""
        cells, ways = self._loops.cells(z, w, g, edges, variance, mu)
        weight, score, lam, bend, level = cells
        open_right, rise_right, open_down, rise_down = ways
        # The curvature's scale is no finer than the grid.
        tight = np.maximum(bend, np.float32(CELL**2) * lam)
        problem = _Problem(
            weight + np.float32(1e-4),
            (_between(lam, 0) * open_down, _between(lam, 1) * open_right),
            (_between(tight, 0) * open_down, _between(tight, 1) * open_right),
        )
        own = leverage(weight * np.float32(1 / CELL**2), np.asarray(1 / (4 * lam), np.float32))
        edges_own = (_between(own, 0) * open_down, _between(own, 1) * open_right)
        usual = measure(level, own, edges_own, (rise_down, rise_right))
        # The map is pulled towards the mean that it will have: that of a constant map would never move.
        step = float(score.sum(dtype=np.float64)) / float(weight.sum(dtype=np.float64) + 1e-12)
        self._usual = np.float32(usual.mean + step)
        pull = usual.pull(weight, lam, 2)
        self._pull = pull * np.float32(1 / CELL**2)
        problem.pull(0, pull, self._usual - level)
        # (mu / w)^(1/4): see prior, lambda = 2 sqrt(mu w).
        smooth = bend / lam * np.float32(2 / CELL**2)
        for axis, p in enumerate(self.cells):
            prior_mean = measure(p, own, edges_own, (difference(p, 0), difference(p, 1)), smooth)
            information = weight * np.float32(CELL**2 / 12)
            problem.pull(1 + axis, prior_mean.pull(information, bend, 4), np.full_like(p, prior_mean.shrunk))
        start = np.concatenate([np.zeros_like(lam)[None], self.cells])
        self.cells = problem.solve(score, (rise_down, rise_right), start, steps, self._loops)[1:]

    def pull(self) -> Pull | None:
        """Return the pull of the silent parts of the map towards the usual level, if any are silent."""
        if not self._pull.any():
            return None
        return Pull(self._spread(self._pull, np.empty(self._shape, np.float32)), self._usual)


class _Problem:
    """The normal equations for ``x = (delta, p along rows, p along columns)`` on the cells.

    Parameters
    ----------
    weight : (rows, cols)
        Information on ``delta``.
    tie, bend : (down, right)
        Weights of ``(delta_j - delta_i - CELL p_ij)^2`` and of ``(p_j - p_i)^2`` for the edges along each axis.
    """

    def __init__(self, weight: Array, tie: tuple[Array, Array], bend: tuple[Array, Array]) -> None:
        self._tie = tie
        # p_ij is the mean of two cells: its square is half the sum of theirs less a quarter of their difference's.
        lumped = np.full((3, *weight.shape), 1e-9, np.float32)  # a single cell has no slope
        lumped[0] = weight
        down = np.stack([tie[0], bend[0], bend[0]])
        right = np.stack([tie[1], bend[1], bend[1]])
        for axis, edge in ((0, down), (1, right)):
            spread_sum(tie[axis] * np.float32(CELL**2 / 2), axis, lumped[1 + axis])
            edge[1 + axis] -= tie[axis] * np.float32(CELL**2 / 4)
        #: The operator without what couples the map to its slopes.
        self._blocks = (lumped, right, down)
        self._pulled = np.zeros_like(lumped)

    def pull(self, component: int, weight: Array, to: Array) -> None:
        """Add ``weight (x - to)^2 / 2`` for one of the three fields."""
        self._blocks[0][component] += weight
        self._pulled[component] += weight * to

    def solve(self, score: Array, rise: tuple[Array, Array], start: Array, steps: int, loops: Loops) -> Array:
        b = self._pulled.copy()
        b[0] += score
        for axis, tie in enumerate(self._tie):
            pull = tie * rise[axis]
            spread_difference(-pull, axis, b[0])
            spread_sum(np.float32(CELL / 2) * pull, axis, b[1 + axis])
        return loops.solve_slopes(self._blocks, self._tie, b, start, steps)


def _ends(axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return the near and far cells of the edges along an axis."""
    near, far = [slice(None)] * 2, [slice(None)] * 2
    near[axis], far[axis] = slice(None, -1), slice(1, None)
    return tuple(near), tuple(far)


def difference(a: Array, axis: int) -> Array:
    """Return the rise over each edge along an axis."""
    near, far = _ends(axis)
    return np.asarray(a[far] - a[near])


def pair_sum(a: Array, axis: int) -> Array:
    """Return the sum of the two cells of each edge along an axis."""
    near, far = _ends(axis)
    return np.asarray(a[far] + a[near])


def _between(a: Array, axis: int) -> Array:
    """Return the mean of the two cells of each edge along an axis."""
    return pair_sum(a, axis) * np.float32(0.5)


def spread_sum(edge: Array, axis: int, out: Array) -> None:
    """Add to both cells of each edge: the transpose of :func:`pair_sum`."""
    near, far = _ends(axis)
    out[near] += edge
    out[far] += edge


def spread_difference(edge: Array, axis: int, out: Array) -> None:
    """Add to the far cell, take from the near: the transpose of :func:`difference`."""
    near, far = _ends(axis)
    out[far] += edge
    out[near] -= edge
