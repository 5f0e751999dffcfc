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

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import boolean, float32, float64, int64, types, void

from ..engines.atomic import meet
from .solver import DAMPING, SWEEPS

__all__ = ["CALLED", "INNER", "SIGNATURES", "Grids", "Member", "Ties", "add_product", "add_row", "fill", "solve"]

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
INNER = {**_ARITHMETIC, "no_cpython_wrapper": True}
#: Sums may be made in the order that suits the processor.
_SUM = {**INNER, "fastmath": {"contract", "reassoc"}}

_REST = np.float32(1 - DAMPING)
_ZERO = np.float32(0)


@numba.njit(**_SUM)
def _dot(a, b):
    total = 0.0
    for x in range(a.size):
        total += float64(a[x]) * float64(b[x])
    return total


@numba.njit(**INNER)
def add_product(weight, a, out):
    """Add a product to a row."""
    for x in range(weight.size):
        out[x] += weight[x] * a[x]


@numba.njit(**INNER)
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


@numba.njit(**INNER)
def add_row(a, out):
    """Add one row to another."""
    for x in range(a.size):
        out[x] += a[x]


@numba.njit(**INNER)
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


@numba.njit(**INNER)
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


@numba.njit(**INNER)
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


@numba.njit(**INNER)
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


@numba.njit(**INNER)
def _add_scaled(factor, a, out):
    for x in range(a.size):
        out[x] += factor * a[x]


@numba.njit(**INNER)
def _times_sum(tie, a, b, out):
    for x in range(out.size):
        out[x] = tie[x] * (a[x] + b[x])


@numba.njit(**INNER)
def _times_difference(tie, a, b, out):
    for x in range(out.size):
        out[x] = tie[x] * (b[x] - a[x])


@numba.njit(**INNER)
def couple(x, down, right, half, first, last, rows, product, sums):
    """Add to a product what ties the map to its slopes, twin of ``slope._Problem.multiply``.

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
def _take_off(product, first, last, residual):
    for n in range(product.shape[0]):
        for y in range(first, last):
            given, out = product[n, y], residual[n, y]
            for x in range(out.size):
                out[x] -= given[x]


class Grids(NamedTuple):
    """The operator on grids that lie one after the other in flat arrays, and what a cycle needs.

    A row of ``places`` is where a grid begins, its height, width and components.  The first ``shared`` of them are
    worked on by all threads, the small rest by one.  ``sums`` are by rows: b . answer of the first grid, of the others,
    and direction . product.
    """

    places: Any
    shared: Any
    weight: Any
    right: Any
    down: Any
    diagonal: Any
    inverse: Any
    b: Any
    answer: Any
    coarsest: Any
    sums: Any


class Ties(NamedTuple):
    """What ties the map to its slopes (:func:`couple`); empty arrays for a map alone."""

    down: Any
    right: Any
    half: Any


class Member(NamedTuple):
    """One of the threads that work together, where it meets the others, and its scratch."""

    rank: Any
    workers: Any
    place: Any
    rows: Any


@numba.njit(**INNER, inline="always")
def _level(flat, place, rows, columns):
    """Return the array of one grid, which has fewer rows or columns if it is of edges."""
    count = place[3] * (place[1] - rows) * (place[2] - columns)
    return flat[place[0] : place[0] + count].reshape((place[3], place[1] - rows, place[2] - columns))


@numba.njit(**INNER, inline="always")
def _share(height, shared, me):
    """Return the rows of a grid that are one thread's: all or none of a small one."""
    if shared:
        return height * me.rank // me.workers, height * (me.rank + 1) // me.workers
    return (0, height) if me.rank == 0 else (0, 0)


@numba.njit(**INNER)
def _build(grids, me):
    """Make the operators of all grids from the weights of the first."""
    for depth in range(len(grids.places)):
        here = grids.places[depth]
        shared = depth < grids.shared
        weight, right, down = (
            _level(grids.weight, here, 0, 0),
            _level(grids.right, here, 0, 1),
            _level(grids.down, here, 1, 0),
        )
        first, last = _share(here[1], shared, me)
        to = _level(grids.diagonal, here, 0, 0), _level(grids.inverse, here, 0, 0)
        invert(weight, right, down, first, last, to[0], to[1])
        if depth + 1 < len(grids.places):
            below = grids.places[depth + 1]
            first, last = _share(below[1], shared, me)
            coarsen(
                weight,
                right,
                down,
                first,
                last,
                _level(grids.weight, below, 0, 0),
                _level(grids.right, below, 0, 1),
                _level(grids.down, below, 1, 0),
            )
        if shared:
            meet(me.place, me.workers)
    meet(me.place, me.workers)


