"""Solve ``(w + sum over edges of c (x_i - x_j)^2) -> A x = b`` by multigrid-preconditioned conjugate gradients.

``A = diag(w) + grad^T c grad`` on the pixel grid.  The prior couples pixels over hundreds of pixels, so a plain
iteration would need thousands of sweeps; a V-cycle needs a handful.  Coarse grids merge 2 x 2 pixels: information adds,
the weights of the edges that cross between two blocks add and are halved (piecewise constant blocks make a slope look
twice as stiff as it is, because its whole rise falls on the one edge between two blocks).

The smoother is damped Jacobi: unlike Gauss-Seidel it treats all directions alike, so that flipped and transposed images
give flipped and transposed answers, and it is whole-array arithmetic.  Dot products are accumulated in float64 in a
fixed order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import engine

Array = NDArray[np.float32]

#: Jacobi damping: 0.8 is the textbook optimum of the five-point operator.
DAMPING = np.float32(0.8)
_REST = np.float32(1 - DAMPING)
#: Side at which grids are coarse enough, and the sweeps that count as solving there.
COARSEST, SWEEPS = 4, 8


@dataclass(frozen=True)
class _Level:
    diagonal: Array
    inverse: Array  # damping / diagonal
    right: Array  # edges, as engine.add_neighbours wants them
    down: Array
    buffers: tuple[Array, Array]


class Multigrid:
    """The operator ``diag(w) + grad^T c grad`` and its coarse versions.

    Parameters
    ----------
    weight : (..., H, W)
        ``w``, positive.
    right, down : (..., H, W-1) and (..., H-1, W)
        ``c`` of the edge to the right and to the pixel below.
    """

    def __init__(self, weight: Array, right: Array, down: Array) -> None:
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
            buffers = (np.empty_like(diagonal), np.empty_like(diagonal))
            self._levels.append(_Level(diagonal, DAMPING / diagonal, edges[0], edges[1], buffers))
            if min(weight.shape[-2:]) <= COARSEST:
                break
            weight, right, down = _coarsen(weight, right, down)

    def multiply(self, x: Array) -> Array:
        """Return ``A x``."""
        level = self._levels[0]
        around, scratch = level.buffers
        around.fill(0)
        engine.add_neighbours(level.right, level.down, x, around, scratch)
        out = level.diagonal * x
        out -= around
        return out

    def _cycle(self, depth: int, b: Array) -> Array:
        level = self._levels[depth]
        x = b * level.inverse
        if depth + 1 == len(self._levels):
            for _ in range(SWEEPS):
                _sweep(level, b, x)
            return x
        out, scratch = level.buffers
        np.multiply(b, _REST, out=out)  # b - diagonal x
        engine.add_neighbours(level.right, level.down, x, out, scratch)
        _add_blocks(self._cycle(depth + 1, _sum_blocks(out)), x)
        _sweep(level, b, x)
        return x

    def precondition(self, b: Array) -> Array:
        """Return ``A^-1 b`` after one V-cycle."""
        return self._cycle(0, b)

    def solve(self, b: Array, steps: int) -> Array:
        """Return an approximate ``A^-1 b`` after ``steps`` preconditioned conjugate-gradient steps."""
        return conjugate_gradients(self.multiply, self.precondition, b, steps)


def conjugate_gradients(
    multiply: Callable[[Array], Array], precondition: Callable[[Array], Array], b: Array, steps: int
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
        x += alpha * direction
        if step + 1 == steps:
            break
        residual -= alpha * a_direction
        z = precondition(residual)
        rz_new = _dot(residual, z)
        direction *= np.float32(rz_new / rz)
        direction += z
        rz = rz_new
    return x


def _sweep(level: _Level, b: Array, x: Array) -> None:
    """Smooth once: ``x + damping (b - A x) / diagonal``."""
    out, scratch = level.buffers
    np.copyto(out, b)
    engine.add_neighbours(level.right, level.down, x, out, scratch)
    out *= level.inverse
    x *= _REST
    x += out


def _dot(a: Array, b: Array) -> float:
    # Rows in pairs (NumPy's way) in float32, then in float64.
    return float(np.sum(np.sum(a * b, axis=-1), dtype=np.float64))


def _add_blocks(coarse: Array, x: Array) -> None:
    """Add to each pixel the value of its 2 x 2 block."""
    height, width = x.shape[-2:]
    wide = np.empty((*coarse.shape[:-1], width), np.float32)
    wide[..., 0::2] = coarse
    wide[..., 1::2] = coarse[..., : width // 2]
    x[..., 0::2, :] += wide
    x[..., 1::2, :] += wide[..., : height // 2, :]


def _sum_blocks(a: Array) -> Array:
    """Sum over 2 x 2 blocks; the last row or column of an odd grid is a block by itself."""
    rows = a[..., 0::2, :].copy()
    rows[..., : a.shape[-2] // 2, :] += a[..., 1::2, :]
    blocks = rows[..., :, 0::2].copy()
    blocks[..., :, : a.shape[-1] // 2] += rows[..., :, 1::2]
    return np.asarray(blocks)


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
        _sum_blocks(weight),
        np.asarray(half * (across[..., 0::2, :] + across[..., 1::2, :])),
        np.asarray(half * (along[..., :, 0::2] + along[..., :, 1::2])),
    )
