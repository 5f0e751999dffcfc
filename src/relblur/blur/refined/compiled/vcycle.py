"""The solver as one compiled function that several threads run together, on the loops of :mod:`.row_loops`.

Going back to Python after each of the hundreds of loops of a solution would cost more than most of them.
"""

# Compiled by numba, which gives these functions their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import boolean, float32, float64, int64, types, void
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from ....engines.barrier import wait_for_all
from ..plain.solver import SWEEPS
from .row_loops import CALLED, INNER, advance, coarsen, couple, invert, prolong_and_smooth, relax, step, sweep, take_off

__all__ = ["SIGNATURES", "Grids", "Member", "Ties", "solve"]


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
    """One of the threads that work together, the barrier they wait at, and its scratch."""

    rank: Any
    workers: Any
    place: Any
    rows: Any


@intrinsic
def _level(typing, flat, place, rows, columns):
    """Return the array of one grid, which has fewer rows or columns if it is of edges.

    As ``flat[start:].reshape(shape)`` does, but for what numba makes of that in case the memory cannot be viewed so:
    twenty-five of them took as long to compile as the rest of the solver.
    """
    if not isinstance(rows, types.Integer) or not isinstance(columns, types.Integer):
        return None
    view = types.Array(flat.dtype, 3, "C")

    def emit(context, builder, signature, args):
        array, where = (context.make_array(signature.args[i])(context, builder, args[i]) for i in range(2))
        start, height, width, components = (
            builder.load(builder.gep(where.data, [context.get_constant(types.intp, i)])) for i in range(4)
        )
        height, width = builder.sub(height, args[2]), builder.sub(width, args[3])
        item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(flat.dtype)))
        line = builder.mul(width, item)
        out = context.make_array(view)(context, builder)
        populate_array(
            out,
            data=builder.gep(array.data, [start]),
            shape=(components, height, width),
            strides=(builder.mul(height, line), line, item),
            itemsize=item,
            meminfo=None,  # the caller of the solver keeps the memory
        )
        return out._getvalue()

    return view(flat, place, types.intp, types.intp), emit


@numba.njit(**INNER)
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
            wait_for_all(me.place, me.workers)
    wait_for_all(me.place, me.workers)


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
            wait_for_all(me.place, me.workers)
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
            wait_for_all(me.place, me.workers)
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
    wait_for_all(me.place, me.workers)
    if ties.right.size + ties.down.size > 0:
        couple(direction, ties.down, ties.right, ties.half, first, last, me.rows, product, sums)
        wait_for_all(me.place, me.workers)
    return _total(sums)


@numba.njit(**CALLED)
def solve(grids, ties, me, count, started, x, product, directions):
    """Solve ``A x = b`` by ``count`` conjugate-gradient steps; all threads call it, each as another member.

    ``x`` is where to begin, zero unless ``started``; ``product`` and ``directions`` (two) are scratch; ``b`` of the
    first grid is used up.

    A thread writes its own rows only, and all wait for each other before anybody reads those of others.  Nobody writes
    what somebody may still be reading: between the last look at an array and its next change there is another barrier.
    """
    here = grids.places[0]
    residual, z = _level(grids.b, here, 0, 0), _level(grids.answer, here, 0, 0)
    first, last = _share(here[1], True, me)
    _build(grids, me)
    factor = np.float32(0)
    if started:
        _multiply_all(grids, ties, me, x, factor, x, directions[0], product)
        take_off(product, first, last, residual)
        wait_for_all(me.place, me.workers)
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
        wait_for_all(me.place, me.workers)
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
