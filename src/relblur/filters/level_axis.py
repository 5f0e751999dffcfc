"""The axis along which candidate blurs are laid out: from ``s`` to a level and back.

* :class:`AsinhAxis`: levels uniform in ``t = asinh(s / C)``.  They are evenly spaced in ``s`` around zero, where blur
  is hardly measurable, and geometric far out, about 10 % of sigma a step, where relative precision counts.
* :class:`UniformAxis`: levels evenly spaced, for a quantity every part of which counts alike.

The slope of either is ``ds/dlevel = step sqrt(a s^2 + c^2)``: three numbers (:meth:`LevelAxis.slope`) tell compiled
loops all they need.  Factors are Python's floats, so that every function keeps the precision of the array it is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..base._typing import AnyArray

__all__ = ["SOFTENING", "STEP", "AsinhAxis", "LevelAxis", "UniformAxis", "read_cubic", "relative_scale"]

#: ``C``, px^2: below it blur is hardly measurable, above it relative precision counts.
SOFTENING = 0.3
#: Step of ``t`` from level to level. Reading between such levels is exact to 0.01 % of sigma.
STEP = 0.2


def relative_scale(s: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``sqrt(s^2 + C^2) = ds/dt``, the size of a unit step of the axis in px^2."""
    return np.asarray(np.sqrt(s * s + np.float32(SOFTENING**2)))


def read_cubic(
    before: AnyArray, here: AnyArray, after: AnyArray, last: AnyArray, u: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return value and slope between four levels, ``u`` levels after the second (Catmull and Rom).

    The slope at a level is half the step between its neighbours, the same from both sides.  For ``u`` below 0 or above
    1, which the ends of the axis need, the curve goes on as the parabola through the three nearest levels.
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


def _asinh(x: AnyArray) -> AnyArray:
    """Return the inverse hyperbolic sine to the rounding of 1; NumPy's own, exact for small x too, is much slower."""
    size = np.abs(x)
    return np.asarray(np.copysign(np.log(size + np.sqrt(size * size + 1)), x))


class LevelAxis(Protocol):
    """A monotonic function from fractional levels, counted from 0, to ``s``."""

    def level_of(self, s: AnyArray) -> AnyArray:
        """Return the level of ``s``."""

    def s_of(self, level: AnyArray) -> AnyArray:
        """Return ``s`` of a level."""

    def by_s(self, change: AnyArray, s: AnyArray) -> AnyArray:
        """Return how much something changes with ``s`` that changes so much from level to level."""

    def scale(self, s: AnyArray) -> AnyArray:
        """Return the change of ``s`` over ``1 / STEP`` levels, which stands for a relative change of blur by 1."""

    @property
    def slope(self) -> tuple[float, float, float]:
        """``(step, a, c)`` of ``ds/dlevel = step sqrt(a s^2 + c^2)``."""


@dataclass(frozen=True)
class AsinhAxis:
    """Levels uniform in ``asinh(s / C)``, the first at ``lowest``."""

    lowest: float

    @property
    def _start(self) -> float:
        return float(np.arcsinh(self.lowest / SOFTENING))

    def level_of(self, s: AnyArray) -> AnyArray:
        """Return the level of ``s``."""
        return np.asarray((_asinh(s * (1 / SOFTENING)) - self._start) * (1 / STEP))

    def s_of(self, level: AnyArray) -> AnyArray:
        """Return ``s`` of a level."""
        return np.asarray(SOFTENING * np.sinh(level * STEP + self._start))

    def by_s(self, change: AnyArray, s: AnyArray) -> AnyArray:
        """Return how much something changes with ``s`` that changes so much from level to level."""
        return np.asarray(change / (STEP * relative_scale(s)))

    def scale(self, s: AnyArray) -> AnyArray:
        """Return ``sqrt(s^2 + C^2)``."""
        return relative_scale(s)

    @property
    def slope(self) -> tuple[float, float, float]:
        """``(step, a, c)`` of ``ds/dlevel = step sqrt(a s^2 + c^2)``."""
        return STEP, 1.0, SOFTENING


@dataclass(frozen=True)
class UniformAxis:
    """Levels ``step`` apart, the first at ``lowest``."""

    lowest: float
    step: float

    def level_of(self, s: AnyArray) -> AnyArray:
        """Return the level of ``s``."""
        return np.asarray((s - self.lowest) * (1 / self.step))

    def s_of(self, level: AnyArray) -> AnyArray:
        """Return ``s`` of a level."""
        return np.asarray(level * self.step + self.lowest)

    def by_s(self, change: AnyArray, s: AnyArray) -> AnyArray:
        """Return how much something changes with ``s`` that changes so much from level to level."""
        return np.asarray(change * (1 / self.step))

    def scale(self, s: AnyArray) -> AnyArray:
        """Return as many levels everywhere."""
        return np.full_like(s, self.step / STEP)

    @property
    def slope(self) -> tuple[float, float, float]:
        """``(step, a, c)`` of ``ds/dlevel = step sqrt(a s^2 + c^2)``."""
        return self.step, 0.0, 1.0
