"""Edges between neighbouring pixels: axis 0 along rows (downwards), axis 1 along columns (to the right)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CUT", "ENDS", "Edges", "between", "spread_difference", "spread_sum", "unexplained"]

Array = NDArray[np.float32]

#: Weight left to an edge that is cut: a system needs a little of it.
CUT = np.float32(1e-6)

#: Both ends of the edges along rows (0: downwards) and columns (1: to the right).
ENDS = (
    ((slice(None, -1), slice(None)), (slice(1, None), slice(None))),
    ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
)


@dataclass(frozen=True)
class Edges:
    """Unexplained steps ``d`` and weights ``h`` of the edges along rows and columns."""

    d: tuple[Array, Array]
    h: tuple[Array, Array]


def unexplained(z: Array, slope: Array, axis: int) -> Array:
    """Return the steps of a map along an axis that the slopes do not explain."""
    near, far = ENDS[axis]
    return np.asarray(z[far] - z[near] - between(slope[axis], axis))


def between(a: Array, axis: int) -> Array:
    """Return the mean of the two ends of each edge along an axis."""
    near, far = ENDS[axis]
    return np.asarray(np.float32(0.5) * (a[near] + a[far]))


def spread_sum(edge: Array, axis: int, out: Array) -> None:
    """Add to both ends of each edge."""
    near, far = ENDS[axis]
    out[near] += edge
    out[far] += edge


def spread_difference(edge: Array, axis: int, out: Array) -> None:
    """Add to the far end of each edge, take from the near one."""
    near, far = ENDS[axis]
    out[far] += edge
    out[near] -= edge