@numba.njit(**INNER)
def _cycle(grids, me):
    """Run a V-cycle: find ``answer`` of the first grid for its ``b``; return the sum of their product."""
    bottom = len(grids.places) - 1
    for depth in range(bottom):
        here, below = grids.places[depth], grids.places[depth + 1]
        shared = depth < grids.shared
        first, last = _share(below[1], shared, me)
        if first < last:
            sweep(
                _level(grids.b, here, 0, 0),
                _level(grids.inverse, here, 0, 0),
                _level(grids.right, here, 0, 1),
                _level(grids.down, here, 1, 0),
                first,
                last,
                me.rows,
                _level(grids.b, below, 0, 0),
            )
        if shared:
            meet(me.place, me.workers)
    for depth in range(bottom, -1, -1):
        here = grids.places[depth]
        first, last = _share(here[1], depth < grids.shared, me)
        if first < last:
            b, inverse = _level(grids.b, here, 0, 0), _level(grids.inverse, here, 0, 0)
            right, down = _level(grids.right, here, 0, 1), _level(grids.down, here, 1, 0)
            answer = _level(grids.answer, here, 0, 0)
            sums = grids.sums[0] if depth == 0 else grids.sums[1]
            if depth == bottom:
                relax(b, inverse, right, down, SWEEPS, answer, grids.coarsest.reshape(answer.shape), sums)
            else:
                below = _level(grids.answer, grids.places[depth + 1], 0, 0)
                prolong_and_smooth(b, inverse, right, down, below, first, last, me.rows, answer, sums)
        if depth <= grids.shared:
            meet(me.place, me.workers)
    return _total(grids.sums[0])


@numba.njit(**INNER)
def _total(sums):
    total = 0.0
    for n in range(sums.shape[0]):
        for y in range(sums.shape[1]):
            total += sums[n, y]
    return total


@numba.njit(**INNER)
def _multiply_all(grids, ties, me, z, factor, old, direction, product):
    """Write the direction ``z + factor old`` and its product with the operator; return the sum of their product."""
    here, sums = grids.places[0], grids.sums[2]
    right, down = _level(grids.right, here, 0, 1), _level(grids.down, here, 1, 0)
    first, last = _share(here[1], True, me)
    diagonal = _level(grids.diagonal, here, 0, 0)
    advance(z, factor, old, diagonal, right, down, first, last, me.rows, direction, product, sums)
    meet(me.place, me.workers)
    if ties.right.size + ties.down.size > 0:
        couple(direction, ties.down, ties.right, ties.half, first, last, me.rows, product, sums)
        meet(me.place, me.workers)
    return _total(sums)


@numba.njit(**CALLED)
def solve(grids, ties, me, count, started, x, product, directions):
    """Solve ``A x = b`` by ``count`` conjugate-gradient steps; all threads call it, each as another member.

    ``x`` is where to begin, zero unless ``started``; ``product`` and ``directions`` (two) are scratch; ``b`` of the
    first grid is used up.

    A thread writes its own rows only, and all meet before anybody reads those of others.  Nobody writes what somebody
    may still be reading: between the last look at an array and its next change there is another meeting.
    """
    here = grids.places[0]
    residual, z = _level(grids.b, here, 0, 0), _level(grids.answer, here, 0, 0)
    first, last = _share(here[1], True, me)
    _build(grids, me)
    factor = np.float32(0)
    if started:
        _multiply_all(grids, ties, me, x, factor, x, directions[0], product)
        _take_off(product, first, last, residual)
        meet(me.place, me.workers)
    rz = _cycle(grids, me)
    new = 0
    for number in range(count):
        old = directions[new] if number > 0 else z
        new = 1 - new
        curvature = _multiply_all(grids, ties, me, z, factor, old, directions[new], product)
        if not curvature > 0 or not rz > 0:
            break
        step(np.float32(rz / curvature), directions[new], product, first, last, x, residual)
        if number + 1 == count:
            break
        meet(me.place, me.workers)
        rz_new = _cycle(grids, me)
        factor = np.float32(rz_new / rz)
        rz = rz_new


_field = float32[:, :, ::1]
_flat = float32[::1]
_rows = float32[:, ::1]
_grids = types.NamedTuple(
    (int64[:, ::1], int64, *(8 * (_flat,)), float64[:, :, ::1]),
    Grids,
)
_ties = types.NamedTuple((_rows, _rows, float32), Ties)
_member = types.NamedTuple((int64, int64, int64[::1], _rows), Member)

#: Every function that Python calls, with the types it calls it with.
SIGNATURES = [(solve, void(_grids, _ties, _member, int64, boolean, _field, _field, float32[:, :, :, ::1]))]
