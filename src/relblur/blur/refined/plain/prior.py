"""Edges, windows and blocks of the pixel grid.

The equations are in :mod:`..prior.prior` and :mod:`..prior.strength`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..averages import box_any
from ..prior.prior import CUT, Edges, Pull, stiffness, window_sizes
from ..team import ThreadTeam
from .bands import in_bands
from .solver import Multigrid

__all__ = ["PriorLoops"]

Array = NDArray[np.float32]

#: Both ends of the edges along an axis.
_EDGE_ENDS = (
    ((slice(None, -1), slice(None)), (slice(1, None), slice(None))),
    ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
)


def _unexplained(z: Array, slope: Array, axis: int) -> Array:
    """Return the steps of ``z`` along an axis that the slopes do not explain."""
    p = slope[axis]
    near, far = _EDGE_ENDS[axis]
    return np.asarray(z[far] - z[near] - np.float32(0.5) * (p[near] + p[far]))


class PriorLoops:
    """Loops over edges, windows and blocks."""

    team: ThreadTeam

    def posterior_variance(self, w: Array, mu: Array) -> Array:
        """Return ``min over l of 1 / (l^2 mean_l w) + l^2 / (256 mu)``."""
        sizes = window_sizes(w.shape)
        means: dict[int, Array] = {}

        def average(size: int) -> None:
            means[size] = box_any(w, size)

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

        self.team.each(average, sizes)
        in_bands(choose, w.shape)
        return best

    def link(self, z: Array, slope: Array, variance: Array, mu: Array, tolerance: Array) -> Edges:
        """Return the unexplained steps ``d`` of the edges, and their cuts ``exp(-2 d^2 / tau^2)``."""
        tau2 = tolerance * tolerance + np.float32(0.1) / stiffness(variance) + np.float32(0.125) / mu
        out = []
        for axis in (1, 0):
            a, b = _EDGE_ENDS[axis]
            d = _unexplained(z, slope, axis)
            out.append((d, np.maximum(np.exp(-4 * d * d / (tau2[a] + tau2[b])), CUT)))
        (dr, hr), (dd, hd) = out
        return Edges(dr, dd, hr, hd)

    def solve_step(
        self,
        z: Array,
        slope: Array,
        w: Array,
        g: Array,
        pull: Pull | None,
        edges: Edges,
        variance: Array,
        steps: int,
    ) -> Array:
        """Return ``delta`` of ``(w + grad^T c grad) delta = g - grad^T c d``.

        The edges' cuts count, not their steps: ``d`` is what the slopes do not explain now.
        """
        half_lam = np.float32(0.5) * stiffness(variance)
        w, b = (w, g.copy()) if pull is None else (w + pull.weight, g + pull.weight * (pull.level - z))
        weights = []
        for axis, cut in ((1, edges.cut_right), (0, edges.cut_down)):
            near, far = _EDGE_ENDS[axis]
            c = (half_lam[near] + half_lam[far]) * cut
            force = c * _unexplained(z, slope, axis)
            b[near] += force
            b[far] -= force
            weights.append(c)
        return Multigrid(w + np.float32(1e-4), weights[0], weights[1]).solve(b, steps)

    def block_sums(self, w: Array, g: Array, scale: Array, side: int) -> NDArray[np.float64]:
        """Return the sums of ``g``, ``w`` and ``w scale^2`` over blocks."""
        return np.stack([_block_sum(a, side) for a in (g, w, w * scale**2)])


def _block_sum(a: Array, side: int) -> NDArray[np.float64]:
    """Sum over blocks; the last row and column of blocks may be smaller."""
    rows = np.arange(0, a.shape[0], side)
    cols = np.arange(0, a.shape[1], side)
    return np.asarray(np.add.reduceat(np.add.reduceat(a, rows, axis=0, dtype=np.float64), cols, axis=1))
