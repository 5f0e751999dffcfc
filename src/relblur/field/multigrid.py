"""Linear systems on the pixel grid, by conjugate gradients with a multigrid preconditioner.

``A = diag(w) + grad^T c grad``.  The prior couples pixels over hundreds of pixels, so a plain iteration needs
thousands of sweeps and a V-cycle a handful.  Coarse grids merge 2 x 2 pixels.  Information is summed.  The weights of
the edges between two blocks are summed and halved, because piecewise constant blocks make a slope twice as stiff.

The smoother is damped Jacobi, which is isotropic.  Dot products are accumulated in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .grid import ENDS, spread_difference, spread_sum

__all__ = ["Grid", "solve_grid"]

Array = NDArray[np.float32]

#: Jacobi damping; 0.8 is the optimum of the five-point operator.
DAMPING = np.float32(0.8)
#: Side of the coarsest grid, px, and the number of sweeps that solve it.
COARSEST, SWEEPS = 4, 8


@dataclass(frozen=True)
class Grid:
    """A linear system ``diag(w) + grad^T c grad`` on a grid.

    With ``ties`` it has three components, a map and its slopes along rows and columns, that are coupled on every edge.
    """

    weight: Array  #: (..., H, W), ``w``, positive
    right: Array  #: (..., H, W-1), ``c`` of the edge to the right
    down: Array  #: (..., H-1, W), ``c`` of the edge downwards
    ties: tuple[Array, Array] | None = None  #: (H-1, W) and (H, W-1)
    half: float = 0.0  #: half the distance of two grid points, px

    def diagonal(self) -> Array:
        """Return the diagonal of ``A``."""
        return self.weight + self.pull(np.ones_like(self.weight))

    def pull(self, x: Array) -> Array:
        """Return the sum of the neighbours of every pixel, each times the weight of its edge."""
        out = np.zeros_like(x)
        out[..., :-1] += self.right * x[..., 1:]
        out[..., 1:] += self.right * x[..., :-1]
        out[..., :-1, :] += self.down * x[..., 1:, :]
        out[..., 1:, :] += self.down * x[..., :-1, :]
        return out

    def coarser(self) -> Grid:
        """Return the grid of blocks of 2 x 2 pixels, without ties."""
        half = np.float32(0.5)
        right, down = _add_pairs(self.right[..., 1::2], -2), _add_pairs(self.down[..., 1::2, :], -1)
        return Grid(_add_blocks(self.weight), half * right, half * down)


def solve_grid(grid: Grid, b: Array, steps: int, guess: Array | None = None) -> Array:
    """Return an approximate solution of ``A x = b`` after ``steps`` preconditioned steps."""
    grids = [grid]
    while min(grids[-1].weight.shape[-2:]) > COARSEST:
        grids.append(grids[-1].coarser())
    diagonals = [each.diagonal() for each in grids]
    x = np.zeros_like(b) if guess is None else guess.copy()
    residual = b if guess is None else b - _multiply(grid, diagonals[0], x)
    before, direction = 0.0, x
    for step in range(steps):
        z = _cycle(grids, diagonals, residual)
        rz = _dot(residual, z)
        direction = z + np.float32(rz / before) * direction if step else z
        product = _multiply(grid, diagonals[0], direction)
        curvature = _dot(direction, product)
        if not curvature > 0 or not rz > 0:
            break
        alpha = np.float32(rz / curvature)
        x += alpha * direction
        residual = residual - alpha * product
        before = rz
    return x


def _multiply(grid: Grid, diagonal: Array, x: Array) -> Array:
    """Return ``A x``, with the ties of a map and its slopes."""
    out = diagonal * x - grid.pull(x)
    for axis, edge in enumerate(grid.ties or ()):
        near, far = ENDS[axis]
        tie = np.float32(grid.half) * edge
        spread_difference(-tie * (x[1 + axis][far] + x[1 + axis][near]), axis, out[0])
        spread_sum(-tie * (x[0][far] - x[0][near]), axis, out[1 + axis])
    return out


def _cycle(grids: list[Grid], diagonals: list[Array], b: Array) -> Array:
    """Return ``A^-1 b`` after one V-cycle."""
    grid, inverse, rest = grids[0], DAMPING / diagonals[0], 1 - DAMPING
    x = inverse * b
    if len(grids) > 1:
        below = _cycle(grids[1:], diagonals[1:], _add_blocks(rest * b + grid.pull(x)))
        height, width = b.shape[-2:]
        x += below.repeat(2, axis=-2).repeat(2, axis=-1)[..., :height, :width]
    for _ in range(1 if len(grids) > 1 else SWEEPS):
        x = rest * x + inverse * (b + grid.pull(x))
    return x


def _add_blocks(a: Array) -> Array:
    """Return the sums over blocks of 2 x 2 pixels."""
    return _add_pairs(_add_pairs(a, -2), -1)


def _add_pairs(a: Array, axis: int) -> Array:
    """Return the sums of pairs along an axis; the last of an odd number is not summed."""
    a = a.swapaxes(axis, -2)
    out = a[..., 0::2, :].copy()
    out[..., : a.shape[-2] // 2, :] += a[..., 1::2, :]
    return np.ascontiguousarray(out.swapaxes(axis, -2))


def _dot(a: Array, b: Array) -> float:
    return float(np.sum(a * b, dtype=np.float64))
