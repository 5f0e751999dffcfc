"""The loops over pixels and levels that take most of the time.

:class:`Loops` is written to be read, and defines the answer.  :class:`CompiledLoops` computes the same in C++
(``src/kernels``), to rounding.  The rest of the solver does not know which of them it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from ..kernels.compiled import kernels
from ..kernels.threads import Team
from .axis import read
from .edges import CUT, Edges, between, spread_difference, unexplained
from .multigrid import Grid, solve_grid
from .noise import Tables
from .windows import box, box_any, pairs, row_bands, window_sizes

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

    def __init__(self, team: Team | None = None) -> None:
        self.team = team or Team(1)

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
            out[k] = pairs(box(cost, COST_WINDOW)) * np.float32(COST_CELL**2)

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

    def sublevel(self, cost: Array) -> Array:
        """Return the fractional level of least cost (K, H, W), by equal slopes on both sides of the minimum."""
        k = np.clip(np.asarray(cost.argmin(axis=0)), 1, cost.shape[0] - 2)[None]
        here = np.take_along_axis(cost, k, 0)[0]
        below = np.take_along_axis(cost, k - 1, 0)[0] - here
        above = np.take_along_axis(cost, k + 1, 0)[0] - here
        steeper = np.maximum(np.maximum(below, above), np.float32(1e-6))
        return np.asarray(k[0] + np.clip((below - above) / (2 * steeper), -0.5, 0.5), np.float32)

    def read(self, residuals: Array, level: Array) -> tuple[Array, Array]:
        """Return value and derivative by the level of (C, K, H, W) residuals at a map of levels, each (C, H, W)."""
        return read(residuals, level)

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

    def posterior_variance(self, w: Array, mu: Array) -> Array:
        """Return ``V = min over l of 1 / (l^2 mean_l w) + l^2 / (256 mu)``."""
        best, bend = np.full_like(w, np.inf), 1 / (256 * mu)
        for size in window_sizes(w.shape):
            area = np.float32(size * size)
            variance = np.maximum(box_any(w, size), 0)
            variance *= area
            variance += np.float32(1e-6)
            np.divide(1, variance, out=variance)
            variance += area * bend
            np.minimum(best, variance, out=best)
        return best

    def link(self, z: Array, slope: Array, tau2: Array) -> Edges:
        """Return the edges of a map: the steps that its slopes do not explain, and ``h``."""
        d = unexplained(z, slope, 0), unexplained(z, slope, 1)
        h = [np.maximum(np.exp(-2 * step * step / between(tau2, axis)), CUT) for axis, step in enumerate(d)]
        return Edges(d, (h[0], h[1]))

    def pull(self, z: Array, slope: Array, lam: Array, edges: Edges) -> tuple[Array, Array, Array]:
        """Return the weights ``lambda h`` of the edges along rows and columns, and their force on the map."""
        force, weights = np.zeros_like(z), []
        for axis, h in enumerate(edges.h):
            weights.append(between(lam, axis) * h)
            spread_difference(-weights[axis] * unexplained(z, slope, axis), axis, force)
        return weights[0], weights[1], force

    def filter(self, image: Array, kernel: Doubles) -> Array:
        """Return a plane filtered along rows and columns by a symmetric kernel, mirrored at the border."""
        radius = len(kernel) // 2
        if radius <= min(image.shape):
            return np.asarray(cv2.sepFilter2D(image, cv2.CV_32F, kernel, kernel, borderType=cv2.BORDER_REFLECT))
        padded = np.pad(image, radius, mode="symmetric")
        return np.asarray(cv2.sepFilter2D(padded, cv2.CV_32F, kernel, kernel)[radius:-radius, radius:-radius])

    def solve(self, grid: Grid, b: Array, steps: int, guess: Array | None = None) -> Array:
        """Return an approximate solution of a linear system after a given number of steps."""
        return solve_grid(grid, b, steps, guess)


class CompiledLoops(Loops):
    """The loops in C++.  Rows, columns and levels are shared between the threads; the answer does not depend on it."""

    def __init__(self, team: Team | None = None) -> None:
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

    def scan(self, cost: Array, small: float, large: float) -> Array:
        """Aggregate (K, H, W) costs over the paths to every pixel from above, below, left and right."""
        total, (_, height, width) = np.empty_like(cost), cost.shape
        self._share(lambda *columns: self._kernels.scan_down(cost, total, small, large, *columns), width)
        self._share(lambda *rows: self._kernels.scan_across(cost, total, small, large, *rows), height)
        return total

    def read(self, residuals: Array, level: Array) -> tuple[Array, Array]:
        """Return value and derivative by the level of (C, K, H, W) residuals at a map of levels, each (C, H, W)."""
        value, slope = np.empty((2, len(residuals), *level.shape), np.float32)
        self._share(lambda *rows: self._kernels.read(residuals, level, value, slope, *rows), len(level))
        return value, slope

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

    def posterior_variance(self, w: Array, mu: Array) -> Array:
        """Return ``V = min over l of 1 / (l^2 mean_l w) + l^2 / (256 mu)``."""
        found: list[Array] = []

        def look(sizes: list[int]) -> None:
            best = np.full_like(w, np.inf)
            for size in sizes:
                self._kernels.window_variance(w, mu, size, best)
            found.append(best)

        sizes, workers = window_sizes(w.shape), self.team.workers
        self.team.each(look, [sizes[n::workers] for n in range(workers)])
        return np.minimum.reduce(found)

    def solve(self, grid: Grid, b: Array, steps: int, guess: Array | None = None) -> Array:
        """Return an approximate solution of a linear system after a given number of steps."""
        edges = [a if a.ndim == 3 else a[None] for a in (grid.weight, grid.right, grid.down, b)]
        out = np.empty_like(edges[-1])
        down, right = grid.ties or (_none(2), _none(2))
        guess = _none(3) if guess is None else guess.reshape(out.shape)
        self._kernels.solve(*edges, out, steps, right, down, grid.half, guess)
        return out.reshape(b.shape)


def choose_loops(engine: str, team: Team) -> Loops:
    """Return the loops of an engine."""
    return CompiledLoops(team) if engine == "compiled" else Loops(team)


def _none(axes: int) -> Array:
    """Return what stands for no array in the compiled functions."""
    return np.empty((0,) * axes, np.float32)


def _parts(reading: Reading) -> tuple[Array, Array, Array, Array, Array]:
    relative = _none(2) if reading.relative is None else reading.relative
    return reading.residuals, reading.level, reading.misfit, relative, reading.tables.knots


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
