"""The loops over all levels, compiled: twins of those in ``plain.labels``, and ``best_fit``.

Conventions as in :mod:`.evidence`.
"""

# Compiled by numba, which gives these functions their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

from __future__ import annotations

import numba
import numpy as np
from numba import float32, int64, void

from ..discrete.labels import SATURATION as LABEL_SATURATION
from .row_loops import CALLED, INNER, ROW, add_row, fill

__all__ = ["SIGNATURES"]

_ZERO = np.float32(0)
_HALF = np.float32(0.5)
_ONE = np.float32(1)


@numba.njit(**ROW)
def _add_square(a, out):
    for x in range(a.size):
        out[x] += a[x] * a[x]


@numba.njit(**INNER)
def _reflect(index, size):
    """Place an index that is at most ``size`` outside, ``d c b a | a b c d``."""
    while index < 0 or index >= size:
        index = -1 - index if index < 0 else 2 * size - 1 - index
    return index


@numba.njit(**ROW)
def _sum_of_five(a, b, c, d, e, out):
    for x in range(out.size):
        out[x] = a[x] + b[x] + c[x] + d[x] + e[x]


@numba.njit(**ROW)
def _take_least(factor, a, out):
    for x in range(out.size):
        out[x] = min(out[x], factor * a[x])


@numba.njit(**CALLED)
def best_fit(volume, factors, first, last, lines, out):
    """Write the least 5 x 5 mean of ``e^2`` over the levels, twin of ``EvidenceLoops.best_fit``."""
    channels, levels, height, width = volume.shape
    total, column = lines[5, :width], lines[6, : width + 4]
    for y in range(first, last):
        fill(np.float32(np.inf), out[y])
    for k in range(levels):
        factor = factors[k] / float32(25 * channels)
        ready = max(first - 2, 0)
        for y in range(first, last):
            while ready < min(y + 3, height):
                row = lines[ready % 5, :width]
                fill(_ZERO, row)
                for c in range(channels):
                    _add_square(volume[c, k, ready], row)
                ready += 1
            _sum_of_five(
                lines[_reflect(y - 2, height) % 5, :width],
                lines[_reflect(y - 1, height) % 5, :width],
                lines[y % 5, :width],
                lines[_reflect(y + 1, height) % 5, :width],
                lines[_reflect(y + 2, height) % 5, :width],
                column[2 : width + 2],
            )
            for i in range(2):
                column[1 - i] = column[2 + _reflect(-1 - i, width)]
                column[width + 2 + i] = column[2 + _reflect(width + i, width)]
            _sum_of_five(column, column[1:], column[2:], column[3:], column[4:], total)
            _take_least(factor, total, out[y])


@numba.njit(**INNER)
def _saturating(weight, over, factor, power, out):
    for x in range(out.size):
        ratio = power[x] * over[x] * factor
        out[x] = weight[x] * ratio / (_ONE + ratio * LABEL_SATURATION)


@numba.njit(**CALLED)
def label_cost(volume, weight, over, factors, first, last, lines, out):
    """Write the costs of the levels ``first`` to ``last`` on 2 x 2 cells, twin of ``LabelLoops.label_cost``."""
    channels, _, height, width = volume.shape
    power, column, mean = lines[4, :width], lines[5, : width + 2], lines[6, : width + 1]
    for k in range(first, last):
        ready = 0
        for cell in range(out.shape[1]):
            while ready < min(2 * cell + 3, height):
                fill(_ZERO, power)
                for c in range(channels):
                    _add_square(volume[c, k, ready], power)
                _saturating(weight[ready], over[ready], factors[k], power, lines[ready % 4, :width])
                ready += 1
            inner = column[1 : width + 1]
            fill(_ZERO, inner)
            for k2 in range(2):
                y = min(2 * cell + k2, height - 1)
                for offset in range(-1, 2):
                    add_row(lines[_reflect(y + offset, height) % 4, :width], inner)
            column[0] = column[1]
            column[width + 1] = column[width]
            for x in range(width):
                mean[x] = column[x] + column[x + 1] + column[x + 2]
            mean[width] = mean[width - 1]
            result = out[k, cell]
            for x in range(result.size):
                result[x] = (mean[2 * x] + mean[2 * x + 1]) / float32(9)


