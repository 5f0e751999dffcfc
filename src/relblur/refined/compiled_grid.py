"""The solver on compiled loops: multigrid-preconditioned conjugate gradients, twin of :mod:`.solver`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import compiled_solver as solver
from .engine import WORTH_SHARING, Crew
from .solver import COARSEST

__all__ = ["Grid", "scratch"]

Array = NDArray[np.float32]


def scratch(a: Array, border: int = 0) -> Array:
    """Return scratch for one thread: seven rows."""
    return np.empty((7, a.shape[-1] + border), np.float32)


class Grid:
    """Multigrid-preconditioned conjugate gradients, twin of :class:`.solver.Multigrid`, on arrays made once.

    Grids lie one after the other in flat arrays.  Those that are worth sharing among threads are passed on one by one,
    the small rest in one call.  Fill ``weight``, ``right``, ``down`` and ``b`` before every :meth:`solve`.
    """

    def __init__(self, shape: tuple[int, ...], crew: Crew) -> None:
        self._crew = crew
        n, height, width = shape
        places = [[0, height, width, n]]
        while min(height, width) > COARSEST:
            start = places[-1][0] + n * height * width
            height, width = -(-height // 2), -(-width // 2)
            places.append([start, height, width, n])
        size = places[-1][0] + n * height * width
        #: Grids before this one are worth sharing; there is always a rest.
        self._large = min(sum(n * h * w >= WORTH_SHARING for _, h, w, n in places), len(places) - 1)
        self._small = np.array(places[self._large :], np.int64)
        flat = [np.zeros(size, np.float32) for _ in range(6)]
        self._weight, self._right, self._down, self._inverse, self._b, self._answer = flat
        cells = [_views(flat, place) for place in places]
        self._levels = cells[: self._large + 1]
        self.weight, self.right, self.down, _, self.b, _ = cells[0]
        self._diagonals = np.empty(size, np.float32)
        self._diagonal = self._diagonals[: self.b.size].reshape(shape)
        self._product = np.empty(shape, np.float32)
        self._directions = [np.empty(shape, np.float32) for _ in range(2)]
        # Coarser grids fill a part of it, and all of it is summed.
        self._sums = np.zeros(shape[:2])
        self._spare = np.empty(n * height * width, np.float32)  # as large as the coarsest grid

    def _share(self, work: Callable[[int, int], None], a: Array) -> None:
        self._crew.share_rows(lambda rows: work(rows.start, rows.stop), a.shape[1], a.size)

    def _build(self) -> None:
        for depth in range(self._large):
            of, right, down, inverse = self._levels[depth][:4]
            coarse = self._levels[depth + 1][:3]
            diagonal = self._diagonal.ravel()[: of.size].reshape(of.shape) if depth == 0 else self._levels[depth][5]

            def invert(i: int, j: int, of: Any = (of, right, down), to: Any = (diagonal, inverse)) -> None:
                solver.invert(*of, i, j, *to)

            def coarsen(i: int, j: int, of: Any = (of, right, down), to: Any = coarse) -> None:
                solver.coarsen(*of, i, j, *to)

            self._share(invert, of)
            self._share(coarsen, coarse[0])
        solver.build_small(self._small, self._weight, self._right, self._down, self._diagonals, self._inverse)

    def _cycle(self, depth: int) -> float:
        """Approximately solve one level for its ``b``; return ``b . answer``."""
        if depth == self._large:
            flat = (self._inverse, self._right, self._down, self._b, self._answer)
            solver.solve_small(self._small, *flat, self._spare, scratch(self._levels[depth][4]), self._sums)
        else:
            _, right, down, inverse, b, answer = self._levels[depth]
            coarse, below = self._levels[depth + 1][4:]
            self._share(lambda i, j: solver.sweep(b, inverse, right, down, i, j, scratch(b), coarse), coarse)
            self._cycle(depth + 1)
            to = (answer, self._sums)
            self._share(
                lambda i, j: solver.prolong_and_smooth(b, inverse, right, down, below, i, j, scratch(b), *to), b
            )
        return float(self._sums.sum())

    def solve(self, count: int, start: Array | None = None, couple: Callable[..., None] | None = None) -> Array:
        """Return an approximate ``A^-1 b`` after ``count`` conjugate-gradient steps; ``b`` is used up.

        ``couple(x, first row, last row, product, sums)`` adds to the product what is not in the grid's own operator.
        """
        self._build()
        right, down, residual, z, product = self.right, self.down, self.b, self._levels[0][5], self._product
        old, new = self._directions
        old.fill(0)
        factor = np.float32(0)

        def multiply(of: Any, to: Array) -> float:
            """Write ``of[0] + of[1] of[2]`` and its product with the operator; return their dot product."""
            out = (to, product, self._sums)
            self._share(lambda i, j: solver.advance(*of, self._diagonal, right, down, i, j, scratch(to), *out), to)
            if couple is not None:
                self._share(lambda i, j: couple(to, i, j, product, self._sums), to)
            return float(self._sums.sum())

        if start is None:
            x = np.zeros_like(residual)
        else:
            x = start.copy()
            multiply((start, factor, old), new)
            residual -= product
        rz = self._cycle(0)
        for step in range(count):
            curvature = multiply((z, factor, old), new)
            if not curvature > 0 or not rz > 0:
                break
            self._share(partial(_go, np.float32(rz / curvature), new, product, x, residual), x)
            if step + 1 == count:
                break
            rz_new = self._cycle(0)
            factor, rz = np.float32(rz_new / rz), rz_new
            old, new = new, old
        return x


def _go(alpha: np.float32, direction: Array, product: Array, x: Array, residual: Array, i: int, j: int) -> None:
    solver.step(alpha, direction, product, i, j, x, residual)


def _views(flat: list[Array], place: list[int]) -> list[Array]:
    """Return one grid's weight, edges to the right, edges below, inverse, right side and answer."""
    start, height, width, n = place
    shapes = [(n, height, width)] * 6
    shapes[1], shapes[2] = (n, height, width - 1), (n, height - 1, width)
    return [a[start : start + math.prod(shape)].reshape(shape) for a, shape in zip(flat, shapes, strict=True)]
