"""The energy as a function of the value of one pixel, its neighbours being held."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .energy import Energy
from .solve import SMALLEST_JUMP, Field
from .surface import link, stiffness
from .volume import Volume

__all__ = ["PixelEnergy"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]


class PixelEnergy:
    """The energy of one pixel of a volume that was solved, at a map ``z``."""

    def __init__(self, volume: Volume, found: Field, z: Array, place: tuple[int, int]) -> None:
        self._volume, self._found, self._z, self._place = volume, found, z, place
        self._energy = Energy(volume)
        self._energy.misfit = found.steps["misfit"]
        self._energy.weigh(found.z)
        self._energy.evidence(found.z)

    def data(self, at: Doubles) -> Doubles:
        """Return the cost of the pixel's own residual at some values; NaN beyond the limits."""
        low, high = self._volume.limits
        inside = (at >= low) & (at <= high)
        cost = np.full(at.shape, np.nan)
        cost[inside] = self._energy.of_pixel(self._place, at[inside].astype(np.float32))
        return cost

    def prior(self, at: Doubles) -> Doubles:
        """Return the cost of the edges to the four neighbours."""
        z, mu, (row, column) = self._z, self._found.steps["mu"], self._place
        variance = self._volume.loops.posterior_variance(self._found.w, mu)
        slope = np.asarray(np.gradient(z), np.float32)
        edges = link(self._volume.loops, z, slope, variance, mu, np.full_like(z, SMALLEST_JUMP))
        lam = stiffness(variance)
        cost = np.zeros(at.shape)
        for axis, step in ((0, 1), (0, -1), (1, 1), (1, -1)):
            there = (row + step, column) if axis == 0 else (row, column + step)
            if not 0 <= there[axis] < z.shape[axis]:
                continue
            p = 0.5 * (slope[axis][self._place] + slope[axis][there])
            near = min(self._place, there)
            strength = 0.5 * float(lam[self._place] + lam[there]) * float(edges.h[axis][near])
            cost += 0.5 * strength * (at - float(z[there] - step * p)) ** 2
        return cost
