"""Reading between levels: the residual stack by a cubic, tables over the levels linearly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ....filters.level_axis import read_cubic

__all__ = ["Tables", "interpolate", "interpolate_value"]

Array = NDArray[np.float32]


def _cells(levels: int, level: Array, start: int, size: int) -> tuple[NDArray[np.intp], Array]:
    """Return the flat index of the first of the four levels around each pixel, and the offset from the second.

    ``level`` are the rows from flat pixel ``start`` on of planes of ``size`` pixels.
    """
    base = np.clip(level.astype(np.int32), 1, levels - 3)
    pixels = np.arange(start, start + level.size, dtype=np.intp).reshape(level.shape)
    return (base.astype(np.intp) - 1) * size + pixels, level - base


def _take(flat: Array, index: NDArray[np.intp], offset: int) -> Array:
    # The index is inside by construction; "clip" spares the check of it.
    return flat[offset:].take(index, mode="clip")


def interpolate_value(volume: Array, level: Array, top: int) -> Array:
    """Read a (C, K, H, W) volume at fractional levels of the rows from ``top`` on."""
    return interpolate(volume, level, top)[0]


def interpolate(volume: Array, level: Array, top: int) -> tuple[Array, Array]:
    """Return value and derivative by level, each (C, rows, W), as above."""
    value = np.empty((volume.shape[0], *level.shape), np.float32)
    slope = np.empty_like(value)
    size = volume.shape[2] * volume.shape[3]
    index, u = _cells(volume.shape[1], level, top * level.shape[1], size)
    for channel in range(volume.shape[0]):
        flat = volume[channel].ravel()
        y0, y1, y2, y3 = (_take(flat, index, j * size) for j in range(4))
        value[channel], slope[channel] = read_cubic(y0, y1, y2, y3, u)
    return value, slope


class Tables:
    """Several tables over the levels (or finer, evenly from the first to the last), read at the same places.

    Reading is linear between their entries.
    """

    def __init__(self, *tables: NDArray[np.float64]) -> None:
        most = max(len(table) for table in tables)
        place = np.linspace(0, 1, most)
        self._knots = [np.interp(place, np.linspace(0, 1, len(table)), table).astype(np.float32) for table in tables]
        self._rises = [np.diff(knots) for knots in self._knots]
        self._last = most - 1
        self._coarsest = min(len(table) for table in tables) - 1

    def at(self, level: Array) -> Callable[[int], Array]:
        """Return a function that gives the values of a table, by its number, at fractional levels."""
        place = level * np.float32(self._last / self._coarsest)
        base = np.clip(place.astype(np.intp), 0, self._last - 1)
        place -= base

        def read(number: int) -> Array:
            values = self._rises[number].take(base)
            values *= place
            values += self._knots[number].take(base)
            return values

        return read
