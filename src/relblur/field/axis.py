"""The axis along which residuals are tabulated: values ``z``, levels ``k``, and reading between levels.

Each axis is a monotonic function between a value and a fractional level, counted from 0:

* :class:`AsinhAxis`: levels uniform in ``asinh(z / C)``; evenly spaced around zero, geometric far from it.
* :class:`RootAxis`: levels uniform in ``asinh(z^2 / C)``, for positive values.
* :class:`UniformAxis`: levels evenly spaced in ``z``.

Between levels residuals follow the C1 cubic of Catmull and Rom, whose slope at a level is half the step between its
neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["AsinhAxis", "Axis", "RootAxis", "UniformAxis", "read", "read_cubic"]

Array = NDArray[np.float32]
AnyArray = NDArray[Any]


class Axis(Protocol):
    """A monotonic function between values and fractional levels."""

    def level_of(self, z: AnyArray) -> AnyArray:
        """Return the level of a value."""

    def value_of(self, level: AnyArray) -> AnyArray:
        """Return the value of a level."""

    def by_value(self, change: AnyArray, z: AnyArray) -> AnyArray:
        """Return the derivative by the value, given that by the level at ``z``."""

    def scale(self, z: AnyArray) -> AnyArray:
        """Return the change of ``z`` that counts as a relative change by 1."""


def _asinh(x: AnyArray) -> AnyArray:
    """Return the inverse hyperbolic sine to the rounding of 1; NumPy's own is exact for small x, and much slower."""
    size = np.abs(x)
    return np.asarray(np.copysign(np.log(size + np.sqrt(size * size + 1)), x))


@dataclass(frozen=True)
class AsinhAxis:
    """Levels uniform in ``asinh(z / softening)``, ``step`` apart, the first at the value ``lowest``."""

    lowest: float
    softening: float
    step: float

    @property
    def _start(self) -> float:
        return float(np.arcsinh(self.lowest / self.softening))

    def level_of(self, z: AnyArray) -> AnyArray:
        """Return the level of a value."""
        return np.asarray((_asinh(z * (1 / self.softening)) - self._start) * (1 / self.step))

    def value_of(self, level: AnyArray) -> AnyArray:
        """Return the value of a level."""
        return np.asarray(self.softening * np.sinh(level * self.step + self._start))

    def by_value(self, change: AnyArray, z: AnyArray) -> AnyArray:
        """Return the derivative by the value."""
        return np.asarray(change / (self.step * self.scale(z)))

    def scale(self, z: AnyArray) -> AnyArray:
        """Return ``sqrt(z^2 + softening^2)``."""
        return np.sqrt(z * z + np.asarray(self.softening**2, z.dtype))


@dataclass(frozen=True)
class RootAxis:
    """Levels of :class:`AsinhAxis` for the square of a positive value."""

    of_square: AsinhAxis

    def level_of(self, z: AnyArray) -> AnyArray:
        """Return the level of a value."""
        return self.of_square.level_of(z * z)

    def value_of(self, level: AnyArray) -> AnyArray:
        """Return the value of a level."""
        return np.sqrt(np.maximum(self.of_square.value_of(level), 0))

    def by_value(self, change: AnyArray, z: AnyArray) -> AnyArray:
        """Return the derivative by the value."""
        return self.of_square.by_value(change, z * z) * (2 * z)

    def scale(self, z: AnyArray) -> AnyArray:
        """Return the change of the root that goes with a relative change of the square by 1."""
        return np.asarray(self.of_square.scale(z * z) / (2 * z))


@dataclass(frozen=True)
class UniformAxis:
    """Levels ``step`` apart, the first at ``lowest``; ``unit`` is the change that counts as a relative change by 1."""

    lowest: float
    step: float
    unit: float

    def level_of(self, z: AnyArray) -> AnyArray:
        """Return the level of a value."""
        return np.asarray((z - self.lowest) * (1 / self.step))

    def value_of(self, level: AnyArray) -> AnyArray:
        """Return the value of a level."""
        return np.asarray(level * self.step + self.lowest)

    def by_value(self, change: AnyArray, z: AnyArray) -> AnyArray:
        """Return the derivative by the value."""
        return np.asarray(change * (1 / self.step))

    def scale(self, z: AnyArray) -> AnyArray:
        """Return the same unit everywhere."""
        return np.full_like(z, self.unit)


def read_cubic(
    before: AnyArray, here: AnyArray, after: AnyArray, last: AnyArray, u: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return value and slope ``u`` levels after the second of four levels.

    For ``u`` below 0 or above 1, which the ends of the axis need, the curve continues as the parabola through the
    three nearest levels.
    """
    half = np.float32(0.5)
    inside = np.clip(u, 0, 1)
    first = half * (after - before)
    second = before - np.float32(2.5) * here + 2 * after - half * last
    third = half * (last - before) + np.float32(1.5) * (here - after)
    value = here + inside * (first + inside * (second + inside * third))
    slope = first + inside * (2 * second + 3 * inside * third)
    beyond = u - inside
    if beyond.any():
        bend = np.where(beyond < 0, before - 2 * here + after, here - 2 * after + last)
        value += beyond * (slope + half * beyond * bend)
        slope += beyond * bend
    return value, slope


def read(residuals: Array, level: Array, top: int = 0) -> tuple[Array, Array]:
    """Read a (C, K, H, W) volume at fractional levels of the rows from ``top`` on.

    Returns value and derivative by the level, each (C, rows, W).
    """
    channels, levels, height, width = residuals.shape
    value = np.empty((channels, *level.shape), np.float32)
    slope = np.empty_like(value)
    base = np.clip(level.astype(np.int32), 1, levels - 3)
    start = top * width
    pixels = np.arange(start, start + level.size, dtype=np.intp).reshape(level.shape)
    index, u = (base.astype(np.intp) - 1) * (height * width) + pixels, level - base
    for channel in range(channels):
        flat = residuals[channel].ravel()
        # The index is inside by construction; "clip" avoids the check.
        before, here, after, last = (flat[j * height * width :].take(index, mode="clip") for j in range(4))
        value[channel], slope[channel] = read_cubic(before, here, after, last, u)
    return value, slope
