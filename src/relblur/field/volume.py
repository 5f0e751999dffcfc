"""The input of the solver: residuals at every level of an axis, their noise, and their usable pixels.

At the true value ``z`` of a pixel its residuals ``e_c(z)`` (c: channels) are noise alone.  White noise of the images
gives them a known covariance along the axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .axis import Axis
from .loops import Loops
from .noise import Noise

__all__ = ["Support", "Volume"]

Array = NDArray[np.float32]


class Support(Protocol):
    """Share of the residuals' change that comes from texture that all images show, 0 to 1."""

    def of_step(self, low: float, high: float) -> Array:
        """Return the share of the change between two levels (values), on cells of 2 x 2 pixels."""

    def at(self, z: Array) -> Array:
        """Return the share of the change around a map, at every pixel."""

    def local_support(self, z: Array) -> Array:
        """Return the share of the information that belongs to the pixel, not to an outline beside it."""


@dataclass(frozen=True)
class Volume:
    """Residuals along an axis: the input of :func:`relblur.field.solve`."""

    residuals: Array  #: (C, K, H, W) float32, for images of contrast 1
    axis: Axis
    noise: Noise
    limits: tuple[float, float]  #: smallest and largest value of a map
    independent: float = 1.0  #: number of independent measurements in a residual
    support: Support | None = None  #: None: every change of the residuals is evidence, as without noise
    support_in_search: bool = True  #: whether the support weights the search too, not only the standard error
    weight_at: Callable[[Array], Array] | None = None  #: weight of every pixel at a map, 0 for unusable residuals
    stiffness: tuple[float, float] = (4.0, 6.5)  #: initial and largest log10 mu
    shape_error: float = 0.0  #: relative standard error due to an inexact model of the residuals
    disagreement: bool = False  #: whether the model's error is the disagreement of the channels
    loops: Loops = field(default_factory=Loops)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the map."""
        return self.residuals.shape[2], self.residuals.shape[3]

    @property
    def search_support(self) -> Support | None:
        """The support that weights the search for the map; None if it weights the standard error only."""
        return self.support if self.support_in_search else None

    @property
    def levels(self) -> int:
        """Number of levels."""
        return self.residuals.shape[1]

    @property
    def range_variance(self) -> np.float32:
        """Variance ``U`` of a value that is uniform between the limits."""
        return np.float32((self.limits[1] - self.limits[0]) ** 2 / 12)

    def clip(self, z: Array) -> Array:
        """Return values within the limits."""
        return np.asarray(np.clip(z, np.float32(self.limits[0]), np.float32(self.limits[1])))
