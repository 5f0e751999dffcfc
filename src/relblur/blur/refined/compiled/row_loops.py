"""The solver's loops, compiled: the five-point operator fused with what is done before and after it.

Arrays are (components, H, W) float32, edges (components, H, W - 1) and (components, H - 1, W).  Every loop works on the
rows ``first`` to ``last`` of every component and writes nothing else, so rows can be shared out among threads in any
way; sums are made row by row, and added up afterwards, in an order that does not depend on it.

Loops along a row touch few arrays each and never index backwards: that is what the compiler can vectorise.  Nothing is
allocated: ``rows`` is scratch, a few rows for every thread.  So arrays need no reference counts, which on short rows
cost more than the arithmetic.
"""

# Compiled by numba, which gives these functions their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import float64

from ....engines import compile_inner
from ..plain.solver import DAMPING

__all__ = [
    "CALLED",
    "INNER",
    "ROW",
    "add_product",
    "add_row",
    "advance",
    "coarsen",
    "couple",
    "fill",
    "invert",
    "prolong_and_smooth",
    "relax",
    "step",
    "sweep",
    "take_off",
]

#: Divisions by zero give infinity, as in NumPy; products and sums may fuse.
_ARITHMETIC: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cfunc_wrapper": True,
}
try:  # no reference counts; an option that numba does not promise to keep
    numba.njit(_nrt=False)(lambda: None)
    _ARITHMETIC["_nrt"] = False
except KeyError:
    pass
#: Functions that Python calls, ...
CALLED = _ARITHMETIC
#: ... and those that only they call.
INNER = {**_ARITHMETIC, **compile_inner.INNER}
#: Loops over a row that several of them call.
ROW = {**_ARITHMETIC, **compile_inner.APART}
#: Sums may be made in the order that suits the processor.
_SUM = {**ROW, "fastmath": {"contract", "reassoc"}}

_REST = np.float32(1 - DAMPING)
_ZERO = np.float32(0)


@numba.njit(**_SUM)
def _dot(a, b):
    total = 0.0
    for x in range(a.size):
        total += float64(a[x]) * float64(b[x])
    return total


@numba.njit(**ROW)
def add_product(weight, a, out):
    """Add a product to a row."""
    for x in range(weight.size):
        out[x] += weight[x] * a[x]


@numba.njit(**ROW)
def _add_neighbours(n, y, right, down, above, here, below, out):
    """Add to ``out`` the four neighbours of a row, each times the weight of its edge."""
    edges = right[n, y]
    add_product(edges, here[1:], out)
    add_product(edges, here, out[1:])
    if y > 0:
        add_product(down[n, y - 1], above, out)
    if y < down.shape[1]:
        add_product(down[n, y], below, out)


@numba.njit(**INNER)
def fill(value, out):
    """Set a row to one value."""
    for x in range(out.size):
        out[x] = value


@numba.njit(**INNER)
def _copy(a, out):
    for x in range(a.size):
        out[x] = a[x]


@numba.njit(**ROW)
def add_row(a, out):
    """Add one row to another."""
    for x in range(a.size):
        out[x] += a[x]


@numba.njit(**ROW)
def _multiply(a, b, out):
    for x in range(a.size):
        out[x] = a[x] * b[x]


@numba.njit(**INNER)
def invert(weight, right, down, first, last, diagonal, inverse):
    """Write the diagonal of the operator, and the damping over it."""
    for n in range(weight.shape[0]):
        for y in range(first, last):
            total = diagonal[n, y]
            _copy(weight[n, y], total)
            edges = right[n, y]
            add_row(edges, total)
            add_row(edges, total[1:])
            if y < down.shape[1]:
                add_row(down[n, y], total)
            if y > 0:
                add_row(down[n, y - 1], total)
            out = inverse[n, y]
            for x in range(total.size):
                out[x] = DAMPING / total[x]


