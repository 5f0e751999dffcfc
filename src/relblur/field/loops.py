"""The loops over pixels and levels that take most of the time.

:class:`Loops` is the reference in NumPy.  :class:`CompiledLoops` computes the same in C++ (``src/kernels``), to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..kernels.compiled import kernels
from ..kernels.threads import Team
from .axis import read
from .grid import box, box_any, window_sizes
from .multigrid import Grid, solve_grid
from .noise import Tables

__all__ = ["CompiledLoops", "Loops", "Reading", "choose_loops", "cost_of"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Largest cost ``c`` of a residual, nats; it halves the weight at 3 standard deviations.
MOST_COST = np.float32(12)
#: Sides of the windows of the mean of ``D^2`` in ``a``, and of the best fit, px.
ALPHA_WINDOW, FIT_WINDOW = 7, 5


@dataclass(frozen=True)
class Reading:
    """Residuals, the map of levels at which they are interpolated, and the parts of their variance."""

    residuals: Array  #: (channels, K, H, W)
    level: Array  #: (H, W)
    misfit: Array  #: (H, W)
    relative: Array | None  #: relative variance of the noise at each pixel
    tables: Tables

    @property
    def at_pixels(self) -> Array | np.float32:
        """The relative variance, or 1."""
        return np.float32(1) if self.relative is None else self.relative

    def variance(self) -> Array:
        """Return ``v``."""
        own, passed = self.tables.at(self.level, 0, 1)
        return np.asarray(np.maximum(self.misfit, self.at_pixels * own) + self.at_pixels * passed)


class Loops:
    """The loops in NumPy and OpenCV; ``team`` shares the work."""

    def __init__(self, team: Team | None = None) -> None:
        self.team = team or Team(1)

    def best_fit(self, residuals: Array, gain: Doubles) -> Array:
        """Return the least 5 x 5 mean of ``e_k^2 / gain_k`` over the levels.

        The division removes the preference for large blur, which averages the noise.
        """
        best = np.full(residuals.shape[2:], np.inf, np.float32)
        for k in range(len(gain)):
            power = box(np.square(residuals[:, k]).mean(axis=0), FIT_WINDOW)
            np.minimum(best, power * np.float32(1 / gain[k]), out=best)
        return best

    def scan(self, cost: Array, small: float, large: float) -> Array:
        """Aggregate (K, H, W) costs over the paths to every pixel from above, below, left and right."""
        across = np.ascontiguousarray(cost.transpose(0, 2, 1))
        return _scan_rows(cost, small, large) + _scan_rows(across, small, large).transpose(0, 2, 1)

    def read(self, residuals: Array, level: Array) -> tuple[Array, Array]:
        """Return value and derivative by the level of (C, K, H, W) residuals at a map of levels, each (C, H, W)."""
        return read(residuals, level)

    def cost(self, reading: Reading, weight: Array) -> Array:
        """Return ``weight sum_c rho`` of each pixel."""
        e, _ = read(reading.residuals, reading.level)
        y = np.asarray(np.square(e) / reading.variance(), np.float32)
        return np.asarray(weight * cost_of(y).sum(axis=0))

    def evidence(self, reading: Reading, factor: Array, weight: Array) -> tuple[Array, Array, Array]:
        """Return ``w``, ``g`` and the mean over the channels of ``e^2``.

        ``D`` is ``factor`` times the slope of the residuals by the level.
        """
        residual, slope = read(reading.residuals, reading.level)
        v = reading.variance()
        covariance, variance = (reading.at_pixels * table for table in reading.tables.at(reading.level, 2, 3))
        noise = variance - covariance * covariance / v
        w, g = np.zeros((2, *weight.shape), np.float32)
        for e, by_level in zip(residual, slope, strict=True):
            d = factor * by_level - e * (covariance / v)
            a = 1 - noise / np.maximum(box(d * d, ALPHA_WINDOW), noise + np.float32(1e-30))
            r = a * weight / v / np.square(1 + np.float32(0.5) * e * e / v / MOST_COST)
            w += a * r * d * d
            g += r * e * d
        return w, g, np.square(residual).mean(axis=0)

    def posterior_variance(self, w: Array, mu: Array) -> Array:
        """Return ``V = min over l of 1 / (l^2 mean_l w) + l^2 / (256 mu)``."""
        best, bend = np.full_like(w, np.inf), 1 / (256 * mu)
        for size in window_sizes(w.shape):
            area = np.float32(size * size)
            information = area * np.maximum(box_any(w, size), 0)
            np.minimum(best, 1 / (information + np.float32(1e-6)) + area * bend, out=best)
        return best

    def solve(self, grid: Grid, b: Array, steps: int, guess: Array | None = None) -> Array:
        """Return an approximate solution of a linear system after a given number of steps."""
        return solve_grid(grid, b, steps, guess)


class CompiledLoops(Loops):
    """The loops in C++; the threads share rows, columns or levels, and the result does not depend on their number."""

    def __init__(self, team: Team | None = None) -> None:
        super().__init__(team)
        self._kernels = kernels()

    def _share(self, work: Callable[[int, int], None], length: int) -> None:
        """Run ``work(start, stop)`` on equal parts of a length, one for each thread."""
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
        variances: list[Array] = []

        def least_variance(sizes: list[int]) -> None:
            best = np.full_like(w, np.inf)
            for size in sizes:
                self._kernels.window_variance(w, mu, size, best)
            variances.append(best)

        sizes, workers = window_sizes(w.shape), self.team.workers
        self.team.each(least_variance, [sizes[n::workers] for n in range(workers)])
        return np.minimum.reduce(variances)

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


def cost_of(y: Array) -> Array:
    """Return ``rho(y)``."""
    half = np.float32(0.5) * y
    return np.asarray(half / (1 + half / MOST_COST))


def _none(axes: int) -> Array:
    """Return an empty array, which stands for None in compiled functions."""
    return np.empty((0,) * axes, np.float32)


def _parts(reading: Reading) -> tuple[Array, Array, Array, Array, Array]:
    relative = _none(2) if reading.relative is None else reading.relative
    return reading.residuals, reading.level, reading.misfit, relative, reading.tables.knots


def _scan_rows(cost: Array, small: float, large: float) -> Array:
    """Aggregate (K, H, W) costs along the rows axis, downwards and upwards.

    ``L(y) = cost(y) + min(L(y-1), L(y-1) of the next level + small, min L(y-1) + large) - min L(y-1)``
    is computed for all columns at once. The sums of the two directions are added.
    """
    total = np.zeros_like(cost)
    for rows in (range(cost.shape[1]), range(cost.shape[1])[::-1]):
        path = np.zeros((cost.shape[0], cost.shape[2]), np.float32)
        for y in rows:
            path -= path.min(axis=0)
            best, raised = np.minimum(path, np.float32(large)), path + np.float32(small)
            np.minimum(best[1:], raised[:-1], out=best[1:])
            np.minimum(best[:-1], raised[1:], out=best[:-1])
            path = best + cost[:, y]
            total[:, y] += path
    return total
