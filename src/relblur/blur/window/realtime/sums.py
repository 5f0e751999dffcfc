"""Window sums of products of residuals: the Gram sums A, B and C.

A sum over a window is made of fresh additions of non-negative numbers (or of products),
never by adding what enters and subtracting what leaves: a running sum in float32 would
carry the rounding of a strong edge into the quiet pixels after it. Four rows share what
their windows have in common, so fresh sums cost no more than running ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ....engines.compile_inner import INNER
from ....engines.simd import LANES, later, load, maximum, splat, store
from .plan import CHUNK

__all__ = ["texture", "window_sums", "window_sums_twice"]

_ZERO = np.float32(0)

#: Rounding of a variance made in float32, relative to the mean square it is the difference of.
_ROUNDING = np.float32(2e-7)


@njit(nogil=True, forceinline=True, **INNER)
def _sum_rows(scratch: Any, one: int, two: int, lay: Any, to: int, width: int) -> None:
    """Sums over the window's rows of products, all channels, for four windows that start one row apart."""
    stride, window = lay.e_stride, lay.window
    for j in range(0, width, LANES):
        all0 = splat(_ZERO)
        all1 = all0
        all2 = all0
        all3 = all0
        for channel in range(lay.channels):
            a = one + channel * lay.e_size + j
            b = two + channel * lay.e_size + j
            p0 = load(scratch, a) * load(scratch, b)
            p1 = load(scratch, a + stride) * load(scratch, b + stride)
            p2 = load(scratch, a + 2 * stride) * load(scratch, b + 2 * stride)
            early = p1 + p2
            shared = splat(_ZERO)
            for _ in range(3, window):
                shared = shared + load(scratch, a + 3 * stride) * load(scratch, b + 3 * stride)
                a += stride
                b += stride
            a += 3 * stride
            b += 3 * stride
            q0 = load(scratch, a) * load(scratch, b)
            q1 = load(scratch, a + stride) * load(scratch, b + stride)
            q2 = load(scratch, a + 2 * stride) * load(scratch, b + 2 * stride)
            late = q0 + q1
            all0 = all0 + (p0 + early + shared)
            all1 = all1 + (early + q0 + shared)
            all2 = all2 + (p2 + late + shared)
            all3 = all3 + (late + q2 + shared)
        store(scratch, to + j, all0)
        store(scratch, to + stride + j, all1)
        store(scratch, to + 2 * stride + j, all2)
        store(scratch, to + 3 * stride + j, all3)


@njit(nogil=True, forceinline=True, **INNER)
def _sum_rows_twice(scratch: Any, common: int, one: int, two: int, lay: Any, to: int, width: int) -> None:
    """The same for the products of one residual with two others, which reads it once."""
    stride, window = lay.e_stride, lay.window
    for j in range(0, width, LANES):
        all0 = splat(_ZERO)
        all1 = all0
        all2 = all0
        all3 = all0
        other0 = all0
        other1 = all0
        other2 = all0
        other3 = all0
        for channel in range(lay.channels):
            c = common + channel * lay.e_size + j
            a = one + channel * lay.e_size + j
            b = two + channel * lay.e_size + j
            x = load(scratch, c)
            p0 = x * load(scratch, a)
            r0 = x * load(scratch, b)
            x = load(scratch, c + stride)
            p1 = x * load(scratch, a + stride)
            r1 = x * load(scratch, b + stride)
            x = load(scratch, c + 2 * stride)
            p2 = x * load(scratch, a + 2 * stride)
            r2 = x * load(scratch, b + 2 * stride)
            early = p1 + p2
            early_other = r1 + r2
            shared = splat(_ZERO)
            shared_other = shared
            for _ in range(3, window):
                x = load(scratch, c + 3 * stride)
                shared = shared + x * load(scratch, a + 3 * stride)
                shared_other = shared_other + x * load(scratch, b + 3 * stride)
                a += stride
                b += stride
                c += stride
            a += 3 * stride
            b += 3 * stride
            c += 3 * stride
            all0 = all0 + (p0 + early + shared)
            other0 = other0 + (r0 + early_other + shared_other)
            x = load(scratch, c)
            q0 = x * load(scratch, a)
            r0 = x * load(scratch, b)
            all1 = all1 + (early + q0 + shared)
            other1 = other1 + (early_other + r0 + shared_other)
            x = load(scratch, c + stride)
            q1 = x * load(scratch, a + stride)
            r1 = x * load(scratch, b + stride)
            late = q0 + q1
            late_other = r0 + r1
            all2 = all2 + (p2 + late + shared)
            other2 = other2 + (r2 + late_other + shared_other)
            x = load(scratch, c + 2 * stride)
            all3 = all3 + (late + x * load(scratch, a + 2 * stride) + shared)
            other3 = other3 + (late_other + x * load(scratch, b + 2 * stride) + shared_other)
        store(scratch, to + j, all0)
        store(scratch, to + stride + j, all1)
        store(scratch, to + 2 * stride + j, all2)
        store(scratch, to + 3 * stride + j, all3)
        to_other = to + 4 * stride
        store(scratch, to_other + j, other0)
        store(scratch, to_other + stride + j, other1)
        store(scratch, to_other + 2 * stride + j, other2)
        store(scratch, to_other + 3 * stride + j, other3)


@njit(nogil=True, **INNER)
def _sum_columns(scratch: Any, at: int, window: int, to: int, width: int) -> None:
    """Sums over ``window`` neighbours in a row."""
    if window == 9:
        # Sums of two, four and eight are shifted in registers: half the loads of nine.
        x = load(scratch, at)
        y = load(scratch, at + LANES)
        two = x + later(x, y, 1)
        for j in range(0, width, LANES):
            z = load(scratch, at + j + 2 * LANES)
            next_two = y + later(y, z, 1)
            four = two + later(two, next_two, 2)
            next_four = next_two + later(next_two, next_two, 2)
            store(scratch, to + j, four + later(four, next_four, 4) + later(x, y, 8))
            x = y
            y = z
            two = next_two
        return
    for j in range(0, width, LANES):
        total = load(scratch, at + j)
        for d in range(1, window):
            total = total + load(scratch, at + j + d)
        store(scratch, to + j, total)