@numba.njit(**INNER)
def coarsen(weight, right, down, first, last, weight2, right2, down2):
    """Merge 2 x 2 pixels into the coarse rows ``first`` to ``last``: weights add, edges add and are halved."""
    height = weight.shape[1]
    half = np.float32(0.5)
    for n in range(weight.shape[0]):
        for y in range(first, last):
            out = weight2[n, y]
            edges = right2[n, y]
            fill(_ZERO, out)
            fill(_ZERO, edges)
            for fine in range(2 * y, min(2 * y + 2, height)):
                _add_pairs(weight[n, fine], out)
                across = right[n, fine, 1:]
                for x in range(edges.size):
                    edges[x] += half * across[2 * x]
            if y < down2.shape[1]:
                along = down2[n, y]
                fill(_ZERO, along)
                _add_pairs(down[n, 2 * y + 1], along)
                for x in range(along.size):
                    along[x] *= half


@numba.njit(**ROW)
def _add_pairs(fine, coarse):
    """Add to each coarse pixel its two of a row; the last of an odd row is alone."""
    for x in range(fine.size // 2):
        coarse[x] += fine[2 * x] + fine[2 * x + 1]
    if fine.size % 2:
        coarse[-1] += fine[-1]


@numba.njit(**INNER)
def sweep(b, inverse, right, down, first, last, rows, coarse):
    """Smooth once from zero, and sum what is left over the 2 x 2 pixels of the coarse rows ``first`` to ``last``."""
    height, width = b.shape[1:]
    left = rows[3, :width]
    for n in range(b.shape[0]):
        top, bottom = 2 * first, min(2 * last, height)
        for y in range(max(top - 1, 0), min(top + 1, height)):
            _multiply(b[n, y], inverse[n, y], rows[y % 3, :width])
        for y in range(top, bottom):
            if y + 1 < height:
                _multiply(b[n, y + 1], inverse[n, y + 1], rows[(y + 1) % 3, :width])
            given = b[n, y]
            for x in range(width):
                left[x] = _REST * given[x]  # b - diagonal * (damping / diagonal) * b
            _add_neighbours(
                n, y, right, down, rows[(y + 2) % 3, :width], rows[y % 3, :width], rows[(y + 1) % 3, :width], left
            )
            out = coarse[n, y // 2]
            if y % 2 == 0:
                fill(_ZERO, out)
            _add_pairs(left, out)


@numba.njit(**ROW)
def _prolong(given, inverse, coarse, out):
    for x in range(given.size):
        out[x] = given[x] * inverse[x]
    for x in range(given.size // 2):
        out[2 * x] += coarse[x]
        out[2 * x + 1] += coarse[x]
    if given.size % 2:
        out[-1] += coarse[-1]


@numba.njit(**INNER)
def prolong_and_smooth(b, inverse, right, down, coarse, first, last, rows, out, sums):
    """Add the coarse answer to that of :func:`sweep`, smooth once more; ``sums`` gets ``b . out`` of every row."""
    height, width = b.shape[1:]
    for n in range(b.shape[0]):
        for y in range(max(first - 1, 0), min(first + 1, height)):
            _prolong(b[n, y], inverse[n, y], coarse[n, y // 2], rows[y % 3, :width])
        for y in range(first, last):
            if y + 1 < height:
                _prolong(b[n, y + 1], inverse[n, y + 1], coarse[n, (y + 1) // 2], rows[(y + 1) % 3, :width])
            result = out[n, y]
            _copy(b[n, y], result)
            here = rows[y % 3, :width]
            _add_neighbours(n, y, right, down, rows[(y + 2) % 3, :width], here, rows[(y + 1) % 3, :width], result)
            over = inverse[n, y]
            for x in range(width):
                result[x] = _REST * here[x] + over[x] * result[x]
            sums[n, y] = _dot(b[n, y], result)


@numba.njit(**INNER)
def relax(b, inverse, right, down, times, out, other, sums):
    """Smooth ``times`` times from zero on the coarsest grid: ``out`` gets the answer, ``sums`` its ``b . out``."""
    height, width = b.shape[1:]
    for n in range(b.shape[0]):
        for y in range(height):
            _multiply(b[n, y], inverse[n, y], out[n, y])
        for _ in range(times):
            for y in range(height):
                _copy(out[n, y], other[n, y])
            for y in range(height):
                result = out[n, y]
                _copy(b[n, y], result)
                here = other[n, y]
                _add_neighbours(
                    n, y, right, down, other[n, max(y - 1, 0)], here, other[n, min(y + 1, height - 1)], result
                )
                over = inverse[n, y]
                for x in range(width):
                    result[x] = _REST * here[x] + over[x] * result[x]
        for y in range(height):
            sums[n, y] = _dot(b[n, y], out[n, y])


@numba.njit(**ROW)
def _combine(z, factor, old, out):
    for x in range(z.size):
        out[x] = z[x] + factor * old[x]


@numba.njit(**INNER)
def advance(z, factor, old, diagonal, right, down, first, last, rows, direction, product, sums):
    """Make the next direction, ``z + factor old``, its product with the operator, and their dot product by rows."""
    height, width = z.shape[1:]
    around = rows[3, :width]
    for n in range(z.shape[0]):
        for y in range(max(first - 1, 0), min(first + 1, height)):
            _combine(z[n, y], factor, old[n, y], rows[y % 3, :width])
        for y in range(first, last):
            if y + 1 < height:
                _combine(z[n, y + 1], factor, old[n, y + 1], rows[(y + 1) % 3, :width])
            here = rows[y % 3, :width]
            _copy(here, direction[n, y])
            fill(_ZERO, around)
            _add_neighbours(n, y, right, down, rows[(y + 2) % 3, :width], here, rows[(y + 1) % 3, :width], around)
            result = product[n, y]
            own = diagonal[n, y]
            for x in range(width):
                result[x] = own[x] * here[x] - around[x]
            sums[n, y] = _dot(here, result)


@numba.njit(**ROW)
def _add_scaled(factor, a, out):
    for x in range(a.size):
        out[x] += factor * a[x]


@numba.njit(**ROW)
def _times_sum(tie, a, b, out):
    for x in range(out.size):
        out[x] = tie[x] * (a[x] + b[x])


@numba.njit(**ROW)
def _times_difference(tie, a, b, out):
    for x in range(out.size):
        out[x] = tie[x] * (b[x] - a[x])


@numba.njit(**INNER)
def couple(x, down, right, half, first, last, rows, product, sums):
    """Add to a product what ties the map to its slopes, twin of ``slopes._multiply``.

    ``sums`` are as in :func:`advance`.  Of the three components the first is the map, the others its slopes along rows
    and columns; ``half`` is half a cell.
    """
    height, width = x.shape[1:]
    line = rows[0, :width]
    edge = rows[0, : width - 1]
    for y in range(first, last):
        _times_sum(right[y], x[2, y], x[2, y, 1:], edge)
        _add_scaled(half, edge, product[0, y])
        _add_scaled(-half, edge, product[0, y, 1:])
        _times_difference(right[y], x[0, y], x[0, y, 1:], edge)
        _add_scaled(-half, edge, product[2, y])
        _add_scaled(-half, edge, product[2, y, 1:])
        if y > 0:
            _times_sum(down[y - 1], x[1, y - 1], x[1, y], line)
            _add_scaled(-half, line, product[0, y])
            _times_difference(down[y - 1], x[0, y - 1], x[0, y], line)
            _add_scaled(-half, line, product[1, y])
        if y + 1 < height:
            _times_sum(down[y], x[1, y], x[1, y + 1], line)
            _add_scaled(half, line, product[0, y])
            _times_difference(down[y], x[0, y], x[0, y + 1], line)
            _add_scaled(-half, line, product[1, y])
        for n in range(3):
            sums[n, y] = _dot(x[n, y], product[n, y])


@numba.njit(**INNER)
def step(alpha, direction, product, first, last, x, residual):
    """Go ``alpha`` along a direction, and take its product off the residual."""
    for n in range(x.shape[0]):
        for y in range(first, last):
            along, out = direction[n, y], x[n, y]
            for i in range(out.size):
                out[i] += alpha * along[i]
            along, out = product[n, y], residual[n, y]
            for i in range(out.size):
                out[i] -= alpha * along[i]


@numba.njit(**INNER)
def take_off(product, first, last, residual):
    """Take a product off the residual."""
    for n in range(product.shape[0]):
        for y in range(first, last):
            given, out = product[n, y], residual[n, y]
            for x in range(out.size):
                out[x] -= given[x]
