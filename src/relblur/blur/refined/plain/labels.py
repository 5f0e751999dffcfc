"""Costs of all levels and paths through them.  The equations are in :mod:`..discrete.labels`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..averages import box
from ..discrete.labels import CELL, SATURATION, pool
from ..likelihood.stack import ResidualStack
from ..team import ThreadTeam

__all__ = ["LabelLoops", "scan_rows"]

Array = NDArray[np.float32]


class LabelLoops:
    """Loops over volumes of costs."""

    team: ThreadTeam

    def label_cost(self, stack: ResidualStack, weight: Array, base: Array, ratio: NDArray[np.float64]) -> Array:
        """Return ``x / (1 + x / 8)`` with ``x = sum e^2 / 2 v``, means over 3 x 3 pixels summed over cells."""
        _, levels, height, width = stack.residuals.shape
        cost = np.empty((levels, -(-height // CELL), -(-width // CELL)), np.float32)

        def fill(k: int) -> None:
            over = 1 / (2 * base * np.float32(ratio[k]))
            x = np.square(stack.residuals[:, k]).sum(axis=0) * over
            cost[k] = pool(box(weight * x / (1 + x * SATURATION), 3), CELL)

        self.team.each(fill, range(levels))
        return cost

    def change_on_cells(self, stack: ResidualStack, k: int) -> Array:
        """Return the sum over channels and cells of ``(e_k+1 - e_k)^2``."""
        return pool(np.square(stack.residuals[:, k + 1] - stack.residuals[:, k]).sum(axis=0), CELL)

    def scan(self, cost: Array, small: float, large: float) -> Array:
        """Return the costs aggregated along rows and columns, both ways."""
        ways = {}

        def scan(transposed: bool) -> None:
            given = np.ascontiguousarray(cost.transpose(0, 2, 1)) if transposed else cost
            ways[transposed] = scan_rows(given, small, large)

        self.team.each(scan, (False, True))
        total = ways[False]
        total += ways[True].transpose(0, 2, 1)
        return total

    def sublevel(self, total: Array, tie: Array) -> Array:
        """Return the fractional level of least cost, by equal slopes on both sides of the minimum."""
        total += tie[:, None, None]
        k = np.clip(np.asarray(total.argmin(axis=0)), 1, total.shape[0] - 2)[None]
        here = np.take_along_axis(total, k, 0)[0]
        below = np.take_along_axis(total, k - 1, 0)[0] - here
        above = np.take_along_axis(total, k + 1, 0)[0] - here
        steeper = np.maximum(np.maximum(below, above), np.float32(1e-6))
        return np.asarray(k[0] + np.clip((below - above) / (2 * steeper), -0.5, 0.5), np.float32)


def scan_rows(cost: Array, small: float, large: float) -> Array:
    """Aggregate a (K, H, W) cost volume along its rows axis, downwards and upwards.

    ``L(y) = cost(y) + min(L(y-1), L(y-1) of the next level + small, min L(y-1) + large) - min L(y-1)``
    for every column at once; the two directions are added.
    """
    total = np.empty_like(cost)
    height = cost.shape[1]
    p1, p2 = np.float32(small), np.float32(large)
    for rows, first in ((range(height), True), (range(height - 1, -1, -1), False)):
        path = np.zeros((cost.shape[0], cost.shape[2]), np.float32)
        raised = np.empty_like(path)
        best = np.empty_like(path)
        for y in rows:
            path -= path.min(axis=0)
            np.minimum(path, p2, out=best)
            np.add(path, p1, out=raised)
            np.minimum(best[1:], raised[:-1], out=best[1:])
            np.minimum(best[:-1], raised[1:], out=best[:-1])
            np.add(best, cost[:, y], out=path)
            if first:
                total[:, y] = path
            else:
                total[:, y] += path
    return total
