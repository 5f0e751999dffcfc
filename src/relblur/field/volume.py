"""The input of the solver: residuals at every level of an axis, the noise in them, and where they may be used.

At the true value ``z`` of a pixel its residuals ``e_c(z)`` (c: channels) are noise alone.  White noise of the images
enters them with a covariance that is known along the axis.
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
    """Share of the residuals' change that is evidence, 0 to 1: texture that all images show, not noise of one."""

    def of_step(self, low: float, high: float) -> Array:
        """Return the share of the change between two levels (values), on cells of 2 x 2 pixels."""

    def at(self, z: Array) -> Array:
        """Return the share of the change around a map, at every pixel."""

    def located(self, z: Array) -> Array:
        """Return the share of the information that belongs to the pixel, not to an outline beside it."""


@dataclass(frozen=True)
class Volume:
    """Residuals along an axis: the input of :func:`relblur.field.solve`."""

    residuals: Array  #: (C, K, H, W) float32, on a scale on which the contrast of the images is about 1
    axis: Axis
    noise: Noise
    limits: tuple[float, float]  #: smallest and largest value that a map may have
    independent: float = 1.0  #: number of independent measurements that a pixel's residual counts for
    support: Support | None = None  #: None: every change of the residuals is evidence, as without noise
    support_finds: bool = True  #: whether the support weights the search for the map too, or its standard error only
    weight_at: Callable[[Array], Array] | None = None  #: weight of every pixel for a map, 0 for unusable residuals
    stiffness: tuple[float, float] = (4.0, 6.5)  #: log10 of the curvature's inverse variance, at first and at most
    shape_error: float = 0.0  #: relative standard error due to an inexact model of the residuals
    disagreement: bool = False  #: channels measure the value independently: their disagreement is the model's error
    loops: Loops = field(default_factory=Loops)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the map."""
        return self.residuals.shape[2], self.residuals.shape[3]

    @property
    def finding(self) -> Support | None:
        """The support that weights the search for the map, if there is one."""
        return self.support if self.support_finds else None

    @property
    def levels(self) -> int:
        """Number of levels."""
        return self.residuals.shape[1]

    @property
    def unknown(self) -> np.float32:
        """Variance of a value of which only the limits are known."""
        return np.float32((self.limits[1] - self.limits[0]) ** 2 / 12)

    def clip(self, z: Array) -> Array:
        """Return values within the limits."""
        return np.asarray(np.clip(z, np.float32(self.limits[0]), np.float32(self.limits[1])))
