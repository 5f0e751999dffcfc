"""The loops over edges, windows and cells, compiled: twins of those in ``plain.prior`` and ``plain.slopes``.

Conventions as in :mod:`.evidence`.
"""

# Compiled by numba, which gives these functions their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

from __future__ import annotations

import numba
import numpy as np
from numba import boolean, float32, float64, int64, void

from ..prior.prior import CUT, LARGEST_LAMBDA
from ..prior.slope import CELL
from .row_loops import CALLED, INNER, ROW, add_product, add_row, fill

__all__ = ["SIGNATURES"]

_ZERO = np.float32(0)
_HALF = np.float32(0.5)
_ONE = np.float32(1)


@numba.njit(**ROW)
def _tolerated(variance, mu, tolerance, out):
    for x in range(out.size):
        lam = min(float32(0.25) / variance[x], LARGEST_LAMBDA)
        out[x] = tolerance[x] * tolerance[x] + float32(0.1) / lam + float32(0.125) / mu[x]


@numba.njit(**ROW)
def _unexplained(here, there, slope_here, slope_there, out):
    for x in range(out.size):
        out[x] = there[x] - here[x] - _HALF * (slope_here[x] + slope_there[x])


@numba.njit(**ROW)
def _exponent(step, here, there, out):
    for x in range(out.size):
        out[x] = float32(-4) * step[x] * step[x] / (here[x] + there[x])


@numba.njit(**CALLED)
def link(s, slope, variance, mu, tolerance, first, last, tau, step_right, step_down, cut_right, cut_down):
    """Write the unexplained steps, and the exponents of the cuts, twin of ``PriorLoops.link``."""
    height = s.shape[0]
    _tolerated(variance[first], mu[first], tolerance[first], tau[first % 2])
    for y in range(first, last):
        here = tau[y % 2]
        _unexplained(s[y], s[y, 1:], slope[1, y], slope[1, y, 1:], step_right[y])
        _exponent(step_right[y], here, here[1:], cut_right[y])
        if y + 1 < height:
            below = tau[(y + 1) % 2]
            _tolerated(variance[y + 1], mu[y + 1], tolerance[y + 1], below)
            _unexplained(s[y], s[y + 1], slope[0, y], slope[0, y + 1], step_down[y])
            _exponent(step_down[y], here, below, cut_down[y])


@numba.njit(**ROW)
def _stiffness(variance, out):
    for x in range(out.size):
        out[x] = min(float32(0.25) / variance[x], LARGEST_LAMBDA)


@numba.njit(**ROW)
def _edge(here, there, cut, out):
    for x in range(cut.size):
        out[x] = _HALF * (here[x] + there[x]) * cut[x]


@numba.njit(**ROW)
def _take_product(weight, a, out):
    for x in range(weight.size):
        out[x] -= weight[x] * a[x]


@numba.njit(**INNER)
def _add_pull(z, level, pulled, weight, b):
    for x in range(z.size):
        weight[x] += pulled[x]
        b[x] += pulled[x] * (level - z[x])


@numba.njit(**CALLED)
def pull(
    z, slope, w, g, pulled, level, has_pull, variance, cut_right, cut_down, first, last, rows, weight, right, down, b
):
    """Write the operator and the right side of the step, twin of ``PriorLoops.solve_step``."""
    height, width = g.shape
    lam, edge, step = rows[:2], rows[2], rows[3]
    _stiffness(variance[first], lam[first % 2])
    if first > 0:
        _stiffness(variance[first - 1], lam[(first - 1) % 2])
        _edge(lam[(first - 1) % 2], lam[first % 2], cut_down[first - 1], edge)
        _unexplained(z[first - 1], z[first], slope[0, first - 1], slope[0, first], step)
    for y in range(first, last):
        here, out = lam[y % 2], b[y]
        total, given = weight[y], w[y]
        for x in range(width):
            total[x] = given[x] + float32(1e-4)
        given = g[y]
        for x in range(width):
            out[x] = given[x]
        if has_pull:
            _add_pull(z[y], level, pulled[y], total, out)
        if y > 0:
            _take_product(edge, step, out)
        _edge(here, here[1:], cut_right[y], right[y])
        across = step[: width - 1]
        _unexplained(z[y], z[y, 1:], slope[1, y], slope[1, y, 1:], across)
        add_product(right[y], across, out)
        _take_product(right[y], across, out[1:])
        if y + 1 < height:
            below = lam[(y + 1) % 2]
            _stiffness(variance[y + 1], below)
            _edge(here, below, cut_down[y], edge)
            _unexplained(z[y], z[y + 1], slope[0, y], slope[0, y + 1], step)
            add_product(edge, step, out)
            to = down[y]
            for x in range(width):
                to[x] = edge[x]


