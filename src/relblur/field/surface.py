"""The prior, a piecewise affine surface with jumps, and the steps towards the most likely surface.

    sum over edges of  lambda h_ij d_ij^2 / 2  +  mu h |grad p|^2 / 2          d_ij = z_j - z_i - (p_i + p_j) / 2

``p`` is a field of slopes, ``mu`` the inverse variance of the curvature, ``h = exp(-2 d^2 / tau^2)`` a line process.
It removes edges whose step the slopes do not explain.  The other parameters follow from ``mu``:

* the mean over a window of ``l`` x ``l`` pixels has the variance ``1 / sum w`` from noise and ``l^2 / (256 mu)`` from
  the curvature of ``z``.  The window with the least sum gives the variance ``V`` of the estimate.
* ``lambda = 1 / (4 V)``.  For uniform ``w`` it is ``2 sqrt(mu w)``, so that terms of first and second order have the
  same length ``(mu / w)^(1/4)``.
* ``tau^2 = tolerance^2 + 0.3 / lambda + 1 / (8 mu)``.  The tolerance covers jumps of which the residuals around contain
  no evidence: ``d^2 sum w < 2e-5`` over 17 x 17 pixels.

The change of the map and the slopes are solved for together on cells of 3 x 3 pixels (:class:`Slopes`), so that the
surface continues over a flat area like a thin plate.  With these slopes the map is solved for on pixels
(:func:`map_step`).
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .grid import CUT, Edges, between, box_any, cell_means, enlarged, spread_difference, spread_sum, unexplained
from .loops import Loops
from .multigrid import Grid

__all__ = ["JUMP", "Slopes", "largest_hidden_jump", "link", "map_step"]

Array = NDArray[np.float32]

#: Largest lambda; its variance of 1e-6 is that of arithmetic.
MOST_LAMBDA = np.float32(3e5)
#: Factors of ``1 / lambda`` and ``1 / mu`` in ``tau^2``.
TAU_LAMBDA, TAU_MU = np.float32(0.3), np.float32(0.125)
#: Side of the window that must contain evidence of a jump (px), and its least information times the squared jump. Of 0
#: and 5e-6 to 0.4 the least without jumps in skies and walls (`street`, rocket).
JUMP_WINDOW, JUMP_EVIDENCE = 17, np.float32(2e-5)
#: Weight ``h`` of an edge below which it is a jump.
JUMP = 0.1
#: Side of the cells of the slopes, px.
CELL = 3
#: Undetermined slopes decay to zero over the longer side of the image divided by this.
REST = 0.5
#: Conjugate-gradient steps of each linear system.
SOLVER_STEPS = 8
#: Least information of a pixel or cell; it keeps the linear systems regular.
LEAST = np.float32(1e-4)


def _stiffness(variance: Array) -> Array:
    """Return ``lambda``."""
    return np.minimum(np.float32(0.25) / variance, MOST_LAMBDA)


def link(z: Array, slope: Array, variance: Array, mu: Array, tolerance: Array) -> Edges:
    """Return the edges of a map: the steps ``d`` that its slopes do not explain, and ``h``."""
    tau2 = tolerance * tolerance + TAU_LAMBDA / _stiffness(variance) + TAU_MU / mu
    d = unexplained(z, slope, 0), unexplained(z, slope, 1)
    h = [np.maximum(np.exp(-2 * step * step / between(tau2, axis)), CUT) for axis, step in enumerate(d)]
    return Edges(d, (h[0], h[1]))


def largest_hidden_jump(w: Array) -> Array:
    """Return the largest jump of which the window around contains no evidence."""
    information = np.maximum(box_any(w, JUMP_WINDOW), 0) * np.float32(JUMP_WINDOW**2)
    return np.asarray(np.sqrt(JUMP_EVIDENCE / (information + np.float32(1e-6))))


def map_step(
    loops: Loops, z: Array, slope: Array, w: Array, g: Array, edges: Edges, variance: Array, guess: Array
) -> Array:
    """Return the change of the map to its most likely value for this evidence, these slopes and edges."""
    lam, b = _stiffness(variance), g.copy()
    down, right = (between(lam, axis) * edges.h[axis] for axis in (0, 1))
    for axis, weight in enumerate((down, right)):
        spread_difference(-weight * unexplained(z, slope, axis), axis, b)
    return loops.solve(Grid(w + LEAST, right, down), b, SOLVER_STEPS, guess)


class Slopes:
    """Slopes of a map along rows and columns, and the change ``delta`` of the map that belongs to them.

    On cells they minimise

        sum w delta^2 / 2 - g delta + lambda h (d - delta_i + delta_j)^2 / 2 + mu h |grad p|^2 / 2

    Cells lie symmetrically in the image; those at its border extend equally beyond it on both sides.
    """

    def __init__(self, shape: tuple[int, int], loops: Loops) -> None:
        self._loops = loops
        self._margin = rows, cols = [next(m for m in range(CELL) if (n + 2 * m) % CELL == 0) for n in shape]
        self._inside = slice(rows, rows + shape[0]), slice(cols, cols + shape[1])
        self._size = shape[0] + 2 * rows, shape[1] + 2 * cols
        #: Change of the map, and slopes along rows and columns, on cells.
        self._solution: Array = np.zeros((3, *(n // CELL for n in self._size)), np.float32)

    def pixels(self) -> Array:
        """Return the slopes at every pixel, (2, H, W)."""
        return np.stack([self._on_pixels(cells) for cells in self._solution[1:]])

    def change(self) -> Array:
        """Return the change of the map at every pixel."""
        return np.ascontiguousarray(self._on_pixels(self._solution[0]))

    def _on_pixels(self, cells: Array) -> Array:
        return enlarged(cells, self._size)[self._inside]

    def _cells(self, a: Array, border: int = cv2.BORDER_REPLICATE) -> Array:
        rows, cols = self._margin
        return cell_means(np.asarray(cv2.copyMakeBorder(a, rows, rows, cols, cols, border, value=0)), CELL)

    def fit(self, z: Array, w: Array, g: Array, edges: Edges, variance: Array, mu: Array) -> None:
        """Find the slopes of a map after its next step."""
        lam, bend = self._cells(_stiffness(variance)), self._cells(mu)
        # The smoothing length is at least that of a cell.
        bend = np.maximum(bend, np.float32(CELL**2) * lam)
        down = _cell_edges(z.T, edges.h[0].T, self._margin[::-1])
        links = [(down[0].T, down[1].T), _cell_edges(z, edges.h[1], self._margin)]
        tie = [between(lam, axis) * links[axis][0] for axis in (0, 1)]
        ends = [between(bend, axis) * links[axis][0] for axis in (0, 1)]
        # With p_ij = (p_i + p_j) / 2, p_ij^2 = (p_i^2 + p_j^2) / 2 - (p_i - p_j)^2 / 4.
        weight = np.full((3, *lam.shape), 1e-9, np.float32)  # a single cell has no slope
        weight[0] = self._cells(w, cv2.BORDER_CONSTANT) * np.float32(CELL**2) + LEAST
        weight[1:] += bend * np.float32((REST * CELL / max(z.shape)) ** 2)
        b = np.zeros_like(weight)
        b[0] = self._cells(g, cv2.BORDER_CONSTANT) * np.float32(CELL**2)
        blocks = [np.stack([tie[axis], ends[axis], ends[axis]]) for axis in (0, 1)]
        for axis in (0, 1):
            spread_sum(tie[axis] * np.float32(CELL**2 / 2), axis, weight[1 + axis])
            blocks[axis][1 + axis] -= tie[axis] * np.float32(CELL**2 / 4)
            pull = tie[axis] * links[axis][1]
            spread_difference(-pull, axis, b[0])
            spread_sum(np.float32(CELL / 2) * pull, axis, b[1 + axis])
        grid = Grid(weight, blocks[1], blocks[0], (tie[0], tie[1]), CELL / 2)
        self._solution[0] = 0
        self._solution = self._loops.solve(grid, b, SOLVER_STEPS, self._solution)


def _cell_edges(z: Array, h: Array, margin: list[int]) -> tuple[Array, Array]:
    """Return the weights of the edges between neighbouring cells in a row, and the rise of ``z`` along them.

    Each line of pixels between two centres has the least weight of its edges, so that slopes do not pass a jump.
    """
    pad = [(m, m) for m in margin]
    z, h = np.pad(z, pad, mode="reflect", reflect_type="odd"), np.pad(h, pad, mode="edge")
    rows, cols = (n // CELL for n in z.shape)
    # The edges from the middle pixel of a cell to that of the next.
    edges = [h[:, first : first + CELL * (cols - 1) : CELL] for first in range(CELL // 2, CELL // 2 + CELL)]
    weight = np.minimum.reduce(edges)
    total = weight.reshape(rows, CELL, cols - 1).sum(axis=1)
    rise = (weight * np.diff(z[:, CELL // 2 :: CELL], axis=1)).reshape(rows, CELL, cols - 1).sum(axis=1) / total
    return np.maximum(total * np.float32(1 / CELL), CUT), rise
