"""Linear systems on the pixel grid, by conjugate gradients with a multigrid preconditioner.

``A = diag(w) + grad^T c grad``.  The prior couples pixels over hundreds of pixels: a plain iteration would need
thousands of sweeps, a V-cycle needs a handful.  Coarse grids merge 2 x 2 pixels.  Information adds; the weights of the
edges between two blocks add and are halved, because piecewise constant blocks make a slope twice as stiff.

The smoother is damped Jacobi, which treats all directions alike.  Dot products are accumulated in float64 in a fixed
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from .edges import ENDS, spread_difference, spread_sum
from .windows import BAND, row_bands, sum_blocks

__all__ = ["Grid", "Multigrid", "conjugate_gradients", "solve_grid"]

Array = NDArray[np.float32]

#: Jacobi damping: 0.8 is the textbook optimum of the five-point operator.
DAMPING = np.float32(0.8)
_REST = np.float32(1 - DAMPING)
#: Side of the coarsest grid, px, and the number of sweeps that solve it.
COARSEST, SWEEPS = 4, 8


@dataclass(frozen=True)
class Grid:
    """A linear system ``diag(w) + grad^T c grad`` on a grid.

    Attributes
    ----------
    weight : (..., H, W)
        ``w``, positive.
    right, down : (..., H, W-1) and (..., H-1, W)
        ``c`` of the edge to the right and to the pixel below.
    ties : (H-1, W) and (H, W-1), optional
        What couples three components, a map and its slopes along rows and columns, on every edge.
    half : float
        Half the distance of two points.
    """

    weight: Array
    right: Array
    down: Array
    ties: tuple[Array, Array] | None = None
    half: float = 0.0


@dataclass(frozen=True)
class _Level:
    diagonal: Array
    inverse: Array  # damping / diagonal
    right: Array  # edges, as _add_neighbours wants them
    down: Array
    out: Array
    # All of these are flat; arrays come in this shape:
    shape: tuple[int, ...]

    def add_neighbours(self, x: Array, out: Array, start: int) -> None:
        _add_neighbours(self.right, self.down, self.shape[-1], x, out, start)


class Multigrid:
    """The operator of a grid, without its ties, and its coarse versions."""

    def __init__(self, grid: Grid) -> None:
        weight, right, down = grid.weight, grid.right, grid.down
        self._levels: list[_Level] = []
        while True:
            diagonal = weight.copy()
            diagonal[..., :, :-1] += right
            diagonal[..., :, 1:] += right
            diagonal[..., :-1, :] += down
            diagonal[..., 1:, :] += down
            edges = np.zeros((2, *weight.shape), np.float32)
            edges[0][..., :, :-1] = right
            edges[1][..., :-1, :] = down
            diagonal = diagonal.reshape(-1)
            flat = edges.reshape(2, -1)
            out = np.empty_like(diagonal)
            self._levels.append(_Level(diagonal, DAMPING / diagonal, flat[0], flat[1], out, weight.shape))
            if min(weight.shape[-2:]) <= COARSEST:
                break
            weight, right, down = _coarsen(weight, right, down)

    def multiply(self, x: Array) -> Array:
        """Return ``A x``."""
        level = self._levels[0]
        values, out = x.reshape(-1), np.empty(x.size, np.float32)

        for part in _pieces(x.size):
            here = out[part]
            np.multiply(level.diagonal[part], values[part], out=here)
            np.negative(here, out=here)
            level.add_neighbours(values, here, part.start)
            np.negative(here, out=here)
        return out.reshape(x.shape)

    def _cycle(self, depth: int, b: Array) -> Array:
        level = self._levels[depth]
        x = b * level.inverse
        if depth + 1 == len(self._levels):
            for _ in range(SWEEPS):
                self._sweep(level, b, x)
            return x

        for part in _pieces(x.size):
            out = np.multiply(b[part], _REST, out=level.out[part])  # b - diagonal x
            level.add_neighbours(x, out, part.start)
        coarse = self._levels[depth + 1].shape
        below = self._cycle(depth + 1, sum_blocks(level.out.reshape(level.shape)).reshape(-1))
        _add_blocks(below.reshape(coarse), x.reshape(level.shape))
        self._sweep(level, b, x)
        return x

    def _sweep(self, level: _Level, b: Array, x: Array) -> None:
        """Smooth once: ``x + damping (b - A x) / diagonal``."""
        for part in _pieces(x.size):
            out = level.out[part]
            out[...] = b[part]
            level.add_neighbours(x, out, part.start)
            out *= level.inverse[part]
        for part in _pieces(x.size):
            _add_multiple(_REST, x[part], level.out[part], x[part])

    def precondition(self, b: Array) -> Array:
        """Return ``A^-1 b`` after one V-cycle."""
        return self._cycle(0, b.reshape(-1)).reshape(b.shape)


def solve_grid(grid: Grid, b: Array, steps: int, guess: Array | None = None) -> Array:
    """Return an approximate solution of the system of a grid after ``steps`` preconditioned steps."""
    untied = Multigrid(grid)
    multiply = untied.multiply if grid.ties is None else _tied(untied, grid.ties, np.float32(grid.half))
    if guess is None:
        return conjugate_gradients(multiply, untied.precondition, b, steps)
    return guess + conjugate_gradients(multiply, untied.precondition, b - multiply(guess), steps)


def _tied(untied: Multigrid, ties: tuple[Array, Array], half: np.float32) -> Callable[[Array], Array]:
    """Return the product with the system of a map and its slopes."""

    def multiply(x: Array) -> Array:
        out = untied.multiply(x)
        for axis, edge in enumerate(ties):
            near, far = ENDS[axis]
            p = x[1 + axis]
            spread_difference(-half * edge * (p[far] + p[near]), axis, out[0])
            spread_sum(-half * edge * (x[0][far] - x[0][near]), axis, out[1 + axis])
        return out

    return multiply


def conjugate_gradients(
    multiply: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    b: Array,
    steps: int,
) -> Array:
    """Return an approximate solution of ``A x = b``; both functions must be symmetric and positive."""
    x = np.zeros_like(b)
    residual = b.copy()
    z = precondition(residual)
    direction = z.copy()
    rz = _dot(residual, z)
    for step in range(steps):
        a_direction = multiply(direction)
        curvature = _dot(direction, a_direction)
        if not curvature > 0 or not rz > 0:
            break
        alpha = np.float32(rz / curvature)
        _add(x, alpha, direction)
        if step + 1 == steps:
            break
        _add(residual, -alpha, a_direction)
        z = precondition(residual)
        rz_new = _dot(residual, z)
        _turn(direction, rz_new / rz, z)
        rz = rz_new
    return x


def _pieces(size: int) -> Iterator[slice]:
    """Yield pieces of flat arrays that stay in the processor's cache."""
    for start in range(0, size, BAND):
        yield slice(start, min(start + BAND, size))


