"""The loops over edges, windows and cells, compiled: those of ``prior``, ``slope`` and ``strength``.

Conventions as in :mod:`.compiled_evidence`.
"""

# Compiled by numba, which gives these functions their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

from __future__ import annotations

import numba
import numpy as np
from numba import float32, float64, int64, void

from .compiled_solver import CALLED, INNER, add_product, fill
from .prior import CUT, LARGEST_LAMBDA
from .slope import CELL

__all__ = ["SIGNATURES"]

_ZERO = np.float32(0)
_HALF = np.float32(0.5)
_ONE = np.float32(1)


@numba.njit(**INNER)
def _tolerated(variance, mu, tolerance, out):
    for x in range(out.size):
        lam = min(float32(0.25) / variance[x], LARGEST_LAMBDA)
        out[x] = tolerance[x] * tolerance[x] + float32(0.1) / lam + float32(0.125) / mu[x]


@numba.njit(**INNER)
def _unexplained(here, there, slope_here, slope_there, out):
    for x in range(out.size):
        out[x] = there[x] - here[x] - _HALF * (slope_here[x] + slope_there[x])


@numba.njit(**INNER)
def _exponent(step, here, there, out):
    for x in range(out.size):
        out[x] = float32(-4) * step[x] * step[x] / (here[x] + there[x])


@numba.njit(**CALLED)
def link(s, slope, variance, mu, tolerance, first, last, tau, step_right, step_down, cut_right, cut_down):
    """Write the unexplained steps, and the exponents of the cuts, twin of ``prior.link``."""
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


@numba.njit(**INNER)
def _stiffness(variance, out):
    for x in range(out.size):
        out[x] = min(float32(0.25) / variance[x], LARGEST_LAMBDA)


@numba.njit(**INNER)
def _edge(here, there, cut, out):
    for x in range(cut.size):
        out[x] = _HALF * (here[x] + there[x]) * cut[x]


@numba.njit(**INNER)
def _take_product(weight, a, out):
    for x in range(weight.size):
        out[x] -= weight[x] * a[x]


@numba.njit(**CALLED)
def pull(w, g, variance, cut_right, cut_down, step_right, step_down, first, last, rows, weight, right, down, b):
    """Write the operator and the right side of the step, twin of ``prior.solve_step``."""
    height, width = g.shape
    lam, edge = rows[:2], rows[2]
    _stiffness(variance[first], lam[first % 2])
    if first > 0:
        _stiffness(variance[first - 1], lam[(first - 1) % 2])
        _edge(lam[(first - 1) % 2], lam[first % 2], cut_down[first - 1], edge)
    for y in range(first, last):
        here, out = lam[y % 2], b[y]
        total, given = weight[y], w[y]
        for x in range(width):
            total[x] = given[x] + float32(1e-4)
        given = g[y]
        for x in range(width):
            out[x] = given[x]
        _edge(here, here[1:], cut_right[y], right[y])
        add_product(right[y], step_right[y], out)
        _take_product(right[y], step_right[y], out[1:])
        if y > 0:
            _take_product(edge, step_down[y - 1], out)
        if y + 1 < height:
            below = lam[(y + 1) % 2]
            _stiffness(variance[y + 1], below)
            _edge(here, below, cut_down[y], edge)
            add_product(edge, step_down[y], out)
            to = down[y]
            for x in range(width):
                to[x] = edge[x]


@numba.njit(**CALLED)
def unexplained(s, slope, first, last, step_right, step_down):
    """Write the steps that the slopes do not explain, twin of ``prior._unexplained``."""
    for y in range(first, last):
        _unexplained(s[y], s[y, 1:], slope[1, y], slope[1, y, 1:], step_right[y])
        if y + 1 < s.shape[0]:
            _unexplained(s[y], s[y + 1], slope[0, y], slope[0, y + 1], step_down[y])


@numba.njit(**INNER)
def _add_cells(a, out):
    for x in range(out.size):
        total = _ZERO
        for k in range(CELL):
            total += a[CELL * x + k]
        out[x] += total


