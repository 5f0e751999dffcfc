"""Everything that can be decided before the first frame: nodes, taps, tiles, buffers.

The nodes, kernels and noise gains are those of :mod:`relblur.blur.window.method`, so the fast
engine answers the same question. Two things differ, and only in how the blurred images
are made:

* taps are stored as *pairs*: every filter is a sum of ``c_i (x[l - i] + x[r + i])``, with
  ``l = r`` for an odd kernel (and half its centre as ``c_0``), ``r = l + 1`` for an even one;
* nodes from ``HALF_FROM`` px^2 on (2.6 px and more in the default range) are made from a
  half-size copy of the image. The copy is blurred by ``PREFILTER`` px^2 before every other
  pixel is dropped; the rest of the blur is a Gaussian that reads the copy at whole and at
  half positions, so it also fills in the pixels between. For Gaussians the two steps
  multiply to exactly the blur wanted, but for the aliases, which the prefilter and the
  second Gaussian share the work of removing: below 2e-4 of the amplitude at the first
  such node, 1e-5 two nodes on.

Row strides are chosen so that the rows a filter reads together fall on different cache
sets: at a stride that is (nearly) a multiple of 4096 bytes they would push each other out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....base.settings import Sharper
from ....engines.simd import LANES
from ....filters.borders import mirrored
from ....filters.kernels import band_limited_kernel, noise_gain
from ..method import LINEAR_BELOW, PROBE_NODE, Nodes, signed_nodes

__all__ = ["CHUNK", "FULL_SIZE", "GROUP", "HALF_SIZE", "IDENTITY", "How", "Layout", "Plan", "Work", "make_plan"]

#: Rows that are finished together. Larger repeats fewer rows, smaller stays in the cache.
CHUNK = 16

#: Columns of a tile, at most.
TILE_COLUMNS = 320

#: Rows of a tile. Its first chunk repeats ``window - 1`` rows of the tile above.
TILE_ROWS = 128

#: Columns are filtered in groups of this many: four running sums hide the adder's latency.
GROUP = 4 * LANES

#: Variance from which a node is made from the half-size image, px^2.
HALF_FROM = 6.0

#: Blur of the half-size image, px^2.
PREFILTER = 2.5

#: Where the second Gaussian is cut, in standard deviations; 7e-6 of it lies beyond.
HALF_TRUNCATE = 4.5

IDENTITY, FULL_SIZE, HALF_SIZE = 0, 1, 2


class Work(NamedTuple):
    """The arrays one thread works with; all are flat but the tables of nodes."""

    first: Any  #: padded images
    second: Any
    half_first: Any
    half_second: Any
    taps: Any
    recipe: Any
    values: Any
    s: Any  #: results
    stderr: Any
    flags: Any
    sharper: Any
    scratch: Any
    ranges: Any  #: (8, nodes): columns of residuals made and carried, of sums A and B made
    winners: Any  #: (3, nodes): a node and the columns where it is best


class How(NamedTuple):
    """What may differ from frame to frame."""

    spacing: Any  #: of the nodes in t
    noise: Any  #: least standard deviation of the noise
    flat: Any  #: a pixel is FLAT above this error of t
    stop: Any  #: a search ends where the cost has risen to this many times its least
    rounded_first: Any  #: below this local variance rounding has swallowed the texture
    rounded_second: Any
    textures: Any  #: whose local variance matters: 1 the first image's, 2 the second's, 3 both
    blank: Any  #: whether to put NaN where a pixel is FLAT


class Layout(NamedTuple):
    """Sizes and offsets, in elements. numba code reads it by name."""

    height: int
    width: int
    channels: int
    stride: int  #: between rows of the padded images
    plane: int  #: between channels of the padded images
    pad_top: int
    pad_left: int
    filled: int  #: columns of the padded images that show something; the rest is read, not used
    rows: int  #: of the padded images
    half_stride: int
    half_plane: int
    half_rows: int
    nodes: int
    zero: int  #: the node at s = 0
    two_sided: int
    probe: int  #: distance from zero, in nodes, of the probes, where the search starts
    limit_low: int  #: whether the first node is an end of the range
    limit_high: int  #: whether the last node is one
    window: int
    half: int  #: window // 2
    lead: int  #: the same, rounded up to even: residuals start this far left of the tile
    tile_columns: int
    tile_rows: int
    tiles_across: int
    tiles: int
    half_reach: int  #: of the widest half-size kernel, in half-size pixels
    out_stride: int  #: between rows of the results
    line_stride: int  #: of the row buffers
    e_stride: int
    e_size: int  #: of one node's residual in one channel
    e_node: int  #: between residuals of neighbouring nodes
    p_stride: int
    p_size: int  #: of one plane of window sums
    at_line: int
    at_e: int
    at_a: int
    at_b: int
    at_c: int
    at_best: int
    at_side: int
    at_span: int
    at_least: int
    at_texture: int  #: local variance of the first and of the second image
    scratch: int  #: float32 numbers a thread needs


@dataclass(frozen=True)
class Plan:
    """A layout and the tables that go with it."""

    layout: Layout
    nodes: Nodes
    recipe: NDArray[np.int64]  #: per node: kind, side, first tap, pairs, first odd tap
    values: NDArray[np.float32]  #: per node: 1 / noise gain, s, sqrt(s^2 + c^2)
    taps: NDArray[np.float32]
    prefilter: NDArray[np.int64]  #: first tap and pairs: all, even columns, odd columns
    row_map: NDArray[np.int64]  #: row of the frame that a padded row shows
    column_map: NDArray[np.int64]


class _Taps:
    """Collects pairs of taps in one flat table."""

    def __init__(self) -> None:
        self.flat: list[float] = []

    def add(self, pairs: Any) -> tuple[int, int]:
        start = len(self.flat)
        self.flat.extend(float(c) for c in pairs)
        return start, len(self.flat) - start


def _pairs(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Right half of an odd symmetric kernel; the centre counts twice, so it is halved."""
    half = np.array(kernel[kernel.size // 2 :])
    half[0] /= 2
    return half


def _spread_pairs(variance: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gaussian taps for every other pixel, at even and at odd distances, each of unit sum."""
    count = math.floor(HALF_TRUNCATE * math.sqrt(variance) / 2) + 1
    even = np.exp(-0.5 * (2 * np.arange(count)) ** 2 / variance)
    odd = np.exp(-0.5 * (2 * np.arange(count) + 1) ** 2 / variance)
    even[0] /= 2
    return even / (2 * even.sum()), odd / (2 * odd.sum())


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _row_stride(width: int, rows: int, span: int) -> int:
    """At least ``width`` elements such that a block of ``rows`` x ``span`` elements sits evenly in the cache.

    A first-level cache has 64 sets of 64-byte lines, and the address alone decides the set:
    the stride taken is the first whose fullest set holds at most two lines more than an even
    spread would.
    """
    columns = -(-span // 16) + 1
    even = -(-rows * columns // 64)
    lines = -(-width // 16)
    while True:
        sets = (np.arange(rows)[:, None] * lines + np.arange(columns)) % 64
        if np.bincount(sets.ravel()).max() <= even + 2:
            return 16 * lines
        lines += 1


def make_plan(shape: tuple[int, int], channels: int, sharper: Sharper, window: int, max_sigma: float) -> Plan:
    """Prepare for pairs of a shape.

    Parameters
    ----------
    shape
        Rows and columns.
    channels
        1, or more for colour: their sums are added.
    sharper
        Directions to search.
    window
        Side of the window, odd, 3 or more.
    max_sigma
        Largest relative blur, px.
    """
    nodes = signed_nodes(max_sigma, sharper)
    taps = _Taps()
    recipe = np.zeros((nodes.s.size, 5), dtype=np.int64)
    values = np.zeros((nodes.s.size, 3), dtype=np.float32)
    reach = half_reach = 0
    for k, s in enumerate(nodes.s):
        size = abs(float(s))
        kernel = band_limited_kernel(size)
        gain = 1.0 if size == 0 else noise_gain(kernel)
        values[k] = 1 / (1 + gain), s, math.hypot(s, LINEAR_BELOW)
        side = -1 if s < 0 else 1
        if size == 0:
            recipe[k, :2] = IDENTITY, side
        elif size < HALF_FROM:
            recipe[k, :4] = FULL_SIZE, side, *taps.add(_pairs(kernel))
            reach = max(reach, kernel.size // 2 + 1)
        else:
            even, odd = _spread_pairs(size - PREFILTER)
            recipe[k, :5] = HALF_SIZE, side, *taps.add(even), taps.add(odd)[0]
            half_reach = max(half_reach, even.size)
    before = _pairs(band_limited_kernel(PREFILTER))
    prefilter = np.array([taps.add(before), taps.add(before[::2]), taps.add(before[1::2])], dtype=np.int64)
    layout = _lay_out(shape, channels, nodes, sharper, window, reach, half_reach, before.size)
    return Plan(
        layout,
        nodes,
        recipe,
        values,
        np.array(taps.flat, dtype=np.float32),
        prefilter,
        _mirror(shape[0], layout.pad_top, layout.rows),
        _mirror(shape[1], layout.pad_left, layout.filled),
    )


def _mirror(size: int, before: int, total: int) -> NDArray[np.int64]:
    """Index shown at each of ``total`` positions of a mirrored line."""
    return mirrored(np.arange(total) - before, size).astype(np.int64)


def _lay_out(
    shape: tuple[int, int],
    channels: int,
    nodes: Nodes,
    sharper: Sharper,
    window: int,
    reach: int,
    half_reach: int,
    prefilter: int,
) -> Layout:
    """Size every buffer."""
    half = window // 2
    lead = half + half % 2
    count = nodes.s.size
    zero = int(np.abs(nodes.s).argmin())
    tiles = _lay_out_tiles(shape, window, lead + half, reach + half_reach)
    e_columns = tiles["tile_columns"] + lead + half
    return Layout(
        height=shape[0],
        width=shape[1],
        channels=channels,
        **_lay_out_images(shape, half, e_columns, reach, half_reach, prefilter),
        nodes=count,
        zero=zero,
        two_sided=int(sharper == "auto"),
        probe=min(PROBE_NODE, max(zero, count - 1 - zero)),
        limit_low=int(sharper != "first"),
        limit_high=int(sharper != "second"),
        window=window,
        half=half,
        lead=lead,
        half_reach=half_reach,
        **tiles,
        e_node=tiles["e_size"] * channels,
        out_stride=_up(shape[1], LANES),
        **_lay_out_scratch(tiles, channels, count),
    )


def _lay_out_images(
    shape: tuple[int, int], half: int, e_columns: int, reach: int, half_reach: int, prefilter: int
) -> dict[str, int]:
    """Size the padded images of full and half size."""
    height, width = shape
    lead = half + half % 2
    # What one pixel depends on, plus what whole groups and chunks read without using it.
    around = half + max(reach, 2 * half_reach + 2 + prefilter) + 2
    pad_top = _up(around, 2)
    rows = _up(pad_top + _up(height, CHUNK) + around, 2)
    # The half-size image is not made within ``margin`` of its border (see ``halve_rows``).
    margin = _up(prefilter, 2 * LANES) // 2
    pad_left = _up(max(around, lead + 2 * (half_reach + margin)), 2 * LANES)
    filled = pad_left + _up(width, LANES) + around
    columns = filled + GROUP + 2 * LANES
    stride = _row_stride(columns, CHUNK + 2 * reach, e_columns + 2 * reach)
    half_stride = _row_stride(columns // 2 + 2 * LANES, CHUNK // 2 + 2 * half_reach, e_columns // 2 + 2 * half_reach)
    return {
        "stride": stride,
        "plane": rows * stride,
        "pad_top": pad_top,
        "pad_left": pad_left,
        "filled": filled,
        "rows": rows,
        "half_stride": half_stride,
        "half_plane": rows // 2 * half_stride,
        "half_rows": rows // 2,
    }


def _lay_out_tiles(shape: tuple[int, int], window: int, beside: int, reaches: int) -> dict[str, int]:
    """Cut the image into tiles and size what is kept of one; ``beside`` columns more than it has are computed."""
    height, width = shape
    across = -(-width // TILE_COLUMNS)
    tile_columns = _up(-(-width // across), LANES)
    across = -(-width // tile_columns)
    down = -(-height // TILE_ROWS)
    line = max(_up(tile_columns + beside + 2 * (reaches + LANES), LANES), GROUP) + GROUP
    # Part of a tile may be computed alone, in whole groups: hence a group more.
    e_columns = tile_columns + beside
    e_stride = _row_stride(_up(e_columns, LANES) + GROUP, CHUNK + window - 1, e_columns)
    p_stride = _row_stride(tile_columns, CHUNK, tile_columns)
    return {
        "tile_columns": tile_columns,
        "tile_rows": TILE_ROWS,
        "tiles_across": across,
        "tiles": across * down,
        "line_stride": _row_stride(line, 4, line),
        "e_stride": e_stride,
        "e_size": e_stride * (CHUNK + window - 1),
        "p_stride": p_stride,
        "p_size": p_stride * CHUNK,
    }


def _lay_out_scratch(tiles: dict[str, int], channels: int, nodes: int) -> dict[str, int]:
    """Place the buffers of one thread one after the other; returns where each begins, and the size of all."""
    p_size = tiles["p_size"]
    sizes = {
        # Eight lines: the texture needs sums and sums of squares of four rows.
        "at_line": 8 * max(tiles["line_stride"], tiles["e_stride"]),
        "at_e": tiles["e_size"] * channels * nodes,
        **dict.fromkeys(("at_a", "at_b", "at_c"), p_size * nodes),
        **dict.fromkeys(("at_best", "at_side", "at_span", "at_least"), p_size),
        "at_texture": 2 * p_size,
    }
    offsets = {}
    end = 0
    for name, size in sizes.items():
        offsets[name] = end
        end += size + 16  # One cache line more, so that buffers of equal size do not share cache sets.
    return {**offsets, "scratch": end + 4 * GROUP}
