"""The loops that turn the map into ``s`` and back, compiled: twins of those in ``plain.coordinate``.

Conventions as in :mod:`.evidence`.
"""

# Compiled by numba, which gives these functions their types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

from __future__ import annotations

import math

import numba
import numpy as np
from numba import float32, int64, void

from .row_loops import CALLED, ROW

__all__ = ["SIGNATURES"]

_TWO = np.float32(2)


@numba.njit(**CALLED)
def place(z, is_sigma, step, curved, softening, first, last, s, scale):
    """Write ``s`` (if it is not ``z``) and the unit of relative blur.

    That is ``step sqrt(curved s^2 + softening^2) / (ds/dz)``.  Twin of ``CoordinateLoops.place``.
    """
    for y in range(first, last):
        given, to, unit = z[y], s[y], scale[y]
        if is_sigma:
            for x in range(given.size):
                square = given[x] * given[x]
                to[x] = square
                unit[x] = step * math.sqrt(curved * square * square + softening * softening) / (_TWO * given[x])
        else:
            for x in range(given.size):
                unit[x] = step * math.sqrt(curved * given[x] * given[x] + softening * softening)


@numba.njit(**CALLED)
def carry(w, g, z, first, last, w_out, g_out):
    """Write information and score of ``sigma`` from those of ``s``, twin of ``CoordinateLoops.carry``."""
    for y in range(first, last):
        here, info, score, w_to, g_to = z[y], w[y], g[y], w_out[y], g_out[y]
        for x in range(here.size):
            gain = _TWO * here[x]
            w_to[x] = info[x] * (gain * gain)
            g_to[x] = score[x] * gain


@numba.njit(**CALLED)
def move(z, delta, scale, trust, low, high, first, last, out):
    """Write the map after a step, twin of ``CoordinateLoops.move``."""
    for y in range(first, last):
        here, step, unit, to = z[y], delta[y], scale[y], out[y]
        for x in range(here.size):
            most = trust * unit[x]
            to[x] = min(max(here[x] + min(max(step[x], -most), most), low), high)


@numba.njit(**ROW)
def _continue_plane(level, down, across, dy, dx, low, high, is_sigma, candidate, s):
    for x in range(candidate.size):
        value = min(max(level[x] - (down[x] * dy + across[x] * dx), low), high)
        candidate[x] = value
        s[x] = value * value if is_sigma else value


@numba.njit(**CALLED)
def neighbour_plane(z, slope, dy, dx, low, high, is_sigma, first, last, candidate, s):
    """Write the plane of the pixel ``(dy, dx)`` away continued to here, twin of ``CoordinateLoops.neighbour_plane``."""
    height, width = z.shape
    # Columns whose neighbour is inside; that of the others is the first or the last.
    begin, end = min(max(-dx, 0), width), max(min(width - dx, width), 0)
    for y in range(first, last):
        v = min(max(y + dy, 0), height - 1)
        level, down, across, to, to_s = z[v], slope[0, v], slope[1, v], candidate[y], s[y]
        rows = float32(v - y)
        for x in range(begin):
            _continue_plane(
                level[:1], down[:1], across[:1], rows, float32(-x), low, high, is_sigma, to[x : x + 1], to_s[x : x + 1]
            )
        if begin < end:
            there = slice(begin + dx, end + dx)
            _continue_plane(
                level[there],
                down[there],
                across[there],
                rows,
                float32(dx),
                low,
                high,
                is_sigma,
                to[begin:end],
                to_s[begin:end],
            )
        for x in range(max(end, begin), width):
            last_one = slice(width - 1, width)
            _continue_plane(
                level[last_one],
                down[last_one],
                across[last_one],
                rows,
                float32(width - 1 - x),
                low,
                high,
                is_sigma,
                to[x : x + 1],
                to_s[x : x + 1],
            )


_flag = numba.boolean
_plane = float32[:, ::1]
_span = (int64, int64)


def _several(count):
    return count * (_plane,)


#: Every function that Python calls, with the types it calls it with.
SIGNATURES = [
    (place, void(_plane, _flag, float32, float32, float32, *_span, _plane, _plane)),
    (carry, void(*_several(3), *_span, *_several(2))),
    (move, void(*_several(3), float32, float32, float32, *_span, _plane)),
    (
        neighbour_plane,
        void(_plane, float32[:, :, ::1], int64, int64, float32, float32, _flag, *_span, _plane, _plane),
    ),
]
