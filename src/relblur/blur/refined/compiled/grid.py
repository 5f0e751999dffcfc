"""The solver on compiled loops: multigrid-preconditioned conjugate gradients, twin of :mod:`..plain.solver`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....engines.barrier import abort, new_barrier
from ..plain.solver import COARSEST
from ..team import ThreadTeam
from . import vcycle as solver

__all__ = ["Grid", "scratch"]

Array = NDArray[np.float32]

#: Elements of a grid from which on threads gain more by sharing it than they lose by waiting.
SHARED_FROM = 4096


def scratch(a: Array, border: int = 0) -> Array:
    """Return scratch for one thread: seven rows."""
    return np.empty((7, a.shape[-1] + border), np.float32)


class Grid:
    """Multigrid-preconditioned conjugate gradients, twin of :class:`..plain.solver.Multigrid`, on arrays made once.

    Fill ``weight``, ``right``, ``down`` and ``b`` before every :meth:`solve`.
    """

    def __init__(self, shape: tuple[int, ...], team: ThreadTeam) -> None:
        self._team = team
        n, height, width = shape
        places = [[0, height, width, n]]
        while min(height, width) > COARSEST:
            start = places[-1][0] + n * height * width
            height, width = -(-height // 2), -(-width // 2)
            places.append([start, height, width, n])
        coarsest = n * height * width
        flat = [np.zeros(places[-1][0] + coarsest, np.float32) for _ in range(7)]
        # One alone works on the last.
        shared = min(sum(n * h * w >= SHARED_FROM for _, h, w, n in places), len(places) - 1)
        self._workers = team.workers if shared > 1 else 1
        weight, right, down, diagonal, inverse, b, answer = flat
        self._grids = solver.Grids(
            np.array(places, np.int64),
            shared,
            weight,
            right,
            down,
            diagonal,
            inverse,
            b,
            answer,
            coarsest=np.empty(coarsest, np.float32),
            sums=np.zeros((3, *shape[:2])),
        )
        n, height, width = shape
        self.weight, self.b = (_first(a, shape) for a in (weight, b))
        self.right, self.down = _first(right, (n, height, width - 1)), _first(down, (n, height - 1, width))
        self._product = np.empty(shape, np.float32)
        self._directions = np.empty((2, *shape), np.float32)
        self._rows = [scratch(self.b) for _ in range(self._workers)]

    def solve(self, count: int, start: Array | None = None, ties: tuple[Array, Array, float] | None = None) -> Array:
        """Return an approximate ``A^-1 b`` after ``count`` conjugate-gradient steps; ``b`` is used up.

        ``ties`` are those of :class:`.vcycle.Ties`, for what is not in the grid's own operator.
        """
        none = np.empty((0, 0), np.float32)
        down, right, half = ties or (none, none, 0.0)
        tied = solver.Ties(np.ascontiguousarray(down), np.ascontiguousarray(right), np.float32(half))
        x = np.zeros_like(self.b) if start is None else start.copy()
        place = new_barrier()

        def take_part(rank: int) -> None:
            me = solver.Member(rank, self._workers, place, self._rows[rank])
            try:
                solver.solve(self._grids, tied, me, count, start is not None, x, self._product, self._directions)
            except BaseException:
                abort(place)
                raise

        self._team.together(take_part, self._workers)
        return x


def _first(flat: Array, shape: tuple[int, ...]) -> Array:
    """Return the array of the first grid."""
    return flat[: math.prod(shape)].reshape(shape)
