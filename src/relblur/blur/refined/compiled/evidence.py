"""Reading the stack and weighing what it says, compiled: twins of the loops in ``plain.evidence``.

Each has its twin in NumPy (named in its docstring), written to be read.  The conventions are those of
:mod:`.row_loops`: a loop works on the rows ``first`` to ``last`` and writes nothing else, and what it writes does
not depend on how the rows are shared out.
"""

# Compiled by numba, which gives these functions their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

from __future__ import annotations

import numba
import numpy as np
from numba import float32, int64, void

from ..likelihood.likelihood import OUTLIER, SATURATION
from ..prior.prior import MOST_LEVERAGE
from .row_loops import CALLED, INNER, fill

__all__ = ["SIGNATURES"]

_ZERO = np.float32(0)
_HALF = np.float32(0.5)
_ONE = np.float32(1)
_TINY = np.float32(1e-30)


@numba.njit(**INNER)
def _cells(level, levels, size, index, offset):
    """Find in a stack of planes of ``size`` the first of the four levels around each pixel of a row.

    The offset is from the second.  Twin of ``reading._cells``.  An index without sign is one that the compiler need not
    check for being negative.
    """
    for x in range(level.size):
        base = min(max(int64(level[x]), 1), levels - 3)
        index[x] = np.uint64((base - 1) * size + x)
        offset[x] = level[x] - float32(base)


@numba.njit(**INNER)
def _between(table, level):
    """Read a table over the levels, linearly, twin of ``reading.Tables``."""
    base = min(max(int64(level), 0), table.size - 2)
    return table[base] + (table[base + 1] - table[base]) * (level - float32(base))


@numba.njit(**INNER, inline="always")
def _four_planes(planes, start, size):
    return planes[start:], planes[start + size :], planes[start + 2 * size :], planes[start + 3 * size :]


@numba.njit(**INNER, inline="always")
def _read(y0, y1, y2, y3, u):
    """Return value and slope by level, twin of ``level_axis.read_cubic``."""
    inside = min(max(u, _ZERO), _ONE)
    first = _HALF * (y2 - y0)
    second = y0 - float32(2.5) * y1 + float32(2) * y2 - _HALF * y3
    third = _HALF * (y3 - y0) + float32(1.5) * (y1 - y2)
    slope = first + inside * (float32(2) * second + float32(3) * inside * third)
    beyond = u - inside
    bend = y0 - float32(2) * y1 + y2 if beyond < _ZERO else y1 - float32(2) * y2 + y3
    value = y1 + inside * (first + inside * (second + inside * third)) + beyond * (slope + _HALF * beyond * bend)
    return value, slope + beyond * bend


@numba.njit(**INNER)
def _read_row(y0s, y1s, y2s, y3s, index, offset, value, slope):
    for x in range(value.size):
        i = index[x]
        value[x], slope[x] = _read(y0s[i], y1s[i], y2s[i], y3s[i], offset[x])


@numba.njit(**INNER)
def _to_slope_in_s(s, step, curved, softening, slope):
    for x in range(s.size):
        slope[x] = -slope[x] / (step * np.sqrt(curved * s[x] * s[x] + softening * softening))


@numba.njit(**CALLED)
def read(volume, level, s, step, curved, softening, first, last, index, rows, value, slope):
    """Write ``e`` and ``D = -de/ds``, with ``ds/dlevel = step sqrt(curved s^2 + softening^2)``.

    Twin of ``reading.interpolate`` and ``LevelAxis.by_s``.
    """
    channels, levels, height, width = volume.shape
    size = height * width
    offset = rows[0]
    for c in range(channels):
        planes = volume[c].reshape(levels * size)
        for y in range(first, last):
            _cells(level[y], levels, size, index, offset)
            y0, y1, y2, y3 = _four_planes(planes, y * width, size)
            _read_row(y0, y1, y2, y3, index, offset, value[c, y], slope[c, y])
            _to_slope_in_s(s[y], step, curved, softening, slope[c, y])


