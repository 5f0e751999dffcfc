"""One tile from padded images to results, and the loop in which every thread takes tiles.

A tile is a block of columns and a strip of rows, worked through in chunks of rows. A chunk
makes the residuals of the nodes it needs, their window sums, the best node of every pixel,
and the answer, all in one thread's scratch memory, which fits the processor's cache.

What a chunk need not compute it does not:

* sums of mixed products (B, C) are made only around nodes that are best at some pixel, and
  only in the columns where they are (exact);
* with ``sharper="auto"`` the probes come first, and the nodes of a side are made only in
  the columns where some pixel has chosen it (exact);
* the search starts at the probe and goes outwards, then inwards, one node at a time, only
  in columns where some pixel is not *settled*. A pixel is settled if its cost rises and is
  ``STOP`` times the least it has seen (with the noise floor in both): the nodes beyond are
  then taken to be worse still. In noise and in flat areas costs do not rise like that, and
  all nodes are looked at.

The last ``window - 1`` rows of a residual serve the next chunk, if it was made.
Tiles do not depend on each other, so the result does not depend on who computes which.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ....engines.barrier import fetch_add
from ....engines.compile_inner import INNER
from ....engines.simd import LANES, load, store
from .filters import halve_rows, residual_rows
from .plan import CHUNK
from .solve import choose_nodes, choose_sides, clear_least, find_winners, solve_chunk, unsettled
from .sums import texture, window_sums, window_sums_twice

__all__ = ["run_halves", "run_tiles"]

#: Rows of the half-size image that a thread takes at a time.
HALF_BLOCK = 16


# These are not plain numbers: numba would compile a function anew for every plain number that it is called with.
# Rows of ``ranges``; a range is empty if it ends where it begins.
_MADE, _CARRIED, _A, _B = np.int64(0), np.int64(2), np.int64(4), np.int64(6)
_START = np.int64(0)  #: the first column
_FIRST, _SECOND = np.int64(1), np.int64(-1)  #: sides: which image is sharper
_YES, _NO = np.bool_(True), np.bool_(False)


@njit(nogil=True, **INNER)
def _covers(ranges: Any, what: int, k: int, begin: int, end: int) -> bool:
    return ranges[what, k] <= begin and end <= ranges[what + 1, k]


@njit(nogil=True, **INNER)
def _with(ranges: Any, what: int, k: int, begin: int, end: int) -> Any:
    """The columns asked for and those already there: what has been made stays valid."""
    if ranges[what, k] < ranges[what + 1, k]:
        return min(begin, ranges[what, k]), max(end, ranges[what + 1, k])
    return begin, end


@njit(nogil=True, **INNER)
def _make_residual(work: Any, lay: Any, k: int, top: int, left: int, begin: int, end: int) -> None:
    """See that the residual of node ``k`` is there for windows in columns ``begin ... end - 1``."""
    ranges = work.ranges
    if _covers(ranges, _MADE, k, begin, end):
        return
    begin, end = _with(ranges, _MADE, k, begin, end)
    first_row = lay.window - 1 if _covers(ranges, _CARRIED, k, begin, end) else 0
    for channel in range(lay.channels):
        residual_rows(work, lay, k, channel, top, left + begin, end - begin, first_row, begin)
    ranges[_MADE, k] = begin
    ranges[_MADE + 1, k] = end


@njit(nogil=True, **INNER)
def _make_sum(work: Any, lay: Any, what: int, k: int, begin: int, end: int) -> None:
    """See that A_k or B_k is there in columns ``begin ... end - 1``."""
    ranges = work.ranges
    if _covers(ranges, what, k, begin, end):
        return
    begin, end = _with(ranges, what, k, begin, end)
    one = lay.at_e + k * lay.e_node + begin
    if what == _A:
        window_sums(work.scratch, one, one, lay.at_a + k * lay.p_size + begin, lay, end - begin)
    else:
        window_sums(work.scratch, one, one + lay.e_node, lay.at_b + k * lay.p_size + begin, lay, end - begin)
    ranges[what, k] = begin
    ranges[what + 1, k] = end


@njit(nogil=True, **INNER)
def _look_at(work: Any, lay: Any, k: int, top: int, left: int, begin: int, end: int) -> None:
    """See that A_k is there."""
    begin, end = _with(work.ranges, _A, k, begin, end)
    _make_residual(work, lay, k, top, left, begin, end)
    _make_sum(work, lay, _A, k, begin, end)


@njit(nogil=True, **INNER)
def _search_side(
    work: Any,
    lay: Any,
    side: int,
    mixed: bool,
    top: int,
    left: int,
    begin: int,
    end: int,
    rows: int,
    floor: float,
    stop: float,
) -> None:
    """Look at the nodes of one side of zero that pixels in columns ``begin ... end - 1`` may need."""
    scratch, zero = work.scratch, lay.zero
    only = side if mixed else 0
    last = lay.nodes - 1 if side > 0 else 0
    start = zero + side * min(lay.probe, abs(last - zero))
    across = zero - side if lay.two_sided else zero  # the first node on the other side
    _look_at(work, lay, start, top, left, begin, end)
    unsettled(scratch, lay, start, start, begin, end, rows, stop, floor, only, _YES)
    first, stop_at = begin, end
    k = start
    while k != last and first < stop_at:
        k += side
        _look_at(work, lay, k, top, left, first, stop_at)
        first, stop_at = unsettled(scratch, lay, k, k - side, first, stop_at, rows, stop, floor, only, _YES)
    first, stop_at = begin, end
    if start != last:
        first, stop_at = unsettled(scratch, lay, start, start + side, begin, end, rows, stop, floor, only, _NO)
    k = start
    while k != across and first < stop_at:
        k -= side
        _look_at(work, lay, k, top, left, first, stop_at)
        first, stop_at = unsettled(scratch, lay, k, k + side, first, stop_at, rows, stop, floor, only, _YES)


@njit(nogil=True, **INNER)
def _search(work: Any, lay: Any, top: int, left: int, columns: int, rows: int, noise2: float, stop: float) -> None:
    """Find the best node of every pixel of a chunk."""
    samples = np.float32(lay.window * lay.window * lay.channels)
    floor = samples * noise2
    clear_least(work.scratch, lay, columns, rows)
    if lay.two_sided:
        _look_at(work, lay, lay.zero - lay.probe, top, left, _START, columns)
        _look_at(work, lay, lay.zero + lay.probe, top, left, _START, columns)
        up_from, up_to, down_from, down_to = choose_sides(work.scratch, lay, columns, rows, work.values, floor)
        mixed = up_from < up_to and down_from < down_to
        if up_from < up_to:
            _search_side(work, lay, _FIRST, mixed, top, left, up_from, up_to, rows, floor, stop)
        if down_from < down_to:
            _search_side(work, lay, _SECOND, mixed, top, left, down_from, down_to, rows, floor, stop)
    else:
        side = _FIRST if lay.zero == 0 else _SECOND
        _search_side(work, lay, side, _NO, top, left, _START, columns, rows, floor, stop)
    sums = work.ranges[_A : _A + 2]
    choose_nodes(work.scratch, lay, columns, rows, work.values, floor, samples - np.float32(1), noise2, sums)


@njit(nogil=True, **INNER)
def _make_gram(work: Any, lay: Any, top: int, left: int, columns: int, rows: int) -> int:
    """Make the sums around every node that is best somewhere; returns how many such nodes there are."""
    winners = work.winners
    count = find_winners(work.scratch, lay, columns, rows, winners)
    for i in range(count):
        k, begin, end = winners[0, i], winners[1, i], winners[2, i]
        for node in (k - 1, k, k + 1):
            _look_at(work, lay, node, top, left, begin, end)
        _make_sum(work, lay, _B, k - 1, begin, end)
        # B_k and C_k are products with the same residual; B_k is not there yet, as winners come in order.
        here = k * lay.p_size + begin
        e = lay.at_e + k * lay.e_node + begin
        below, above = e - lay.e_node, e + lay.e_node
        window_sums_twice(work.scratch, above, e, below, lay.at_b + here, lay.at_c + here, lay, end - begin)
        work.ranges[_B, k], work.ranges[_B + 1, k] = begin, end
    return count


@njit(nogil=True, **INNER)
def _carry(work: Any, lay: Any) -> None:
    """Move the rows that the next chunk's windows share with this one's to the top."""
    ranges, scratch = work.ranges, work.scratch
    for k in range(lay.nodes):
        begin, end = ranges[_MADE, k], ranges[_MADE + 1, k]
        ranges[_CARRIED, k] = begin
        ranges[_CARRIED + 1, k] = end
        if begin < end:
            for channel in range(lay.channels):
                above = lay.at_e + k * lay.e_node + channel * lay.e_size
                for _ in range(lay.window - 1):
                    for j in range(above + begin, above + end + lay.lead + lay.half, LANES):
                        store(scratch, j, load(scratch, j + CHUNK * lay.e_stride))
                    above += lay.e_stride


@njit(nogil=True, **INNER)
def _tile(work: Any, lay: Any, tile: int, how: Any) -> None:
    ranges = work.ranges
    x0 = (tile % lay.tiles_across) * lay.tile_columns
    y0 = (tile // lay.tiles_across) * lay.tile_rows
    columns = min(-(-(lay.width - x0) // LANES) * LANES, lay.tile_columns)
    left = lay.pad_left + x0
    samples = np.float32(lay.window * lay.window * lay.channels)
    noise2 = how.noise * how.noise
    flat_nodes = how.flat / how.spacing
    ranges[:] = 0
    work.scratch[lay.at_texture : lay.at_texture + 2 * lay.p_size] = np.inf
    for y in range(y0, min(y0 + lay.tile_rows, lay.height), CHUNK):
        top = lay.pad_top + y
        rows = min(CHUNK, lay.height - y)
        ranges[_MADE : _MADE + 2] = 0
        ranges[_A:] = 0
        _search(work, lay, top, left, columns, rows, noise2, how.stop)
        count = _make_gram(work, lay, top, left, columns, rows)
        out = y * lay.out_stride + x0
        if how.textures & 1:
            texture(work, work.first, lay, top, left, columns, lay.at_texture)
        if how.textures & 2:
            texture(work, work.second, lay, top, left, columns, lay.at_texture + lay.p_size)
        solve_chunk(
            work,
            lay,
            columns,
            rows,
            count,
            how.spacing,
            samples - np.float32(1),
            noise2,
            flat_nodes,
            how.rounded_first,
            how.rounded_second,
            how.blank,
            out,
        )
        _carry(work, lay)


@njit(nogil=True)
def run_tiles(work: Any, lay: Any, how: Any, counter: Any) -> None:
    """Take tiles until none is left."""
    while True:
        tile = fetch_add(counter, 0, 1)
        if tile >= lay.tiles:
            return
        _tile(work, lay, tile, how)


@njit(nogil=True)
def run_halves(image: Any, half: Any, taps: Any, prefilter: Any, lay: Any, lines: Any, counter: Any) -> None:
    """Make the half-size image, a few rows at a time, until none is left."""
    while True:
        begin = fetch_add(counter, 0, 1) * HALF_BLOCK
        if begin >= lay.half_rows:
            return
        end = min(begin + HALF_BLOCK, lay.half_rows)
        for channel in range(lay.channels):
            halve_rows(image, taps, prefilter, lay, channel, begin, end, lines, half)
