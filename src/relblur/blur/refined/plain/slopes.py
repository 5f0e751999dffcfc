"""The slopes of the map, on cells.  The equations are in :mod:`..prior.slope`."""

from __future__ import annotations

from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from ..averages import block_means
from ..prior.prior import CUT, Edges, stiffness
from ..prior.slope import CELL, difference, pair_sum, spread_difference, spread_sum
from .solver import Multigrid, conjugate_gradients

__all__ = ["SlopeLoops"]

Array = NDArray[np.float32]


class SlopeLoops:
    """Loops over cells of pixels."""

    def cells(
        self, z: Array, w: Array, g: Array, edges: Edges, variance: Array, mu: Array
    ) -> tuple[tuple[Array, Array, Array, Array, Array], tuple[Array, Array, Array, Array]]:
        """Return what cells say, and the ways between them."""
        right = _paths(z, edges.cut_right)
        down = _paths(z.T, edges.cut_down.T)
        return (
            (_sum_cells(w), _sum_cells(g), _mean_cells(stiffness(variance)), _mean_cells(mu), _mean_cells(z)),
            (*right, down[0].T, down[1].T),
        )

    def solve_slopes(
        self, blocks: tuple[Array, Array, Array], tie: tuple[Array, Array], b: Array, start: Array, steps: int
    ) -> Array:
        """Return the map and the slopes of the cells that solve the coupled system."""
        uncoupled = Multigrid(*blocks)
        multiply = partial(_multiply, uncoupled, tie)
        return start + conjugate_gradients(multiply, uncoupled.precondition, b - multiply(start), steps)


def _multiply(uncoupled: Multigrid, tie: tuple[Array, Array], x: Array) -> Array:
    """Return the operator's product: that of the three components by themselves, and what couples them."""
    out = uncoupled.multiply(x)
    half = np.float32(CELL / 2)
    for axis, edge in enumerate(tie):
        p = x[1 + axis]
        spread_difference(-half * edge * pair_sum(p, axis), axis, out[0])
        spread_sum(-half * edge * difference(x[0], axis), axis, out[1 + axis])
    return out


def _sum_cells(a: Array) -> Array:
    return block_means(a, CELL, cv2.BORDER_CONSTANT) * np.float32(CELL**2)


def _mean_cells(a: Array) -> Array:
    return block_means(a, CELL)


def _paths(z: Array, cut: Array) -> tuple[Array, Array]:
    """Return between horizontally neighbouring cells how open the way is, and how much ``z`` rises on it.

    Each of the four lines is as open as its least open edge between the cells' centres; slopes do not pass over a jump.
    """
    height, width = z.shape
    rows, cols = -(-height // CELL), -(-width // CELL)
    pad = ((0, rows * CELL - height), (0, cols * CELL - width))
    cut = np.pad(cut, (pad[0], (0, cols * CELL - 1 - cut.shape[1])), mode="edge")
    z = np.pad(z, pad, mode="reflect", reflect_type="odd")
    way = cut[:, 1 : 1 + CELL * (cols - 1) : CELL].copy()
    for offset in range(2, CELL + 2):
        np.minimum(way, cut[:, offset : offset + CELL * (cols - 1) : CELL], out=way)
    # From the centre of a cell, between its pixels 1 and 2, to that of the next.
    centre = z[:, 1::CELL] + z[:, 2::CELL]
    rise = np.float32(0.5) * way * (centre[:, 1:] - centre[:, :-1])
    total = way.reshape(rows, CELL, cols - 1).sum(axis=1)
    rise = rise.reshape(rows, CELL, cols - 1).sum(axis=1) / total
    return np.maximum(total * np.float32(1 / CELL), CUT), rise
