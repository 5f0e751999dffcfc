"""From Gram sums to the answer: the best node, and the minimum of the quartic around it.

The arithmetic is that of ``relblur.blur.window.method._minimum_between_nodes`` in float32.
That is enough where there is an answer: the differences ff, gg, fg lose digits only where
they are small beside the residuals themselves, and a pixel is not FLAT only if they are
at least 0.7 / (samples - 1) of them, 1 % in a 9 x 9 window, which leaves 4 digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ....engines.compile_inner import INNER
from ....engines.simd import LANES, any_lane, inverse, load, maximum, minimum, select, splat, sqrt, store, store_bytes

__all__ = [
    "AT_LIMIT",
    "FLAT",
    "choose_nodes",
    "choose_sides",
    "clear_least",
    "find_winners",
    "solve_chunk",
    "unsettled",
]

FLAT = 4  #: bit of relblur.blur.blur_map.Flag
AT_LIMIT = 32  #: bit of relblur.blur.blur_map.Flag

_ZERO = np.float32(0)
_HALF = np.float32(0.5)
_ONE = np.float32(1)
_TWO = np.float32(2)
_INFINITY = np.float32(np.inf)
_NAN = np.float32(np.nan)


@njit(nogil=True, **INNER)
def choose_sides(scratch: Any, lay: Any, columns: int, rows: int, values: Any, floor: float) -> Any:
    """Decide at every pixel which image is sharper, by the cost at the probes.

    Returns the columns in which some pixel says ``first``, then those for ``second``, each
    as begin and end (begin >= end if there are none).
    """
    up, down = lay.zero + lay.probe, lay.zero - lay.probe
    gain_up, gain_down = splat(values[up, 0]), splat(values[down, 0])
    least = splat(floor)
    up_from, up_to, down_from, down_to = columns, 0, columns, 0
    for j in range(0, columns, LANES):
        any_up = False
        any_down = False
        for row in range(rows):
            at = row * lay.p_stride + j
            cost_up = (load(scratch, lay.at_a + up * lay.p_size + at) + least) * gain_up
            cost_down = (load(scratch, lay.at_a + down * lay.p_size + at) + least) * gain_down
            side = select(cost_up <= cost_down, splat(_ONE), splat(-_ONE))
            store(scratch, lay.at_side + at, side)
            any_up |= any_lane(splat(_ZERO) < side)
            any_down |= any_lane(side < splat(_ZERO))
        if any_up:
            up_from, up_to = min(up_from, j), j + LANES
        if any_down:
            down_from, down_to = min(down_from, j), j + LANES
    return up_from, up_to, down_from, down_to


@njit(nogil=True, **INNER)
def unsettled(
    scratch: Any,
    lay: Any,
    k: int,
    before: int,
    begin: int,
    end: int,
    rows: int,
    stop: float,
    floor: float,
    side: int,
    new: bool,
) -> Any:
    """Columns in which the nodes beyond node ``k`` must be looked at.

    A pixel is settled if the cost at ``k`` is above that at ``before``, the node it came
    from, and more than ``stop`` times its least. Only pixels of the ``side`` count, if it is
    not 0. If ``new``, node ``k`` has not been seen yet and the least costs are brought up to
    date first.
    """
    plane = lay.at_a + k * lay.p_size
    plane_before = lay.at_a + before * lay.p_size
    least_noise, factor, wanted = splat(floor), splat(stop), splat(np.float32(side))
    everywhere = splat(_ZERO) < splat(_ONE)
    first, last = end, begin
    for j in range(begin, end, LANES):
        open_ = splat(_ONE) < splat(_ZERO)
        for row in range(rows):
            at = row * lay.p_stride + j
            squares = load(scratch, plane + at)
            least = load(scratch, lay.at_least + at)
            mine = everywhere
            if side != 0:
                mine = load(scratch, lay.at_side + at) == wanted
            if new:
                least = select(mine, minimum(squares, least), least)
                store(scratch, lay.at_least + at, least)
            # Written so that NaN leaves a pixel open.
            rising = load(scratch, plane_before + at) < squares
            high = factor * (least + least_noise) < squares + least_noise
            open_ = open_ | (mine & inverse(rising & high))
        if any_lane(open_):
            first, last = min(first, j), j + LANES
    return first, last


@njit(nogil=True, **INNER)
def clear_least(scratch: Any, lay: Any, columns: int, rows: int) -> None:
    """Forget the least costs of the chunk before."""
    for row in range(rows):
        at = lay.at_least + row * lay.p_stride
        for j in range(at, at + columns, LANES):
            store(scratch, j, splat(_INFINITY))


@njit(nogil=True, **INNER)
def choose_nodes(
    scratch: Any, lay: Any, columns: int, rows: int, values: Any, floor: float, freedom: float, noise2: float, sums: Any
) -> None:
    """Find the best node of every pixel, and how many nodes fit as well.

    Nodes compete by cost a unit of noise variance; at the side a pixel has chosen, or next
    to zero. A node fits as well if its sum of squares is within one noise variance of the
    least: half the number of such nodes beyond the first is the least error, in nodes (see
    ``_not_surer_than_the_nodes`` in the reference). Winners are kept off the ends.

    ``sums`` holds, for every node, the columns in which its sum was made (begin, end).
    """
    zero, one = splat(_ZERO), splat(_ONE)
    last = splat(np.float32(lay.nodes - 2))
    least_noise = splat(floor)
    for j in range(0, columns, LANES):
        low, high = lay.nodes, 0
        for k in range(lay.nodes):
            if sums[0, k] <= j < sums[1, k]:
                low, high = min(low, k), k + 1
        for row in range(rows):
            at = row * lay.p_stride + j
            best = splat(_INFINITY)
            least = best
            name = one
            side = zero
            if lay.two_sided:
                side = load(scratch, lay.at_side + at)
            for k in range(low, high):
                if sums[0, k] <= j < sums[1, k]:
                    squares = load(scratch, lay.at_a + k * lay.p_size + at)
                    if lay.two_sided:
                        squares = select(_in_race(lay, k, side), squares, splat(_INFINITY))
                    cost = (squares + least_noise) * splat(values[k, 0])
                    better = cost < best
                    best = select(better, cost, best)
                    name = select(better, splat(np.float32(k)), name)
                    least = minimum(squares, least)
            limit = least + maximum(least * splat(np.float32(1) / freedom), splat(noise2))
            count = zero
            for k in range(low, high):
                if sums[0, k] <= j < sums[1, k]:
                    good = load(scratch, lay.at_a + k * lay.p_size + at) <= limit
                    if lay.two_sided:
                        good = good & _in_race(lay, k, side)
                    count = count + select(good, one, zero)
            store(scratch, lay.at_best + at, minimum(maximum(name, one), last))
            store(scratch, lay.at_span + at, splat(_HALF) * (count - one))


@njit(nogil=True, forceinline=True, **INNER)
def _in_race(lay: Any, k: int, side: Any) -> Any:
    """Where node ``k`` may win: on its own side, or next to zero, as s passes smoothly through it."""
    away = np.float32(k - lay.zero)
    if abs(away) <= 1:
        away = np.float32(0)
    return splat(_ZERO) <= side * splat(away)


@njit(nogil=True, **INNER)
def find_winners(scratch: Any, lay: Any, columns: int, rows: int, winners: Any) -> int:
    """List the best nodes that occur, with the columns in which they do.

    Returns how many there are.
    """
    low = splat(_ONE)
    high = splat(np.float32(lay.nodes - 2))
    for node in range(lay.nodes):
        winners[1, node] = columns
        winners[2, node] = 0
    for j in range(0, columns, LANES):
        least = high
        most = low
        for row in range(rows):
            at = lay.at_best + row * lay.p_stride + j
            k = load(scratch, at)
            least = minimum(least, k)
            most = maximum(most, k)
        for node in range(1, lay.nodes - 1):
            name = splat(np.float32(node))
            # Nodes between the least and the most need not occur, but nearly always do.
            if any_lane(least <= name) and any_lane(name <= most):
                winners[1, node] = min(winners[1, node], j)
                winners[2, node] = j + LANES
    count = 0
    for node in range(1, lay.nodes - 1):
        if winners[2, node] > 0:
            winners[0, count] = node
            winners[1, count] = winners[1, node]
            winners[2, count] = winners[2, node]
            count += 1
    return count


@njit(nogil=True, **INNER)
def solve_chunk(
    work: Any,
    lay: Any,
    columns: int,
    rows: int,
    count: int,
    spacing: float,
    freedom: float,
    noise2: float,
    flat: float,
    rounded_first: float,
    rounded_second: float,
    blank: bool,
    out: int,
) -> None:
    """Minimise the quartic at every pixel of a chunk and write the results from ``out`` on.

    A pixel is FLAT if its error in nodes exceeds ``flat``, if no blur explains even half of the
    blurrier image's texture, or if the variance of both images is below what rounding
    leaves. Such pixels get NaN if ``blank``.

    With f = e_k+1 - e_k and g = e_k-1 - e_k the residual is e + x d + x^2 q, where
    d = (f - g) / 2 and q = (f + g) / 2 for x = (t - t_k) / spacing.
    """
    scratch, values, winners = work.scratch, work.values, work.winners
    zero = splat(_ZERO)
    one = splat(_ONE)
    two = splat(_TWO)
    four = splat(np.float32(4))
    quarter = splat(np.float32(0.25))
    for row in range(rows):
        at = row * lay.p_stride
        for j in range(at, at + columns, LANES):
            k = load(scratch, lay.at_best + j)
            ee = zero
            up = zero
            down = zero
            e_up = zero
            e_down = zero
            up_down = zero
            s_k = zero
            width_k = zero
            for i in range(count):
                node = winners[0, i]
                mine = k == splat(np.float32(node))
                if any_lane(mine):
                    a = lay.at_a + node * lay.p_size + j
                    b = lay.at_b + node * lay.p_size + j
                    ee = select(mine, load(scratch, a), ee)
                    up = select(mine, load(scratch, a + lay.p_size), up)
                    down = select(mine, load(scratch, a - lay.p_size), down)
                    e_up = select(mine, load(scratch, b), e_up)
                    e_down = select(mine, load(scratch, b - lay.p_size), e_down)
                    up_down = select(mine, load(scratch, lay.at_c + node * lay.p_size + j), up_down)
                    s_k = select(mine, splat(values[node, 1]), s_k)
                    width_k = select(mine, splat(values[node, 2]), width_k)
            ef = e_up - ee
            eg = e_down - ee
            ff = up - e_up - ef
            gg = down - e_down - eg
            fg = up_down - e_up - eg
            ed = splat(_HALF) * (ef - eg)
            eq = splat(_HALF) * (ef + eg)
            both = ff + gg
            dd = quarter * maximum(both - two * fg, zero)
            qq = quarter * maximum(both + two * fg, zero)
            dq = quarter * (ff - gg)

            x = select(zero < dd, (zero - ed) / dd, zero)
            x = minimum(maximum(x, zero - one), one)
            bend0 = dd + two * eq
            for _ in range(3):
                slope = ed + x * (bend0 + x * (splat(np.float32(3)) * dq + x * (two * qq)))
                bend = bend0 + splat(np.float32(6)) * x * (dq + x * qq)
                gauss_newton = dd + four * x * (dq + x * qq)
                # The floor keeps a step downhill where the quartic bends the wrong way.
                step = slope / maximum(bend, splat(np.float32(0.3)) * gauss_newton)
                x = x - select(zero < gauss_newton, step, zero)
                x = minimum(maximum(x, zero - one), one)
            information = maximum(dd + four * x * (dq + x * qq), zero)
            cost = ee + x * (two * ed + x * (bend0 + x * (two * dq + x * qq)))
            variance = maximum(cost * splat(np.float32(1) / freedom), splat(noise2))

            # c sinh and c cosh of t_k + y; |y| is at most one spacing, so three terms do.
            y = x * splat(spacing)
            y2 = y * y
            sinh = y * (
                one
                + y2
                * splat(np.float32(1 / 6))
                * (one + y2 * splat(np.float32(1 / 20)) * (one + y2 * splat(np.float32(1 / 42))))
            )
            cosh = one + y2 * splat(_HALF) * (
                one
                + y2
                * splat(np.float32(1 / 12))
                * (one + y2 * splat(np.float32(1 / 30)) * (one + y2 * splat(np.float32(1 / 56))))
            )
            s = s_k * cosh + width_k * sinh
            # Rounding must not carry a given direction across zero.
            if not lay.limit_low:
                s = maximum(s, zero)
            if not lay.limit_high:
                s = minimum(s, zero)
            scale = (width_k * cosh + s_k * sinh) * splat(spacing)
            # Relative to ``scale``, that is in nodes: the error by curvature, but no less than half the
            # span of nodes that fit as well as the best one (see choose_nodes).
            error = select(zero < information, sqrt(variance / information), splat(_INFINITY))
            error = maximum(error, load(scratch, lay.at_span + j))
            stderr = error * scale
            first = load(scratch, lay.at_texture + j)
            second = load(scratch, lay.at_texture + lay.p_size + j)
            unexplained = maximum(cost, zero) * splat(np.float32(1) / (freedom + _ONE))
            known = (error <= splat(flat)) & (unexplained <= splat(_HALF) * select(zero <= s, second, first))
            known = known & ((splat(rounded_first) <= first) | (splat(rounded_second) <= second))
            flags = select(known, zero, splat(np.float32(FLAT)))
            sharper = select(stderr < s, one, select(s < zero - stderr, zero - one, zero))
            end = zero
            if lay.limit_high:
                end = select((k == splat(np.float32(lay.nodes - 2))) & (x == one), splat(np.float32(AT_LIMIT)), end)
            if lay.limit_low:
                end = select((k == one) & (x == zero - one), splat(np.float32(AT_LIMIT)), end)
            to = out + row * lay.out_stride + j - at
            if blank:
                s = select(known, s, splat(_NAN))
                stderr = select(known, stderr, splat(_NAN))
            store(work.s, to, s)
            store(work.stderr, to, stderr)
            store_bytes(work.sharper, to, sharper)
            store_bytes(work.flags, to, flags + end)