@numba.njit(**ROW)
def _fold(line, factor, out):
    """Write the sums of every ``CELL`` elements, times a factor."""
    for x in range(out.size):
        total = line[CELL * x]
        for k in range(1, CELL):
            total += line[CELL * x + k]
        out[x] = factor * total


@numba.njit(**CALLED)
def sum_cells(w, g, variance, mu, z, first, last, lines, out):
    """Write the sums of ``w`` and ``g`` and the means of lambda, ``mu`` and ``z`` over cells; rows are rows of cells.

    Twin of ``slopes._sum_cells`` and ``slopes._mean_cells``: beyond the border is nothing for the sums, the border
    itself for the means.
    """
    height, width = w.shape
    wide = CELL * out.shape[2]
    total, given = lines[0, :wide], lines[1, :width]
    for row in range(first, last):
        for i in range(5):
            fill(_ZERO, total)
            for y in range(CELL * row, CELL * row + CELL):
                if i < 2 and y >= height:
                    break
                at = min(y, height - 1)
                if i == 2:
                    _stiffness(variance[at], given)
                    add_row(given, total)
                else:
                    add_row(w[at] if i == 0 else g[at] if i == 1 else mu[at] if i == 3 else z[at], total)
            if i >= 2:
                fill(total[width - 1], total[width:])
            _fold(total, _ONE if i < 2 else float32(1 / (CELL * CELL)), out[i, row])


@numba.njit(**ROW)
def _continue_row(row, out):
    """Copy a row and let it go on as it came for a few pixels."""
    end = row.size - 1
    for x in range(row.size):
        out[x] = row[x]
    for x in range(end + 1, out.size):
        back = max(2 * end - x, 0)
        rise = (row[end] - row[back]) / float32(max(end - back, 1))
        out[x] = row[end] + rise * float32(x - end)


@numba.njit(**ROW)
def _continued(z, y, spare, out):
    """Write a row of ``z`` that may lie a few pixels below its last, and its continuation to the right."""
    end = z.shape[0] - 1
    _continue_row(z[min(y, end)], out)
    if y > end:
        back = max(2 * end - y, 0)
        _continue_row(z[back], spare)
        factor = float32(y - end) / float32(max(end - back, 1))
        for x in range(out.size):
            out[x] += (out[x] - spare[x]) * factor


@numba.njit(**ROW)
def _copy_and_repeat(row, out):
    for x in range(row.size):
        out[x] = row[x]
    for x in range(row.size, out.size):
        out[x] = row[row.size - 1]


@numba.njit(**ROW)
def _lower(a, out):
    for x in range(out.size):
        out[x] = min(out[x], a[x])


@numba.njit(**INNER)
def _ways_right(z, cut, row, lines, total, rise):
    """Write between the cells of a row how open the way is, and the rise on it."""
    wide = CELL * (total.size + 1)
    level, cuts, way, spare = lines[0, :wide], lines[1, : wide - 1], lines[2, : wide - CELL - 2], lines[3, :wide]
    fill(_ZERO, total)
    fill(_ZERO, rise)
    for y in range(CELL * row, CELL * row + CELL):
        _continued(z, y, spare, level)
        _copy_and_repeat(cut[min(y, cut.shape[0] - 1)], cuts)
        for x in range(way.size):
            way[x] = cuts[x + 1]
        for offset in range(2, CELL + 2):
            _lower(cuts[offset:], way)
        for x in range(total.size):
            at = CELL * x
            # From the centre of a cell, between its pixels 1 and 2, to that of the next.
            step = level[at + CELL + 1] + level[at + CELL + 2] - (level[at + 1] + level[at + 2])
            rise[x] += _HALF * way[at] * step
            total[x] += way[at]