@numba.njit(**CALLED)
def whiten(e, level, misfit, tables, finer, relative, first, last, d, d2):
    """Take the part of ``d`` that goes with ``e`` off it; ``d2`` is its square.  Twin of that in ``evidence``.

    The rows of ``tables`` are the variance of the blurrier image and that passed on by the sharper; those of ``finer``
    the means of ``e d`` and ``d^2`` that noise alone makes; all times ``relative`` at each pixel.
    """
    channels, _, width = e.shape
    times = float32((finer.shape[1] - 1) // (tables.shape[1] - 1))
    for y in range(first, last):
        for x in range(width):
            t = level[y, x]
            here = relative[y, x]
            v = max(misfit[y, x], here * _between(tables[0], t)) + here * _between(tables[1], t)
            share = here * _between(finer[0], t * times) / v
            for c in range(channels):
                rest = d[c, y, x] - e[c, y, x] * share
                d[c, y, x] = rest
                d2[c, y, x] = rest * rest


@numba.njit(**CALLED)
def weigh(e, d, near, level, misfit, weight, trust, share, tables, finer, relative, noisy, first, last, w, g, power):
    """Write information, score and power, twin of the loop in ``EvidenceLoops.evidence``.

    ``near`` is the mean of ``d^2`` around (read if noisy); the tables are those of :func:`whiten`.
    """
    channels, _, width = e.shape
    times = float32((finer.shape[1] - 1) // (tables.shape[1] - 1))
    noise_d = _ZERO
    for y in range(first, last):
        for x in range(width):
            t = level[y, x]
            here = relative[y, x]
            v = max(misfit[y, x], here * _between(tables[0], t))
            if noisy:
                v += here * _between(tables[1], t)
                noise_ed = here * _between(finer[0], t * times)
                noise_d = here * _between(finer[1], t * times) - noise_ed * noise_ed / v
            over = _ONE / v
            use = weight[y, x] * trust[y, x] * share * over
            total_w = _ZERO
            total_g = _ZERO
            total = _ZERO
            for c in range(channels):
                ec = e[c, y, x]
                dc = d[c, y, x]
                square = ec * ec
                total += square
                rho = use / (_ONE + square * over * OUTLIER)
                alpha = _ONE
                if noisy:
                    alpha = _ONE - noise_d / max(near[c, y, x], noise_d + _TINY)
                    rho *= alpha
                total_w += alpha * rho * dc * dc
                total_g += rho * ec * dc
            w[y, x] = total_w
            g[y, x] = total_g
            power[y, x] = total / float32(channels)


@numba.njit(**CALLED)
def deflate(square, mean, first, last, w, g, inflation):
    """Write the sandwich ratio and divide by it, twin of ``EvidenceLoops.deflate``."""
    for y in range(first, last):
        ratio, above, below = inflation[y], square[y], mean[y]
        for x in range(ratio.size):
            here = float32(25) * above[x] / (below[x] + float32(1e-20))
            ratio[x] = min(max(here, _ONE), float32(50))
        out = w[y]
        for x in range(ratio.size):
            out[x] /= ratio[x]
        out = g[y]
        for x in range(ratio.size):
            out[x] /= ratio[x]


@numba.njit(**INNER)
def _leave_out(power, ceiling, w, variance, out):
    for x in range(out.size):
        own = w[x] * variance[x]
        weight = min(own / (_ONE + own), MOST_LEVERAGE)
        out[x] = min(power[x], float32(20) * ceiling[x]) / (_ONE - weight)


@numba.njit(**CALLED)
def leave_out(power, ceiling, w, variance, first, last, out):
    """Write ``e^2`` as it would be without the pixel's own datum, twin of ``EvidenceLoops.leave_out``."""
    for y in range(first, last):
        _leave_out(power[y], ceiling[y], w[y], variance[y], out[y])


@numba.njit(**CALLED)
def settle(near, far, ceiling, level, tables, relative, noisy, first, last, misfit):
    """Write the misfit from the means of ``e^2``, twin of ``EvidenceLoops.settle``."""
    for y in range(first, last):
        for x in range(near.shape[1]):
            mean = float32(0.7) * near[y, x] + float32(0.3) * far[y, x]
            mean = min(mean, float32(2) * ceiling[y, x])
            if noisy:
                mean -= relative[y, x] * _between(tables[1], level[y, x])
            misfit[y, x] = max(mean, float32(0.01) * misfit[y, x])


@numba.njit(**CALLED)
def variance(level, misfit, tables, relative, noisy, first, last, out):
    """Write the variance of the residual, twin of ``EvidenceLoops.variance``."""
    for y in range(first, last):
        for x in range(level.shape[1]):
            t = level[y, x]
            v = max(misfit[y, x], relative[y, x] * _between(tables[0], t))
            if noisy:
                v += relative[y, x] * _between(tables[1], t)
            out[y, x] = v


@numba.njit(**INNER)
def _add_power(y0s, y1s, y2s, y3s, index, offset, power):
    for x in range(power.size):
        i = index[x]
        e, _ = _read(y0s[i], y1s[i], y2s[i], y3s[i], offset[x])
        power[x] += e * e


@numba.njit(**INNER)
def _saturate(power, weight, variance, inflation, share, out):
    for x in range(out.size):
        z = power[x] * (weight[x] / (float32(2) * variance[x]))
        out[x] = share * z / ((_ONE + z * SATURATION) * inflation[x])


@numba.njit(**CALLED)
def cost(volume, level, weight, variance, inflation, share, first, last, index, rows, out):
    """Write the saturating cost of a map, twin of ``EvidenceLoops.cost``."""
    channels, levels, height, width = volume.shape
    size = height * width
    offset, power = rows[0], rows[1]
    for y in range(first, last):
        _cells(level[y], levels, size, index, offset)
        fill(_ZERO, power)
        for c in range(channels):
            y0, y1, y2, y3 = _four_planes(volume[c].reshape(levels * size), y * width, size)
            _add_power(y0, y1, y2, y3, index, offset, power)
        _saturate(power, weight[y], variance[y], inflation[y], share, out[y])


_flag = numba.boolean
_plane = float32[:, ::1]
_planes = float32[:, :, ::1]
_stack = float32[:, :, :, ::1]
_index = numba.uint64[::1]
_span = (int64, int64)


def _several(count, kind=_plane):
    return count * (kind,)


#: Every function that Python calls, with the types it calls it with.
SIGNATURES = [
    (read, void(_stack, _plane, _plane, float32, float32, float32, *_span, _index, _plane, _planes, _planes)),
    (whiten, void(_planes, *_several(5), *_span, _planes, _planes)),
    (weigh, void(*_several(3, _planes), *_several(4), float32, *_several(3), _flag, *_span, *_several(3))),
    (deflate, void(_plane, _plane, *_span, *_several(3))),
    (leave_out, void(*_several(4), *_span, _plane)),
    (settle, void(*_several(6), _flag, *_span, _plane)),
    (variance, void(*_several(4), _flag, *_span, _plane)),
    (cost, void(_stack, *_several(4), float32, *_span, _index, _plane, _plane)),
]
