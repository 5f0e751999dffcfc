"""Frames in: scaled to 0..1, float32, mirrored beyond the border.

The same pass looks at what the values say about noise, as :mod:`relblur.blur.noise` does: if
every value sits on a grid of whole numbers, 8 or 16 bits, the rounding to it is the least error there can be.
A row that leaves a grid ends the search for it, so on ordinary data this costs nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ....base.pixels import full_scale
from ....engines.barrier import fetch_add
from ....engines.compile_inner import INNER
from ....engines.simd import LANES, any_lane, highest, inverse, load, lowest, maximum, minimum, splat
from ...noise import FLOAT_NOISE, GRIDS

__all__ = [
    "CLIPPED",
    "FULL_SCALE",
    "NOT_FINITE",
    "SEEN",
    "arithmetic_noise",
    "clear",
    "least_noise",
    "range_seen",
    "run_load",
]

#: What a value of 1 is, by type of frame.
FULL_SCALE: dict[np.dtype[Any], float] = {
    np.dtype(name): float(full_scale(np.dtype(name)) or 1) for name in ("float32", "float64", "uint8", "uint16")
}

#: Numbers in a summary: smallest and largest value, 1 for every grid that all values sit on, then
#: whether integers reach the top of their range and whether floats are NaN or infinite.
SEEN = 2 + len(GRIDS) + 2
CLIPPED, NOT_FINITE = SEEN - 2, SEEN - 1

#: Least noise relative to the largest value: what float32 residuals can still tell from rounding.
FLOAT32_NOISE = 5e-7

#: Padded rows that a thread takes at a time.
LOAD_BLOCK = 16


#: Adding and subtracting it rounds a float32 of up to 2^22 to a whole number.
_ROUNDER = np.float32(1.5 * 2**23)

#: Its square is still a float32.
_TINY = 1e-18

#: Factors that make the values of each grid whole.
_STEPS = tuple(1 / step for step, _ in GRIDS)


@njit(nogil=True, **INNER)
def _range_of_row(image: Any, at: int, width: int) -> Any:
    """Smallest and largest of at least ``width`` values."""
    low = load(image, at)
    high = low
    for j in range(at + LANES, at + width, LANES):
        x = load(image, j)
        low = minimum(x, low)
        high = maximum(x, high)
    return lowest(low), highest(high)


@njit(nogil=True, **INNER)
def _is_off_grid(image: Any, at: int, width: int, factor: float) -> bool:
    """Whether some value is not whole after scaling."""
    scale = splat(np.float32(factor))
    rounder = splat(_ROUNDER)
    zero = splat(np.float32(0))
    worst = zero
    for j in range(at, at + width, LANES):
        x = scale * load(image, j)
        d = x - ((x + rounder) - rounder)
        worst = maximum(maximum(d, zero - d), worst)
    return any_lane(splat(np.float32(1e-4)) <= worst)


@njit(nogil=True, **INNER)
def _is_off_fine_grid(row: Any, factor: float) -> bool:
    """The same in float64, for the grid of 16 bits."""
    for x in row:
        scaled = x * factor
        if not abs(scaled - np.rint(scaled)) < 1e-4:
            return True
    return False


@njit(nogil=True, **INNER)
def _is_finite(image: Any, at: int, width: int) -> bool:
    """Whether all of at least ``width`` values are finite."""
    zero = splat(np.float32(0))
    total = zero
    for j in range(at, at + width, LANES):
        x = load(image, j)
        total = total + (x - x)
    return not any_lane(inverse(total == zero))


@njit(nogil=True, **INNER)
def _reaches(row: Any, full_scale: float) -> bool:
    """Whether some value is the largest there can be."""
    most = row[0]
    for x in row:
        most = x if x > most else most
    return most == full_scale


@njit(nogil=True, **INNER)
def _load_row(row: Any, channel: int, channels: int, factor: float, padded: Any, lay: Any, column_map: Any) -> None:
    """Scale one channel of a row of interleaved channels, and mirror its ends."""
    left = lay.pad_left
    right = left + lay.width
    inside = padded[left:right]
    if channels == 1:
        for j in range(lay.width):
            inside[j] = np.float32(row[j]) * factor
    else:
        for j in range(lay.width):
            inside[j] = np.float32(row[j * channels + channel]) * factor
    for j in range(left):
        padded[j] = inside[column_map[j]]
    for j in range(right, lay.filled):
        padded[j] = inside[column_map[j]]


@njit(nogil=True)
def run_load(
    frame: Any,
    full_scale: float,
    image: Any,
    lay: Any,
    row_map: Any,
    column_map: Any,
    seen: Any,
    counter: Any,
) -> None:
    """Fill the padded image, a few rows at a time, until no row is left.

    ``frame`` is (rows, columns x channels). ``seen`` is this thread's summary.
    """
    factor = np.float32(1 / full_scale)
    while True:
        begin = fetch_add(counter, 0, 1) * LOAD_BLOCK
        if begin >= lay.rows:
            return
        for y in range(begin, min(begin + LOAD_BLOCK, lay.rows)):
            row = frame[row_map[y]]
            new = lay.pad_top <= y < lay.pad_top + lay.height
            if new and full_scale > 1 and _reaches(row, full_scale):
                seen[CLIPPED] = 1
            for channel in range(lay.channels):
                start = channel * lay.plane + y * lay.stride
                _load_row(row, channel, lay.channels, factor, image[start : start + lay.stride], lay, column_map)
                # Eight bits are on their grid; there is nothing to look for.
                if not new or full_scale == 255:
                    continue
                # Whole vectors end in mirrored pixels, which say nothing new.
                at = start + lay.pad_left
                low, high = _range_of_row(image, at, lay.width)
                if low < seen[0]:
                    seen[0] = low
                if high > seen[1]:
                    seen[1] = high
                if seen[NOT_FINITE] == 0 and not _is_finite(image, at, lay.width):
                    seen[NOT_FINITE] = 1
                if seen[2] != 0 and _is_off_grid(image, at, lay.width, _STEPS[0]):
                    seen[2] = 0
                if seen[3] != 0 and _is_off_grid(image, at, lay.width, _STEPS[1]):
                    seen[3] = 0
            if new and seen[4] != 0 and full_scale == 1 and _is_off_fine_grid(row, _STEPS[2]):
                seen[4] = 0


def clear(seen: NDArray[np.float64], full_scale: float) -> None:
    """Begin the threads' summaries of a frame."""
    seen[:] = np.inf, -np.inf, 1, 1, 1, 0, 0
    if full_scale == 255:
        seen[:, :3] = 0, 1, 0


def range_seen(seen: NDArray[np.float64]) -> tuple[float, float]:
    """Smallest and largest value of one frame, from the threads' summaries."""
    return float(seen[:, 0].min()), float(seen[:, 1].max())


def arithmetic_noise(low: float, high: float) -> float:
    """Noise that float32 arithmetic adds to values between these."""
    return max(FLOAT32_NOISE * max(abs(low), abs(high)), _TINY)


def least_noise(seen: NDArray[np.float64], low: float, high: float) -> float:
    """Least standard deviation of the noise of one frame of values between these, from the threads' summaries.

    The rules are those of :func:`relblur.blur.noise.rounding_noise`, but for the rounding of the
    arithmetic, which is coarser here.
    """
    contrast = high - low
    for g, (step, least_steps) in enumerate(GRIDS):
        if seen[:, 2 + g].all() and contrast > least_steps * step:
            return max(step / math.sqrt(12), arithmetic_noise(low, high))
    return max(FLOAT_NOISE * contrast, arithmetic_noise(low, high))