@numba.njit(**INNER)
def _cheapest(small, large, least, before, here, after, cost, out):
    for x in range(out.size):
        best = min(here[x], min(before[x], after[x]) + small)
        out[x] = cost[x] + min(best - least[x], large)


@numba.njit(**CALLED)
def scan(cost, small, large, first, last, paths, total):
    """Aggregate a cost volume down and up its columns ``first`` to ``last``, twin of ``labels.scan_rows``."""
    levels, height, _ = cost.shape
    width = last - first
    least = paths[2, 0, :width]
    for way in range(2):
        for k in range(levels):
            fill(_ZERO, paths[1, k, :width])
        for i in range(height):
            y = i if way == 0 else height - 1 - i
            old, new = paths[(i + 1) % 2], paths[i % 2]
            fill(np.float32(np.inf), least)
            for k in range(levels):
                _take_least(_ONE, old[k, :width], least)
            for k in range(levels):
                path = new[k, :width]
                before, after = old[max(k - 1, 0), :width], old[min(k + 1, levels - 1), :width]
                _cheapest(small, large, least, before, old[k, :width], after, cost[k, y, first:last], path)
                if way == 0:
                    out = total[k, y, first:last]
                    for x in range(width):
                        out[x] = path[x]
                else:
                    add_row(path, total[k, y, first:last])


@numba.njit(**INNER)
def _lower(total, tie, level, least, at):
    """Note the level where it costs less than any before it."""
    for x in range(total.size):
        here = total[x] + tie
        at[x] = level if here < least[x] else at[x]
        least[x] = min(least[x], here)


@numba.njit(**CALLED)
def sublevel(total, tie, first, last, rows, out):
    """Write the fractional level of least cost, twin of ``LabelLoops.sublevel``."""
    levels, _, width = total.shape
    least, at = rows[0], rows[1]
    for y in range(first, last):
        fill(np.float32(np.inf), least)
        fill(_ZERO, at)
        for k in range(levels):
            _lower(total[k, y], tie[k], float32(k), least, at)
        for x in range(width):
            k = min(max(int64(at[x]), 1), levels - 2)
            here = total[k, y, x] + tie[k]
            below = total[k - 1, y, x] + tie[k - 1] - here
            above = total[k + 1, y, x] + tie[k + 1] - here
            steeper = max(below, above, float32(1e-6))
            share = min(max((below - above) / (float32(2) * steeper), -_HALF), _HALF)
            out[y, x] = float32(k) + share


@numba.njit(**CALLED)
def change_on_cells(volume, k, out):
    """Write the sum of ``(e_k+1 - e_k)^2`` over 2 x 2 cells, twin of ``LabelLoops.change_on_cells``."""
    channels, _, height, width = volume.shape
    for cell in range(out.shape[0]):
        result = out[cell]
        fill(_ZERO, result)
        for c in range(channels):
            for i in range(2):
                y = min(2 * cell + i, height - 1)
                here, there = volume[c, k, y], volume[c, k + 1, y]
                for x in range(width // 2):
                    a, b = there[2 * x] - here[2 * x], there[2 * x + 1] - here[2 * x + 1]
                    result[x] += a * a + b * b
                if width % 2:  # the border is repeated
                    a = there[width - 1] - here[width - 1]
                    result[width // 2] += float32(2) * a * a


_plane = float32[:, ::1]
_planes = float32[:, :, ::1]
_stack = float32[:, :, :, ::1]
_line = float32[::1]
_span = (int64, int64)

#: Every function that Python calls, with the types it calls it with.
SIGNATURES = [
    (best_fit, void(_stack, _line, *_span, _plane, _plane)),
    (label_cost, void(_stack, _plane, _plane, _line, *_span, _plane, _planes)),
    (scan, void(_planes, float32, float32, *_span, _planes, _planes)),
    (sublevel, void(_planes, _line, *_span, _plane, _plane)),
    (change_on_cells, void(_stack, int64, _plane)),
]
