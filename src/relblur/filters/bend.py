"""A smooth field of displacements: what a motion of the whole frame leaves, as a polynomial of the place.

A lens draws straight lines a little bent, by the cube of the distance from its axis, and otherwise at another focus; a
hand that moved adds perspective, a square. So the degree is three.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base._typing import FloatArray

__all__ = ["DEGREE", "Bend", "powers"]

DEGREE = 3


@dataclass(frozen=True, eq=False)
class Bend:
    """Displacements down and right at the places (row, column) of a frame.

    Attributes
    ----------
    coefficients : (2, 4, 4) array
        In px, down and right, of ``v^i u^j``: ``v`` and ``u`` are row and column from the middle, over the radius.
    middle : (float, float)
        Row and column.
    radius : float
        In px.
    """

    coefficients: FloatArray
    middle: tuple[float, float]
    radius: float

    def at(self, rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how far down and how far right the crossings of these rows and columns are displaced."""
        v, u = (powers((np.ravel(n) - m) / self.radius) for n, m in zip((rows, columns), self.middle, strict=True))
        down, right = (v @ of @ u.T for of in self.coefficients)
        return down, right

    def enlarged(self, factor: float) -> Bend:
        """Return the field of images of which these hold every ``factor``-th pixel."""
        middle = (factor * self.middle[0], factor * self.middle[1])
        return replace(self, coefficients=factor * self.coefficients, middle=middle, radius=factor * self.radius)

    def enlarged_from_means(self, factor: int) -> Bend:
        """Return the field of images of which these hold the means of blocks."""
        half = (factor - 1) / 2
        large = self.enlarged(factor)
        return replace(large, middle=(large.middle[0] + half, large.middle[1] + half))


def powers(of: FloatArray) -> FloatArray:
    """Return the (n, 4) powers, from 0 on, of n numbers."""
    return np.asarray(of, np.float64)[:, None] ** np.arange(DEGREE + 1)