@njit(nogil=True, **INNER)
def window_sums(scratch: Any, one: int, two: int, plane: int, lay: Any, columns: int) -> None:
    """Window sums of the product of two residuals, for ``columns`` columns of a chunk."""
    width = -(-(columns + lay.lead + lay.half) // LANES) * LANES
    lines = lay.at_line
    for row in range(0, CHUNK, 4):
        below = row * lay.e_stride
        if one == two:  # Said twice, so that squares are compiled to one load each.
            _sum_rows(scratch, one + below, one + below, lay, lines, width)
        else:
            _sum_rows(scratch, one + below, two + below, lay, lines, width)
        for i in range(4):
            at = lines + i * lay.e_stride + lay.lead - lay.half
            _sum_columns(scratch, at, lay.window, plane + (row + i) * lay.p_stride, columns)


@njit(nogil=True, **INNER)
def window_sums_twice(
    scratch: Any, common: int, one: int, two: int, plane: int, other: int, lay: Any, columns: int
) -> None:
    """Window sums of the products of one residual with two others, into two planes."""
    width = -(-(columns + lay.lead + lay.half) // LANES) * LANES
    lines = lay.at_line
    for row in range(0, CHUNK, 4):
        below = row * lay.e_stride
        _sum_rows_twice(scratch, common + below, one + below, two + below, lay, lines, width)
        for i in range(4):
            at = lines + i * lay.e_stride + lay.lead - lay.half
            to = (row + i) * lay.p_stride
            _sum_columns(scratch, at, lay.window, plane + to, columns)
            _sum_columns(scratch, at + 4 * lay.e_stride, lay.window, other + to, columns)


@njit(nogil=True, forceinline=True, **INNER)
def _sum_rows_of_image(image: Any, corner: int, offset: Any, lay: Any, scratch: Any, width: int) -> None:
    """Sums of values and of their squares over the window's rows, for four windows that start one row apart."""
    stride = lay.stride
    for j in range(0, width, LANES):
        at = corner + j
        p0 = load(image, at) - offset
        p1 = load(image, at + stride) - offset
        p2 = load(image, at + 2 * stride) - offset
        core = splat(_ZERO)
        core2 = core
        for _ in range(3, lay.window):
            x = load(image, at + 3 * stride) - offset
            core = core + x
            core2 = core2 + x * x
            at += stride
        at += 3 * stride
        q0 = load(image, at) - offset
        q1 = load(image, at + stride) - offset
        q2 = load(image, at + 2 * stride) - offset
        to = lay.at_line + j
        store(scratch, to, core + p0 + p1 + p2)
        store(scratch, to + lay.e_stride, core + p1 + p2 + q0)
        store(scratch, to + 2 * lay.e_stride, core + p2 + q0 + q1)
        store(scratch, to + 3 * lay.e_stride, core + q0 + q1 + q2)
        to += 4 * lay.e_stride
        store(scratch, to, core2 + p0 * p0 + p1 * p1 + p2 * p2)
        store(scratch, to + lay.e_stride, core2 + p1 * p1 + p2 * p2 + q0 * q0)
        store(scratch, to + 2 * lay.e_stride, core2 + p2 * p2 + q0 * q0 + q1 * q1)
        store(scratch, to + 3 * lay.e_stride, core2 + q0 * q0 + q1 * q1 + q2 * q2)


@njit(nogil=True, **INNER)
def texture(work: Any, image: Any, lay: Any, top: int, left: int, columns: int, plane: int) -> None:
    """Variance of an image in every window of a chunk, mean of the channels, into a plane of scratch.

    Values are taken relative to one of them, since the difference of two large numbers would
    lose what flat areas hold; the rounding that is left is added, so that a texture is never
    taken for smaller than it is.
    """
    scratch = work.scratch
    width = -(-(columns + lay.lead + lay.half) // LANES) * LANES
    inverse_count = splat(np.float32(1) / np.float32(lay.window * lay.window))
    share = splat(np.float32(1) / np.float32(lay.channels))
    squares_at = lay.at_line + 4 * lay.e_stride
    for channel in range(lay.channels):
        corner = channel * lay.plane + (top - lay.half) * lay.stride + left - lay.lead
        centre = image[corner + (lay.half + CHUNK // 2) * lay.stride + lay.lead + columns // 2]
        offset = splat(np.float32(centre))
        for row in range(0, CHUNK, 4):
            _sum_rows_of_image(image, corner + row * lay.stride, offset, lay, scratch, width)
            for i in range(4):
                to = plane + (row + i) * lay.p_stride
                # In place: a column's sum is written at or left of where it was read from.
                sums = lay.at_line + i * lay.e_stride
                squares_sums = squares_at + i * lay.e_stride
                _sum_columns(scratch, sums + lay.lead - lay.half, lay.window, sums, columns)
                _sum_columns(scratch, squares_sums + lay.lead - lay.half, lay.window, squares_sums, columns)
                for j in range(0, columns, LANES):
                    mean = load(scratch, sums + j) * inverse_count
                    power = load(scratch, squares_sums + j) * inverse_count
                    variance = maximum(power - mean * mean, splat(_ZERO)) + splat(_ROUNDING) * power
                    before = splat(_ZERO)
                    if channel > 0:
                        before = load(scratch, to + j)
                    store(scratch, to + j, before + variance * share)
