"""Blurred images and residuals, a few rows at a time.

Every blur is separable, and no blurred image is ever stored. All filters are sums over
pairs, ``c_i (x[l - i] + x[r + i])``, with four or more running sums at a time, so that the
taps are read once for all of them and the additions overlap.

Four rows are filtered down the columns into line buffers, then along the lines, and the
residual is taken at once. Half-size nodes read the small image, and get their full width
back on the way along the line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ....engines.compile_inner import INNER
from ....engines.simd import LANES, interleave_high, interleave_low, load, splat, store, take_even, take_odd
from .plan import CHUNK, FULL_SIZE, GROUP, IDENTITY

__all__ = ["halve_rows", "residual_rows"]

#: Lines of a node that are made before they are read: stores need time to land.
LINES = 4

# Not plain numbers: numba would compile a function anew for every plain number that it is called with.
_START = np.int64(0)  #: the first column of a line
_NEXT = np.int64(1)  #: from pixel to pixel along a line


@njit(nogil=True, forceinline=True, **INNER)
def _sum_pairs(src: Any, left: int, right: int, step: int, taps: Any, at: int, pairs: int) -> Any:
    """Four neighbouring vectors of ``sum_i taps[i] (src[left - i step] + src[right + i step])``."""
    c = splat(taps[at])
    a0 = c * (load(src, left) + load(src, right))
    a1 = c * (load(src, left + LANES) + load(src, right + LANES))
    a2 = c * (load(src, left + 2 * LANES) + load(src, right + 2 * LANES))
    a3 = c * (load(src, left + 3 * LANES) + load(src, right + 3 * LANES))
    for i in range(1, pairs):
        c = splat(taps[at + i])
        before = left - i * step
        after = right + i * step
        a0 = a0 + c * (load(src, before) + load(src, after))
        a1 = a1 + c * (load(src, before + LANES) + load(src, after + LANES))
        a2 = a2 + c * (load(src, before + 2 * LANES) + load(src, after + 2 * LANES))
        a3 = a3 + c * (load(src, before + 3 * LANES) + load(src, after + 3 * LANES))
    return a0, a1, a2, a3


@njit(nogil=True, **INNER)
def _filter_line(
    src: Any, left: int, right: int, step: int, taps: Any, at: int, pairs: int, dst: Any, to: int, width: int
) -> None:
    """Filter ``width`` pixels into ``dst``; the last group is moved left to end there."""
    j = 0
    while j < width:
        i = min(j, width - GROUP)
        a0, a1, a2, a3 = _sum_pairs(src, left + i, right + i, step, taps, at, pairs)
        store(dst, to + i, a0)
        store(dst, to + i + LANES, a1)
        store(dst, to + i + 2 * LANES, a2)
        store(dst, to + i + 3 * LANES, a3)
        j += GROUP


@njit(nogil=True, **INNER)
def _residual_line(
    src: Any,
    start: int,
    taps: Any,
    at: int,
    pairs: int,
    other: Any,
    there: int,
    sign: float,
    dst: Any,
    to: int,
    width: int,
) -> None:
    """``sign * (other - filtered)`` for ``width`` pixels."""
    minus = splat(-sign)
    plus = splat(sign)
    j = 0
    while j < width:
        i = min(j, width - GROUP)
        a0, a1, a2, a3 = _sum_pairs(src, start + i, start + i, _NEXT, taps, at, pairs)
        store(dst, to + i, plus * load(other, there + i) + minus * a0)
        store(dst, to + i + LANES, plus * load(other, there + i + LANES) + minus * a1)
        store(dst, to + i + 2 * LANES, plus * load(other, there + i + 2 * LANES) + minus * a2)
        store(dst, to + i + 3 * LANES, plus * load(other, there + i + 3 * LANES) + minus * a3)
        j += GROUP


@njit(nogil=True, **INNER)
def _residual_line_from_half(
    src: Any,
    start: int,
    taps: Any,
    even: int,
    odd: int,
    pairs: int,
    other: Any,
    there: int,
    sign: float,
    dst: Any,
    to: int,
    width: int,
) -> None:
    """The same from a half-size line: each source pixel gives the pixel on it and the one after it."""
    minus = splat(-sign)
    plus = splat(sign)
    j = 0
    while j < width:
        i = min(j, width - GROUP)
        m = start + i // 2
        right0 = load(src, m)
        right1 = load(src, m + LANES)
        left0 = right0
        left1 = right1
        next0 = load(src, m + 1)
        next1 = load(src, m + 1 + LANES)
        c = splat(taps[even])
        d = splat(taps[odd])
        even0 = c * (left0 + right0)
        even1 = c * (left1 + right1)
        odd0 = d * (left0 + next0)
        odd1 = d * (left1 + next1)
        for p in range(1, pairs):
            c = splat(taps[even + p])
            d = splat(taps[odd + p])
            left0 = load(src, m - p)
            left1 = load(src, m - p + LANES)
            right0 = next0
            right1 = next1
            next0 = load(src, m + p + 1)
            next1 = load(src, m + p + 1 + LANES)
            even0 = even0 + c * (left0 + right0)
            even1 = even1 + c * (left1 + right1)
            odd0 = odd0 + d * (left0 + next0)
            odd1 = odd1 + d * (left1 + next1)
        store(dst, to + i, plus * load(other, there + i) + minus * interleave_low(even0, odd0))
        store(dst, to + i + LANES, plus * load(other, there + i + LANES) + minus * interleave_high(even0, odd0))
        store(dst, to + i + 2 * LANES, plus * load(other, there + i + 2 * LANES) + minus * interleave_low(even1, odd1))
        store(dst, to + i + 3 * LANES, plus * load(other, there + i + 3 * LANES) + minus * interleave_high(even1, odd1))
        j += GROUP


@njit(nogil=True, **INNER)
def residual_rows(
    work: Any, lay: Any, k: int, channel: int, top: int, left: int, columns: int, begin: int, shift: int
) -> None:
    """Residual of node ``k`` in one channel, from row ``begin`` of a chunk on.

    Parameters
    ----------
    top, left
        The first pixel, in padded coordinates; ``left`` is a multiple of the lanes.
    columns
        Pixels to be estimated in a row; their windows reach further.
    shift
        Columns to leave free at the start of the residual's buffer.
    """
    taps, recipe, scratch = work.taps, work.recipe, work.scratch
    kind, at, pairs, odd_at = recipe[k, 0], recipe[k, 2], recipe[k, 3], recipe[k, 4]
    sharp, blurry, half_sharp = work.first, work.second, work.half_first
    sign = np.float32(1)
    if recipe[k, 1] < 0:
        sharp, blurry, half_sharp = work.second, work.first, work.half_second
        sign = np.float32(-1)
    to = lay.at_e + k * lay.e_node + channel * lay.e_size + shift
    plane = channel * lay.plane
    half_plane = channel * lay.half_plane
    here = left - lay.lead
    width = max(-(-(columns + lay.lead + lay.half) // LANES) * LANES, GROUP)
    end = CHUNK + lay.window - 1
    if kind == IDENTITY:
        for row in range(begin, end):
            at_row = plane + (top - lay.half + row) * lay.stride + here
            for j in range(0, width, LANES):
                store(scratch, to + row * lay.e_stride + j, load(blurry, at_row + j) - load(sharp, at_row + j))
        return
    # Lines start at a multiple of the lanes, so that loads down the columns never cross a cache line.
    source = here if kind == FULL_SIZE else here // 2
    source_end = left + columns + lay.half if kind == FULL_SIZE else (left + columns + lay.half) // 2 + 1
    start = (source - pairs) // LANES * LANES
    line_width = max(-(-(source_end + pairs - start) // LANES) * LANES, GROUP)
    for block in range(begin, end, LINES):
        stop = min(block + LINES, end)
        for row in range(block, stop):
            y = top - lay.half + row
            line = lay.at_line + (row - block) * lay.line_stride
            if kind == FULL_SIZE:
                m = plane + y * lay.stride + start
                _filter_line(sharp, m, m, lay.stride, taps, at, pairs, scratch, line, line_width)
            else:
                odd = y % 2
                m = half_plane + (y // 2) * lay.half_stride + start
                n = m + odd * lay.half_stride
                tap = odd_at if odd else at
                _filter_line(half_sharp, m, n, lay.half_stride, taps, tap, pairs, scratch, line, line_width)
        for row in range(block, stop):
            there = plane + (top - lay.half + row) * lay.stride + here
            line = lay.at_line + (row - block) * lay.line_stride + source - start
            e = to + row * lay.e_stride
            if kind == FULL_SIZE:
                _residual_line(scratch, line, taps, at, pairs, blurry, there, sign, scratch, e, width)
            else:
                _residual_line_from_half(scratch, line, taps, at, odd_at, pairs, blurry, there, sign, scratch, e, width)


@njit(nogil=True, **INNER)
def halve_rows(
    image: Any, taps: Any, prefilter: Any, lay: Any, channel: int, begin: int, end: int, lines: Any, half: Any
) -> None:
    """Rows ``begin ... end - 1`` of a channel of the half-size image: blurred, every other pixel.

    ``lines`` holds three rows: one filtered vertically, and its even and odd columns.
    Where the filter would leave the padded image nothing is written; nothing reads it.
    """
    radius = prefilter[0, 1]
    margin = -(-radius // (2 * LANES)) * LANES
    even = lay.stride + GROUP
    odd = even + lay.half_stride + GROUP
    count = lay.stride // (2 * LANES) * LANES - 2 * margin
    for row in range(begin, end):
        if 2 * row < radius or 2 * row + radius >= lay.rows:
            continue
        at_row = channel * lay.plane + 2 * row * lay.stride
        _filter_line(image, at_row, at_row, lay.stride, taps, prefilter[0, 0], radius, lines, _START, lay.stride)
        for j in range(0, lay.stride // (2 * LANES) * LANES, LANES):
            a = load(lines, 2 * j)
            b = load(lines, 2 * j + LANES)
            store(lines, even + j, take_even(a, b))
            store(lines, odd + j, take_odd(a, b))
        to = channel * lay.half_plane + row * lay.half_stride + margin
        j = 0
        while j < count:
            i = min(j, count - GROUP)
            m = even + margin + i
            a0, a1, a2, a3 = _sum_pairs(lines, m, m, _NEXT, taps, prefilter[1, 0], prefilter[1, 1])
            m = odd + margin + i
            b0, b1, b2, b3 = _sum_pairs(lines, m - 1, m, _NEXT, taps, prefilter[2, 0], prefilter[2, 1])
            store(half, to + i, a0 + b0)
            store(half, to + i + LANES, a1 + b1)
            store(half, to + i + 2 * LANES, a2 + b2)
            store(half, to + i + 3 * LANES, a3 + b3)
            j += GROUP