@numba.njit(**CALLED)
def sum_cells(w, g, variance, mu, first, last, lines, out):
    """Write the sums of ``w`` and ``g`` and the means of ``lambda`` and ``mu`` over cells; rows are rows of cells.

    Twin of ``slope._sum_cells`` and ``slope._mean_cells``: beyond the border is nothing for the sums, the border itself
    for the means.
    """
    height, width = w.shape
    wide = CELL * out.shape[2]
    given = lines[0, :wide]
    for row in range(first, last):
        for i in range(4):
            result = out[i, row]
            fill(_ZERO, result)
            for y in range(CELL * row, CELL * row + CELL):
                if i < 2 and y >= height:
                    break
                at = min(y, height - 1)
                if i == 2:
                    _stiffness(variance[at], given[:width])
                else:
                    source = w[at] if i == 0 else g[at] if i == 1 else mu[at]
                    for x in range(width):
                        given[x] = source[x]
                fill(_ZERO if i < 2 else given[width - 1], given[width:])
                _add_cells(given, result)
            if i >= 2:
                for x in range(result.size):
                    result[x] *= float32(1 / (CELL * CELL))


@numba.njit(**INNER)
def _continued_row(z, y, x):
    """Read a row of ``z`` up to a few pixels beyond its end, where it goes on as it came."""
    end = z.shape[1] - 1
    if x <= end:
        return z[y, x]
    back = max(2 * end - x, 0)
    return z[y, end] + (z[y, end] - z[y, back]) * (float32(x - end) / float32(end - back))


@numba.njit(**INNER)
def _continued(z, y, x):
    """Read ``z`` up to a few pixels beyond its border."""
    end = z.shape[0] - 1
    if y <= end:
        return _continued_row(z, y, x)
    back = max(2 * end - y, 0)
    here = _continued_row(z, end, x)
    return here + (here - _continued_row(z, back, x)) * (float32(y - end) / float32(end - back))


@numba.njit(**CALLED)
def paths(z, cut_right, cut_down, first, last, open_right, rise_right, open_down, rise_down):
    """Write how open the way between neighbouring cells is, and the rise on it, twin of ``slope._paths``."""
    height, width = z.shape
    for row in range(first, last):
        for col in range(open_right.shape[1]):
            total = _ZERO
            rise = _ZERO
            for k in range(CELL):
                y = CELL * row + k
                v = min(y, height - 1)
                way = cut_right[v, min(CELL * col + 1, width - 2)]
                for offset in range(2, CELL + 2):
                    way = min(way, cut_right[v, min(CELL * col + offset, width - 2)])
                x = CELL * col + 1
                here = _continued(z, y, x) + _continued(z, y, x + 1)
                there = _continued(z, y, x + CELL) + _continued(z, y, x + CELL + 1)
                rise += _HALF * way * (there - here)
                total += way
            open_right[row, col] = max(total / float32(CELL), CUT)
            rise_right[row, col] = rise / total
        if row < open_down.shape[0]:
            for col in range(open_down.shape[1]):
                total = _ZERO
                rise = _ZERO
                for k in range(CELL):
                    x = CELL * col + k
                    h = min(x, width - 1)
                    way = cut_down[min(CELL * row + 1, height - 2), h]
                    for offset in range(2, CELL + 2):
                        way = min(way, cut_down[min(CELL * row + offset, height - 2), h])
                    y = CELL * row + 1
                    here = _continued(z, y, x) + _continued(z, y + 1, x)
                    there = _continued(z, y + CELL, x) + _continued(z, y + CELL + 1, x)
                    rise += _HALF * way * (there - here)
                    total += way
                open_down[row, col] = max(total / float32(CELL), CUT)
                rise_down[row, col] = rise / total


@numba.njit(**CALLED)
def least_variance(means, areas, mu, first, last, out):
    """Write the error of the best window from the means of ``w`` over each, twin of ``prior.posterior_variance``."""
    for y in range(first, last):
        result, stiff = out[y], mu[y]
        for k in range(areas.size):
            area, mean = areas[k], means[k, y]
            for x in range(result.size):
                here = _ONE / (area * max(mean[x], _ZERO) + float32(1e-6)) + area / (float32(256) * stiff[x])
                result[x] = here if k == 0 else min(result[x], here)


@numba.njit(**CALLED)
def block_sums(w, g, scale, side, first, last, out):
    """Write the sums of ``g``, ``w`` and ``w scale^2`` over blocks, twin of ``strength.block_sum``; rows of blocks."""
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
    (pull, void(*_several(7), *_span, *_several(5))),
    (unexplained, void(_plane, _planes, *_span, _plane, _plane)),
    (sum_cells, void(*_several(4), *_span, _plane, _planes)),
    (paths, void(*_several(3), *_span, *_several(4))),
    (least_variance, void(_planes, _line, _plane, *_span, _plane)),
    (block_sums, void(_plane, _plane, _plane, int64, *_span, float64[:, :, ::1])),
]
