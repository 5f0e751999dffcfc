"""The loops over pixels and levels that take most of the time.

:class:`Loops` is written to be read, and defines the answer.  :class:`CompiledLoops` computes the same in C++
(``src/kernels``), to rounding.  The rest of the solver does not know which of them it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..engines.threads import Team
from .axis import read
from .multigrid import Grid, solve_grid
from .noise import Tables
from .windows import box, cell_means, row_bands

__all__ = ["CompiledLoops", "Loops", "Reading", "choose_loops"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Largest cost of a residual, nats: one of three standard deviations counts half.
MOST_COST = np.float32(12)
#: Side of the window in which the share of noise in ``D^2`` is measured, px.
ALPHA_WINDOW = 7
#: Sides in px of the window of the best fit, of that of the costs of cells, and of the cells.
FIT_WINDOW, COST_WINDOW, COST_CELL = 5, 3, 2


@dataclass(frozen=True)
class Reading:
    """Residuals to be read at a map of levels, with what their variance is made of.

    Attributes
    ----------
    residuals : (channels, K, H, W)
    level, misfit : (H, W)
    relative : (H, W), optional
        Relative variance of the noise at each pixel.
    tables : Tables
    """

    residuals: Array
    level: Array
    misfit: Array
    relative: Array | None
    tables: Tables

    def relative_on(self, rows: slice) -> Array | np.float32:
        """Return the relative variance on some rows."""
        return np.float32(1) if self.relative is None else self.relative[rows]

    def variance(self, rows: slice = slice(None)) -> Array:
        """Return ``v`` on some rows."""
        own, passed = self.tables.at(self.level[rows], 0, 1)
        relative = self.relative_on(rows)
        return np.asarray(np.maximum(self.misfit[rows], relative * own) + relative * passed)


class Loops:
    """The loops in NumPy and OpenCV; ``team`` shares the work."""

    def __init__(self, team: Team) -> None:
        self.team = team

    def best_fit(self, residuals: Array, gain: Doubles) -> Array:
        """Return the least 5 x 5 mean of ``e_k^2 / gain_k`` over the levels.

        Without the division the larger blur would win only because it averages noise.
        """
        found: list[Array] = []

        def look(levels: range) -> None:
            best = np.full(residuals.shape[2:], np.inf, np.float32)
            for k in levels:
                power = box(np.square(residuals[:, k]).mean(axis=0), FIT_WINDOW)
                power *= np.float32(1 / gain[k])
                np.minimum(best, power, out=best)
            found.append(best)

        self.team.each(look, [range(start, len(gain), self.team.workers) for start in range(self.team.workers)])
        return np.minimum.reduce(found)

    def cell_costs(self, residuals: Array, base: Array, gain: Doubles, weight: Array) -> Array:
        """Return the costs of the levels, summed over cells of 2 x 2 pixels: (K, rows, cols).

        ``base`` is the variance on the scale of the noise's gain.
        """
        cells = [-(-n // COST_CELL) for n in base.shape]
        out = np.empty((len(gain), *cells), np.float32)

        def fill(k: int) -> None:
            y = np.square(residuals[:, k]) / (base * np.float32(gain[k]))
            cost = np.asarray(weight * cost_of(y).sum(axis=0))
            out[k] = cell_means(box(cost, COST_WINDOW), COST_CELL) * np.float32(COST_CELL**2)

        self.team.each(fill, range(len(gain)))
        return out

    def scan(self, cost: Array, small: float, large: float) -> Array:
        """Aggregate (K, H, W) costs over the paths to every pixel from above, below, left and right."""
        ways: dict[bool, Array] = {}

        def scan(transposed: bool) -> None:
            given = np.ascontiguousarray(cost.transpose(0, 2, 1)) if transposed else cost
            ways[transposed] = _scan_rows(given, small, large)

        self.team.each(scan, (False, True))
        return ways[False] + ways[True].transpose(0, 2, 1)

    def cost(self, reading: Reading, weight: Array) -> Array:
        """Return ``weight sum_c rho`` of each pixel."""
        out = np.empty_like(weight)
        for rows in row_bands(weight.shape):
            e, _ = read(reading.residuals, reading.level[rows], rows.start)
            y = np.asarray(np.square(e) / reading.variance(rows), np.float32)
            out[rows] = weight[rows] * cost_of(y).sum(axis=0)
        return out

    def evidence(self, reading: Reading, factor: Array, weight: Array) -> tuple[Array, Array, Array]:
        """Return ``w``, ``g`` and the mean over the channels of ``e^2``.

        ``D`` is ``factor`` times the slope of the residuals by the level.
        """
        shape, channels = reading.level.shape, len(reading.residuals)
        e, d = np.empty((2, channels, *shape), np.float32)
        v, noise, w, g, power = np.zeros((5, *shape), np.float32)
        for rows in row_bands(shape):
            here, slope = read(reading.residuals, reading.level[rows], rows.start)
            v[rows] = reading.variance(rows)
            covariance, variance = reading.tables.at(reading.level[rows], 2, 3)
            relative = reading.relative_on(rows)
            share = relative * covariance / v[rows]
            noise[rows] = relative * variance - relative * covariance * share
            e[:, rows], d[:, rows] = here, factor[rows] * slope - here * share
        mean = [box(each * each, ALPHA_WINDOW) for each in d]
        for rows in row_bands(shape):
            over = weight[rows] / v[rows]
            for ec, dc, around in zip(e[:, rows], d[:, rows], mean, strict=True):
                square = ec * ec
                a = 1 - noise[rows] / np.maximum(around[rows], noise[rows] + np.float32(1e-30))
                r = a * over * weight_of(square / v[rows])
                power[rows] += square
                w[rows] += a * r * dc * dc
                g[rows] += r * ec * dc
        power /= channels
        return w, g, power

    def solve(self, grid: Grid, b: Array, steps: int, guess: Array | None = None) -> Array:
        """Return an approximate solution of a linear system after so many steps."""
        return solve_grid(grid, b, steps, guess)


class CompiledLoops(Loops):
    """The loops in C++.  Rows, columns and levels are shared between the threads; the answer does not depend on it."""

    def __init__(self, team: Team) -> None:
        from ..engines.compiled import kernels

        super().__init__(team)
        self._kernels = kernels()

    def _share(self, work: Callable[[int, int], None], length: int) -> None:
        """Run ``work(start, stop)`` on parts of a length."""
        ends = [length * n // self.team.workers for n in range(self.team.workers + 1)]
        self.team.each(lambda part: work(*part), pairwise(ends))

    def best_fit(self, residuals: Array, gain: Doubles) -> Array:
        """Return the least 5 x 5 mean of ``e_k^2 / gain_k`` over the levels."""
        scale, best = (1 / gain).astype(np.float32), np.empty(residuals.shape[2:], np.float32)
        self._share(lambda *rows: self._kernels.best_fit(residuals, scale, best, *rows), len(best))
        return best

    def cell_costs(self, residuals: Array, base: Array, gain: Doubles, weight: Array) -> Array:
        """Return the costs of the levels, summed over cells of 2 x 2 pixels: (K, rows, cols)."""
        cells = [-(-n // COST_CELL) for n in base.shape]
        scale, out = (1 / gain).astype(np.float32), np.empty((len(gain), *cells), np.float32)
        self._share(lambda *levels: self._kernels.cell_costs(residuals, base, scale, weight, out, *levels), len(gain))
        return out

    def scan(self, cost: Array, small: float, large: float) -> Array:
        """Aggregate (K, H, W) costs over the paths to every pixel from above, below, left and right."""
        total, (_, height, width) = np.empty_like(cost), cost.shape
        self._share(lambda *columns: self._kernels.scan_down(cost, total, small, large, *columns), width)
        self._share(lambda *rows: self._kernels.scan_across(cost, total, small, large, *rows), height)
        return total

    def cost(self, reading: Reading, weight: Array) -> Array:
        """Return ``weight sum_c rho`` of each pixel."""
        out = np.empty_like(weight)
        self._share(lambda *rows: self._kernels.cost(*_parts(reading), weight, out, *rows), len(out))
        return out

    def evidence(self, reading: Reading, factor: Array, weight: Array) -> tuple[Array, Array, Array]:
        """Return ``w``, ``g`` and the mean over the channels of ``e^2``."""
        out = np.empty((3, *weight.shape), np.float32)
        self._share(lambda *rows: self._kernels.evidence(*_parts(reading), factor, weight, out, *rows), len(weight))
        return out[0], out[1], out[2]

    def solve(self, grid: Grid, b: Array, steps: int, guess: Array | None = None) -> Array:
        """Return an approximate solution of a linear system after so many steps."""
        edges = [a.reshape(-1, *a.shape[-2:]) for a in (grid.weight, grid.right, grid.down, b)]
        out = np.empty_like(edges[-1])
        ties = {} if grid.ties is None else {"tie_down": grid.ties[0], "tie_right": grid.ties[1], "half": grid.half}
        self._kernels.solve(*edges, out, steps, self.team.workers, guess=guess, **ties)
        return out.reshape(b.shape)


def choose_loops(engine: str, team: Team) -> Loops:
    """Return the loops of an engine."""
    return CompiledLoops(team) if engine == "compiled" else Loops(team)


def _parts(reading: Reading) -> tuple[Array, Array, Array, Array | None, Array]:
    return reading.residuals, reading.level, reading.misfit, reading.relative, reading.tables.knots


def cost_of(y: Array) -> Array:
    """Return ``rho(y)``."""
    half = np.float32(0.5) * y
    return np.asarray(half / (1 + half / MOST_COST))


def weight_of(y: Array) -> Array:
    """Return the derivative of ``2 rho(y)``."""
    return np.asarray(1 / np.square(1 + np.float32(0.5) * y / MOST_COST))


def _scan_rows(cost: Array, small: float, large: float) -> Array:
    """Aggregate (K, H, W) costs along the rows axis, downwards and upwards.

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
