"""From the map ``z`` to ``s``, and steps of the map.  The equations are in :mod:`..prior.coordinate`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....filters.level_axis import LevelAxis
from ..prior.coordinate import TRUST

__all__ = ["CoordinateLoops"]

Array = NDArray[np.float32]


def _clip(z: Array, limits: tuple[float, float]) -> Array:
    return np.asarray(np.clip(z, np.float32(limits[0]), np.float32(limits[1])))


class CoordinateLoops:
    """Loops over the map."""

    def place(self, z: Array, is_sigma: bool, axis: LevelAxis) -> tuple[Array, Array]:
        """Return ``s``, and the change of ``z`` that stands for a relative change of blur by 1."""
        if not is_sigma:
            return z, axis.scale(z)
        s = z * z
        return s, np.asarray(axis.scale(s) / (2 * z))

    def carry(self, w: Array, g: Array, z: Array) -> tuple[Array, Array]:
        """Return information and score of sigma: ``ds/dz = 2 z``."""
        gain = 2 * z
        return w * gain**2, g * gain

    def move(self, z: Array, delta: Array, scale: Array, limits: tuple[float, float]) -> Array:
        """Return the map after a step."""
        most = TRUST * scale
        return _clip(z + np.clip(delta, -most, most), limits)

    def neighbour_plane(
        self, z: Array, slope: Array, offset: tuple[int, int], limits: tuple[float, float], is_sigma: bool
    ) -> tuple[Array, Array]:
        """Return the planes of the pixels ``offset`` away, or on the border, continued to here."""
        axis = 0 if offset[0] else 1
        here = np.arange(z.shape[axis])
        there = np.clip(here + offset[axis], 0, z.shape[axis] - 1)
        distance = (there - here).astype(np.float32)
        rise = slope[axis].take(there, axis) * (distance[:, None] if axis == 0 else distance)
        plane = _clip(z.take(there, axis) - rise, limits)
        return plane, plane * plane if is_sigma else plane
