"""The compiled loops behind functions of whole arrays: memory, threads, and what NumPy does best.

An instance serves one estimate.  It keeps its work arrays from step to step: touching new memory costs more than
most of the loops.  Exponentials and hyperbolic functions are left to NumPy, block by block: its are as fast, and
the levels and edges come out as they do without compiled code, digit for digit.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ....engines import compile_cache
from ....filters.level_axis import STEP
from ..averages import box, box_any
from ..likelihood.likelihood import ALPHA
from ..prior.coordinate import TRUST
from ..prior.prior import CUT, Edges, Pull, window_sizes
from ..prior.slope import CELL
from . import coordinate, evidence, labels, prior
from . import vcycle as multigrid
from .grid import Grid, scratch

if TYPE_CHECKING:
    from ....filters.level_axis import LevelAxis
    from ..likelihood.noise import ResidualNoise
    from ..likelihood.stack import ResidualStack
    from ..team import ThreadTeam

__all__ = ["CALLS", "CompiledLoops", "make_loops"]

Array = NDArray[np.float32]

_MODULES = (multigrid, coordinate, evidence, labels, prior)
#: Every function that is compiled, with the types it is called with.
CALLS = [(function, signature.args) for module in _MODULES for function, signature in module.SIGNATURES]


def _span(rows: slice) -> tuple[int, int]:
    return rows.start, rows.stop


def _extent(a: Array) -> tuple[int, int]:
    """Return what decides how the rows of an array are shared out."""
    return a.shape[0], a.size


def _size_of(stack: ResidualStack) -> tuple[int, int]:
    return stack.residuals.shape[2], stack.residuals.shape[3]


def _index(a: Array) -> NDArray[np.uint64]:
    """Return scratch for one thread: a row of indices."""
    return np.empty(a.shape[-1], np.uint64)


def _packed(noise: ResidualNoise) -> tuple[Array, Array]:
    """Return the tables over the levels, and those over finer levels."""
    tables = noise.tables
    return (
        np.array([tables.own, tables.passed], np.float32),
        np.array([tables.in_ed, tables.in_dd], np.float32),
    )


class CompiledLoops:
    """The engine ``"numba"`` of the refined estimator."""

    def __init__(self, team: ThreadTeam) -> None:
        self.team = team
        self._kept: dict[Any, Any] = {}

    def _keep(self, name: str, *shape: int) -> Array:
        """Return an array that is this one's next time, too: for what does not leave this class."""
        key = (name, shape)
        if key not in self._kept:
            self._kept[key] = np.empty(shape, np.float32)
        return self._kept[key]

    # -- the stack ----------------------------------------------------------------------------------------------------

    def _levels(self, stack: ResidualStack, s: Array, rows: slice, level: Array) -> None:
        level[rows] = stack.axis.level_of(s[rows])

    def evidence(
        self, stack: ResidualStack, noise: ResidualNoise, s: Array, misfit: Array, weight: Array, trust: Array
    ) -> tuple[Array, Array, Array]:
        """Return information, score and power at a map."""
        shape = (stack.residuals.shape[0], *s.shape)
        e, d, means = (self._keep(name, *shape) for name in ("e", "d", "d2"))
        level = self._keep("level", *s.shape)
        slope = [np.float32(number) for number in stack.axis.slope]
        tables = (*_packed(noise), noise.relative)
        noisy = noise.noisy

        def read(rows: slice) -> None:
            self._levels(stack, s, rows, level)
            evidence.read(stack.residuals, level, s, *slope, rows.start, rows.stop, _index(s), scratch(s), e, d)
            if noisy:
                evidence.whiten(e, level, misfit, *tables, rows.start, rows.stop, d, means)

        self.team.share_rows(read, s.shape[0], s.size)
        if noisy:
            for plane in means:
                plane[...] = box(plane, ALPHA)
        out = tuple(np.empty_like(s) for _ in range(3))
        share = np.float32(stack.gain.independent)

        def weigh(rows: slice) -> None:
            evidence.weigh(e, d, means, level, misfit, weight, trust, share, *tables, noisy, *_span(rows), *out)

        self.team.share_rows(weigh, s.shape[0], s.size)
        return out[0], out[1], out[2]

    def deflate(self, square: Array, mean: Array, w: Array, g: Array) -> Array:
        """Divide information and score by the sandwich ratio; return it."""
        ratio = np.empty_like(w)
        self.team.share_rows(lambda rows: evidence.deflate(square, mean, *_span(rows), w, g, ratio), w.shape[0], w.size)
        return ratio

    def leave_out(self, power: Array, ceiling: Array, w: Array, variance: Array) -> Array:
        """Return ``e^2`` as it would be without each pixel's own datum."""
        out = np.empty_like(w)
        self.team.share_rows(
            lambda rows: evidence.leave_out(power, ceiling, w, variance, *_span(rows), out), w.shape[0], w.size
        )
        return out

    def settle(
        self,
        stack: ResidualStack,
        noise: ResidualNoise,
        s: Array,
        near: Array,
        far: Array,
        ceiling: Array,
        misfit: Array,
    ) -> None:
        """Overwrite the misfit."""
        level, tables = self._keep("level", *s.shape), _packed(noise)[0]

        def fill(rows: slice) -> None:
            if noise.noisy:
                self._levels(stack, s, rows, level)
            evidence.settle(near, far, ceiling, level, tables, noise.relative, noise.noisy, *_span(rows), misfit)

        self.team.share_rows(fill, s.shape[0], s.size)

    def variance(self, stack: ResidualStack, noise: ResidualNoise, s: Array, misfit: Array) -> Array:
        """Return the variance of the residual at a map."""
        level, out = self._keep("level", *s.shape), np.empty_like(s)
        tables = _packed(noise)[0]

        def fill(rows: slice) -> None:
            self._levels(stack, s, rows, level)
            evidence.variance(level, misfit, tables, noise.relative, noise.noisy, rows.start, rows.stop, out)

        self.team.share_rows(fill, s.shape[0], s.size)
        return out

    def cost(self, stack: ResidualStack, s: Array, weight: Array, variance: Array, inflation: Array) -> Array:
        """Return the saturating cost of a map."""
        level, out = self._keep("level", *s.shape), np.empty_like(s)
        share = np.float32(stack.gain.independent)

        def fill(rows: slice) -> None:
            self._levels(stack, s, rows, level)
            evidence.cost(
                stack.residuals, level, weight, variance, inflation, share, *_span(rows), _index(s), scratch(s), out
            )

        self.team.share_rows(fill, s.shape[0], s.size)
        return out

    def best_fit(self, stack: ResidualStack, factors: NDArray[np.float64]) -> Array:
        """Return the least 5 x 5 mean of ``e^2`` times a factor of the level."""
        out: Array = np.empty(_size_of(stack), np.float32)
        knots = factors.astype(np.float32)
        self.team.share_rows(
            lambda rows: labels.best_fit(stack.residuals, knots, *_span(rows), scratch(out, 4), out),
            out.shape[0],
            out.size,
        )
        return out

    # -- the coordinate -----------------------------------------------------------------------------------------------

    def place(self, z: Array, is_sigma: bool, axis: LevelAxis) -> tuple[Array, Array]:
        """Return ``s`` of a map, and the change of ``z`` that goes with a relative change of blur by 1."""
        s, scale = (np.empty_like(z) if is_sigma else z), np.empty_like(z)
        step, curved, softening = axis.slope
        law = [np.float32(number) for number in (step / STEP, curved, softening)]
        self.team.share_rows(lambda rows: coordinate.place(z, is_sigma, *law, *_span(rows), s, scale), *_extent(z))
        return s, scale

    def carry(self, w: Array, g: Array, z: Array) -> tuple[Array, Array]:
        """Return information and score of ``sigma`` from those of ``s``."""
        out = np.empty_like(w), np.empty_like(g)
        self.team.share_rows(lambda rows: coordinate.carry(w, g, z, *_span(rows), *out), z.shape[0], z.size)
        return out

    def move(self, z: Array, delta: Array, scale: Array, limits: tuple[float, float]) -> Array:
        """Return the map after a step of at most ``TRUST`` times ``scale``, within limits."""
        out = np.empty_like(z)
        low, high = map(np.float32, limits)
        self.team.share_rows(
            lambda rows: coordinate.move(z, delta, scale, TRUST, low, high, *_span(rows), out), *_extent(z)
        )
        return out

    def neighbour_plane(
        self, z: Array, slope: Array, offset: tuple[int, int], limits: tuple[float, float], is_sigma: bool
    ) -> tuple[Array, Array]:
        """Return the plane of a neighbour continued to each pixel, and the ``s`` of it."""
        candidate, s = self._keep("candidate", *z.shape), self._keep("candidate s", *z.shape)
        low, high = map(np.float32, limits)

        def fill(rows: slice) -> None:
            coordinate.neighbour_plane(z, slope, *offset, low, high, is_sigma, rows.start, rows.stop, candidate, s)

        self.team.share_rows(fill, z.shape[0], z.size)
        return candidate, s

    # -- labels -------------------------------------------------------------------------------------------------------

    def label_cost(self, stack: ResidualStack, weight: Array, base: Array, ratio: NDArray[np.float64]) -> Array:
        """Return the costs of the levels on cells of 2 x 2 pixels."""
        _, levels, height, width = stack.residuals.shape
        over = np.asarray(0.5 / base, np.float32)
        out = np.empty((levels, -(-height // 2), -(-width // 2)), np.float32)
        factors = (1 / ratio).astype(np.float32)
        self.team.share_rows(
            lambda some: labels.label_cost(
                stack.residuals, weight, over, factors, *_span(some), scratch(weight, 4), out
            ),
            levels,
            out.size,
        )
        return out

    def change_on_cells(self, stack: ResidualStack, k: int) -> Array:
        """Return the sum over channels and cells of 2 x 2 pixels of ``(e_k+1 - e_k)^2``."""
        height, width = _size_of(stack)
        out: Array = np.empty((-(-height // 2), -(-width // 2)), np.float32)
        labels.change_on_cells(stack.residuals, k, out)
        return out

    def scan(self, cost: Array, small: float, large: float) -> Array:
        """Return the costs aggregated along rows and columns, both ways."""
        levels, height, width = cost.shape
        p1, p2 = np.float32(small), np.float32(large)
        total = np.empty_like(cost)
        transposed, across = (np.empty((levels, width, height), np.float32) for _ in range(2))

        def transpose(some: slice) -> None:
            for k in range(some.start, some.stop):
                cv2.transpose(cost[k], dst=transposed[k])

        def scan(task: tuple[Array, Array, int, int]) -> None:
            given, out, first, last = task
            paths = np.empty((3, levels, last - first), np.float32)
            labels.scan(given, p1, p2, first, last, paths, out)

        def add(some: slice) -> None:
            for k in range(some.start, some.stop):
                total[k] += cv2.transpose(across[k])

        self.team.share_rows(transpose, levels, cost.size)
        # Long rows are read fastest: as few pieces as there are threads for.
        parts = max(self.team.workers // 2, 1)
        tasks = []
        for given, out in ((cost, total), (transposed, across)):
            edges = np.linspace(0, given.shape[2], parts + 1).astype(int).tolist()
            tasks += [(given, out, first, last) for first, last in pairwise(edges)]
        self.team.each(scan, tasks)
        self.team.share_rows(add, levels, cost.size)
        return total

    def sublevel(self, total: Array, tie: Array) -> Array:
        """Return the fractional level of least cost."""
        out = np.empty((total.shape[1], total.shape[2]), np.float32)
        self.team.share_rows(
            lambda rows: labels.sublevel(total, tie, *_span(rows), scratch(out), out), out.shape[0], total.size
        )
        return out

    # -- the prior ----------------------------------------------------------------------------------------------------

    def link(self, z: Array, slope: Array, variance: Array, mu: Array, tolerance: Array) -> Edges:
        """Return the unexplained steps to the right and below, and how far each edge is cut; lent."""
        height, width = z.shape
        right, down = (height, width - 1), (height - 1, width)
        out = tuple(self._keep(f"link {i}", *shape) for i, shape in enumerate((right, down, right, down)))

        def fill(rows: slice) -> None:
            prior.link(z, slope, variance, mu, tolerance, *_span(rows), scratch(z), *out)
            for cut in out[2:]:
                part = cut[rows]
                np.exp(part, out=part)
                np.maximum(part, CUT, out=part)

        self.team.share_rows(fill, height, z.size)
        return Edges(*out)

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
        """Return the Gauss-Newton step."""
        grid = self._grid((1, *w.shape))
        out = (grid.weight[0], grid.right[0], grid.down[0], grid.b[0])
        pulled, level = (w, np.float32(0)) if pull is None else pull
        cuts = (edges.cut_right, edges.cut_down)

        def fill(rows: slice) -> None:
            prior.pull(z, slope, w, g, pulled, level, pull is not None, variance, *cuts, *_span(rows), scratch(w), *out)

        self.team.share_rows(fill, w.shape[0], w.size)
        return grid.solve(steps)[0]

    def cells(
        self, z: Array, w: Array, g: Array, edges: Edges, variance: Array, mu: Array
    ) -> tuple[tuple[Array, Array, Array, Array, Array], tuple[Array, Array, Array, Array]]:
        """Return what cells say, and the ways between them."""
        rows, cols = -(-z.shape[0] // CELL), -(-z.shape[1] // CELL)
        sums = np.empty((5, rows, cols), np.float32)
        shapes = ((rows, cols - 1), (rows, cols - 1), (rows - 1, cols), (rows - 1, cols))
        ways = tuple(np.empty(shape, np.float32) for shape in shapes)

        def fill(some: slice) -> None:
            lines = scratch(z, CELL)
            prior.sum_cells(w, g, variance, mu, z, *_span(some), lines, sums)
            prior.paths(z, edges.cut_right, edges.cut_down, *_span(some), lines, *ways)

        self.team.share_rows(fill, rows, z.size)
        return (sums[0], sums[1], sums[2], sums[3], sums[4]), (ways[0], ways[1], ways[2], ways[3])

    def solve_slopes(
        self, blocks: tuple[Array, Array, Array], tie: tuple[Array, Array], b: Array, start: Array, steps: int
    ) -> Array:
        """Return the map and the slopes of the cells that solve the coupled system."""
        grid = self._grid((3, *start.shape[1:]))
        for to, given in zip((grid.weight, grid.right, grid.down, grid.b), (*blocks, b), strict=True):
            to[...] = given
        return grid.solve(steps, start, (*tie, CELL / 2))

    def _grid(self, shape: tuple[int, ...]) -> Grid:
        if shape not in self._kept:
            self._kept[shape] = Grid(shape, self.team)
        return self._kept[shape]

    def posterior_variance(self, w: Array, mu: Array) -> Array:
        """Return the error of the best window."""
        sizes = window_sizes(w.shape)
        means, out = self._keep("means", len(sizes), *w.shape), np.empty_like(w)

        def average(i: int) -> None:
            box_any(w, sizes[i], means[i])

        self.team.each(average, range(len(sizes)))
        areas = np.square(np.array(sizes, np.float32))
        self.team.share_rows(
            lambda rows: prior.least_variance(means, areas, mu, rows.start, rows.stop, out), *_extent(w)
        )
        return out

    def block_sums(self, w: Array, g: Array, scale: Array, side: int) -> NDArray[np.float64]:
        """Return the sums of ``g``, ``w`` and ``w scale^2`` over blocks."""
        out = np.empty((3, -(-w.shape[0] // side), -(-w.shape[1] // side)))
        self.team.share_rows(
            lambda rows: prior.block_sums(w, g, scale, side, rows.start, rows.stop, out), out.shape[1], w.size
        )
        return out


def make_loops(team: ThreadTeam) -> CompiledLoops:
    """Return the loops of one estimate; load all compiled code from the disk, or compile it."""
    compile_cache.prepare(CALLS)
    return CompiledLoops(team)