def _add(x: Array, factor: np.float32, y: Array) -> None:
    """Add ``factor`` times ``y`` to ``x``."""
    total, other = x.reshape(-1), y.reshape(-1)
    for part in _pieces(total.size):
        _add_multiple(factor, other[part], total[part], total[part])


def _turn(direction: Array, factor: float, z: Array) -> None:
    """Replace a direction by ``factor`` times itself plus ``z``."""
    old, new = direction.reshape(-1), z.reshape(-1)
    for part in _pieces(old.size):
        _add_multiple(factor, old[part], new[part], old[part])


def _dot(a: Array, b: Array) -> float:
    # Rows in float32, then in float64.
    one, two = a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1])
    sums = np.empty(len(one), np.float32)

    for rows in row_bands(one.shape):
        np.einsum("yx,yx->y", one[rows], two[rows], out=sums[rows])
    return float(np.sum(sums.reshape(a.shape[:-1]), dtype=np.float64))


def _add_blocks(coarse: Array, x: Array) -> None:
    """Add to each pixel the value of its 2 x 2 block."""
    height, width = x.shape[-2:]
    wide = np.empty((*coarse.shape[:-1], width), np.float32)
    wide[..., 0::2] = coarse
    wide[..., 1::2] = coarse[..., : width // 2]
    x[..., 0::2, :] += wide
    x[..., 1::2, :] += wide[..., : height // 2, :]


def _coarsen(weight: Array, right: Array, down: Array) -> tuple[Array, Array, Array]:
    half = np.float32(0.5)
    across = right[..., :, 1::2]
    across = across[..., :, : (weight.shape[-1] + 1) // 2 - 1]
    if across.shape[-2] % 2:
        across = np.concatenate([across, np.zeros_like(across[..., :1, :])], axis=-2)
    along = down[..., 1::2, :]
    along = along[..., : (weight.shape[-2] + 1) // 2 - 1, :]
    if along.shape[-1] % 2:
        along = np.concatenate([along, np.zeros_like(along[..., :, :1])], axis=-1)
    return (
        sum_blocks(weight),
        np.asarray(half * (across[..., 0::2, :] + across[..., 1::2, :])),
        np.asarray(half * (along[..., :, 0::2] + along[..., :, 1::2])),
    )


def _add_neighbours(right: Array, down: Array, width: int, x: Array, out: Array, start: int = 0) -> None:
    """Add to ``out`` the neighbours of every pixel on the last two axes, each times the weight of its edge.

    ``right``, ``down`` and ``x`` are flat, with rows of ``width``; ``out`` is the piece from ``start`` on.  The weights
    are 0 in the last column and row: what lies behind a row's end in memory then counts nothing, and all is arithmetic
    on lines of numbers.
    """
    size, stop = x.size, start + out.size
    for weight, distance in ((right, 1), (down, width)):
        last = min(stop, size - distance)
        if start < last:
            _add_product(weight[start:last], x[start + distance : last + distance], out[: last - start])
        first = max(start, distance)
        if first < stop:
            behind = slice(first - distance, stop - distance)
            _add_product(weight[behind], x[behind], out[first - start :])


def _add_product(a: Array, b: Array, out: Array) -> None:
    """Add ``a b`` to a contiguous array."""
    cv2.accumulateProduct(a, b, out)


def _add_multiple(factor: float | np.float32, a: Array, b: Array, out: Array) -> None:
    """Write ``factor a + b`` to a contiguous array, which may be one of them."""
    cv2.scaleAdd(a, float(factor), b, dst=out)
