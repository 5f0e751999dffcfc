"""The axis along which residuals are tabulated: values ``z``, levels ``k``, and interpolation between levels.

Each axis is a monotonic function between a value and a fractional level, counted from 0.  Between levels residuals
follow the C1 cubic of Catmull and Rom, whose slope at a level is half the step between its neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AsinhAxis", "Axis", "RootAxis", "UniformAxis", "read", "read_cubic"]

Array = NDArray[np.float32]
AnyArray = NDArray[Any]


class Axis(ABC):
    """A monotonic function between values and fractional levels."""

    @abstractmethod
    def level_of(self, z: AnyArray) -> AnyArray:
        """Return the level of a value."""

    @abstractmethod
    def value_of(self, level: AnyArray) -> AnyArray:
        """Return the value of a level."""

    @abstractmethod
    def scale(self, z: AnyArray) -> AnyArray:
        """Return the change of ``z`` that is a relative change by 1."""

    @abstractmethod
    def rate(self, z: AnyArray) -> AnyArray:
        """Return the derivative of the level with respect to the value."""


@dataclass(frozen=True)
class AsinhAxis(Axis):
    """Levels uniform in ``asinh(z / softening)``, ``step`` apart, the first at the value ``lowest``.

    They are evenly spaced around zero and geometric far from it.
    """

    lowest: float
    softening: float
    step: float

    @property
    def _start(self) -> float:
        return float(np.arcsinh(self.lowest / self.softening))

    def level_of(self, z: AnyArray) -> AnyArray:
        """Return the level of a value."""
        size = np.abs(z) * (1 / self.softening)
        # Accurate to the rounding of 1; NumPy's arcsinh is exact for small numbers and much slower.
        arcsinh = np.copysign(np.log(size + np.sqrt(size * size + 1)), z)
        return np.asarray((arcsinh - self._start) * (1 / self.step))

    def value_of(self, level: AnyArray) -> AnyArray:
        """Return the value of a level."""
        return np.asarray(self.softening * np.sinh(level * self.step + self._start))

    def scale(self, z: AnyArray) -> AnyArray:
        """Return the change of ``z`` that is a relative change by 1."""
        return np.sqrt(z * z + np.asarray(self.softening**2, z.dtype))

    def rate(self, z: AnyArray) -> AnyArray:
        """Return the derivative of the level with respect to the value."""
        return np.asarray(1 / (self.step * self.scale(z)))


@dataclass(frozen=True)
class RootAxis(Axis):
    """Levels of :class:`AsinhAxis` for the square of a positive value."""

    of_square: AsinhAxis

    def level_of(self, z: AnyArray) -> AnyArray:
        """Return the level of a value."""
        return self.of_square.level_of(z * z)

    def value_of(self, level: AnyArray) -> AnyArray:
        """Return the value of a level."""
        return np.sqrt(np.maximum(self.of_square.value_of(level), 0))

    def scale(self, z: AnyArray) -> AnyArray:
        """Return the change of ``z`` that is a relative change by 1."""
        return np.asarray(self.of_square.scale(z * z) / (2 * z))

    def rate(self, z: AnyArray) -> AnyArray:
        """Return the derivative of the level with respect to the value."""
        return self.of_square.rate(z * z) * (2 * z)


@dataclass(frozen=True)
class UniformAxis(Axis):
    """Levels ``step`` apart, the first at ``lowest``; a change by ``unit`` is a relative change by 1."""

    lowest: float
    step: float
    unit: float

    def level_of(self, z: AnyArray) -> AnyArray:
        """Return the level of a value."""
        return np.asarray((z - self.lowest) * (1 / self.step))

    def value_of(self, level: AnyArray) -> AnyArray:
        """Return the value of a level."""
        return np.asarray(level * self.step + self.lowest)

    def scale(self, z: AnyArray) -> AnyArray:
        """Return the change of ``z`` that is a relative change by 1."""
        return np.full_like(z, self.unit)

    def rate(self, z: AnyArray) -> AnyArray:
        """Return the derivative of the level with respect to the value."""
        return np.full_like(z, 1 / self.step)


def read_cubic(
    before: AnyArray, here: AnyArray, after: AnyArray, last: AnyArray, u: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return value and slope ``u`` levels after the second of four levels.

    For ``u`` below 0 or above 1, at the ends of the axis, the curve is the parabola through the three nearest levels.
    """
    half = np.float32(0.5)
    inside = np.clip(u, 0, 1)
    first = half * (after - before)
    second = before - np.float32(2.5) * here + 2 * after - half * last
    third = half * (last - before) + np.float32(1.5) * (here - after)
    value = here + inside * (first + inside * (second + inside * third))
    slope = first + inside * (2 * second + 3 * inside * third)
    beyond = u - inside
    bend = np.where(beyond < 0, before - 2 * here + after, here - 2 * after + last)
    return value + beyond * (slope + half * beyond * bend), slope + beyond * bend


def read(residuals: Array, level: Array) -> tuple[Array, Array]:
    """Interpolate a (C, K, H, W) volume at a map of levels: value and derivative by the level, each (C, H, W)."""
    base = np.clip(level.astype(np.intp), 1, residuals.shape[1] - 3)
    plane, flat = level.size, residuals.reshape(len(residuals), -1)
    first = (base - 1) * plane + np.arange(plane).reshape(level.shape)
    before, here, after, last = (flat.take(first + n * plane, axis=1) for n in range(4))
    value, slope = read_cubic(before, here, after, last, level - base.astype(np.float32))
    return value.astype(np.float32), slope.astype(np.float32)