@numba.njit(**INNER)
def _ways_down(z, cut, row, lines, total, rise):
    """Write between the cells of two rows how open the way is, and the rise on it."""
    wide = CELL * total.size
    level, step, way, spare = lines[0, :wide], lines[1, :wide], lines[2, :wide], lines[3, :wide]
    fill(_ZERO, step)
    for place in range(4):
        _continued(z, CELL * row + 1 + place % 2 + CELL * (place // 2), spare, level)
        sign = _HALF if place > 1 else -_HALF
        for x in range(wide):
            step[x] += sign * level[x]
    _copy_and_repeat(cut[min(CELL * row + 1, cut.shape[0] - 1)], way)
    for offset in range(2, CELL + 2):
        _copy_and_repeat(cut[min(CELL * row + offset, cut.shape[0] - 1)], level)
        _lower(level, way)
    _fold(way, _ONE, total)
    for x in range(wide):
        way[x] *= step[x]
    _fold(way, _ONE, rise)


@numba.njit(**ROW)
def _finish_ways(total, rise):
    for x in range(total.size):
        rise[x] /= total[x]
        total[x] = max(total[x] * float32(1 / CELL), CUT)


@numba.njit(**CALLED)
def paths(z, cut_right, cut_down, first, last, lines, open_right, rise_right, open_down, rise_down):
    """Write how open the way between neighbouring cells is, and the rise on it, twin of ``slopes._paths``."""
    for row in range(first, last):
        if open_right.shape[1] > 0:
            _ways_right(z, cut_right, row, lines, open_right[row], rise_right[row])
            _finish_ways(open_right[row], rise_right[row])
        if row < open_down.shape[0]:
            _ways_down(z, cut_down, row, lines, open_down[row], rise_down[row])
            _finish_ways(open_down[row], rise_down[row])


@numba.njit(**CALLED)
def least_variance(means, areas, mu, first, last, out):
    """Write the error of the best window from the means of ``w``, twin of ``PriorLoops.posterior_variance``."""
    for y in range(first, last):
        result, stiff = out[y], mu[y]
        for k in range(areas.size):
            area, mean = areas[k], means[k, y]
            for x in range(result.size):
                here = _ONE / (area * max(mean[x], _ZERO) + float32(1e-6)) + area / (float32(256) * stiff[x])
                result[x] = here if k == 0 else min(result[x], here)


@numba.njit(**CALLED)
def block_sums(w, g, scale, side, first, last, out):
    """Write the sums of ``g``, ``w`` and ``w scale^2`` over rows of blocks, twin of ``PriorLoops.block_sums``."""
    height, width = w.shape
    for row in range(first, last):
        for y in range(row * side, min(row * side + side, height)):
            for col in range(out.shape[2]):
                score = info = precision = 0.0
                for x in range(col * side, min(col * side + side, width)):
                    here = w[y, x]
                    score += float64(g[y, x])
                    info += float64(here)
                    precision += float64(here * scale[y, x] * scale[y, x])
                if y == row * side:
                    out[0, row, col] = score
                    out[1, row, col] = info
                    out[2, row, col] = precision
                else:
                    out[0, row, col] += score
                    out[1, row, col] += info
                    out[2, row, col] += precision


_plane = float32[:, ::1]
_planes = float32[:, :, ::1]
_line = float32[::1]
_span = (int64, int64)


def _several(count, kind=_plane):
    return count * (kind,)


#: Every function that Python calls, with the types it calls it with.
SIGNATURES = [
    (link, void(_plane, _planes, _plane, _plane, _plane, *_span, *_several(5))),
    (pull, void(_plane, _planes, *_several(3), float32, boolean, *_several(3), *_span, *_several(5))),
    (sum_cells, void(*_several(5), *_span, _plane, _planes)),
    (paths, void(*_several(3), *_span, *_several(5))),
    (least_variance, void(_planes, _line, _plane, *_span, _plane)),
    (block_sums, void(_plane, _plane, _plane, int64, *_span, float64[:, :, ::1])),
]
