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

from ..engines.threads import Team
from .axis import Axis, read_cubic
from .windows import box

__all__ = ["Noise", "Support", "Tables", "Volume"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Entries of the tables of noise per level.
_FINER = 8


class Support(Protocol):
    """Share of the residuals' change that is evidence, 0 to 1: texture that all images show, not noise of one."""

    def of_step(self, low: float, high: float) -> Array:
        """Return the share of the change between two levels (values), on cells of 2 x 2 pixels."""

    def at(self, z: Array) -> Array:
        """Return the share of the change around a map, at every pixel."""

    def located(self, z: Array) -> Array:
        """Return the share of the information that belongs to the pixel, not to an outline beside it."""


@dataclass(frozen=True)
class Noise:
    """Variance of the residuals that noise explains.

    Attributes
    ----------
    own, passed : (K,)
        Variance at each level due to the image that is not blurred there, and due to the others.  Misfits are measured
        on the scale of ``own``.
    covariance : (K, K)
        Covariance of the residuals at two levels, without rounding.
    gain : (K,)
        Variance at each level if all images have white noise of variance 1, over that at a reference level.
    of_images : float
        Variance of the noise of the noisiest image.
    relative : (H, W), optional
        Variance at each pixel over its mean; 1 everywhere if not given.
    repeats : bool
        Whether the noise is correlated between pixels, so that averaging does not remove it.
    """

    own: Doubles
    passed: Doubles
    covariance: Doubles
    gain: Doubles
    of_images: float = 0.0
    relative: Array | None = None
    repeats: bool = False

    @property
    def present(self) -> bool:
        """Whether there is any noise but that of rounding."""
        return bool(self.covariance.any())

    def on(self, rows: slice) -> Array | np.float32:
        """Return the relative variance on some rows."""
        return np.float32(1) if self.relative is None else self.relative[rows]


@dataclass(frozen=True)
class Volume:
    """Residuals along an axis.

    Attributes
    ----------
    residuals : (channels, K, H, W) float32
        On a scale on which the contrast of the images is about 1.
    axis : Axis
    noise : Noise
    limits : (float, float)
        Smallest and largest value that a map may have.
    independent : float
        Number of independent measurements that a pixel's residual counts for.
    support : Support, optional
        Everything counts without one, which is right without noise only.
    support_finds : bool
        Whether the support weights the search for the map too, or its standard error only.
    weight_at : callable, optional
        Returns for a map the weight of every pixel, 0 where its residual must not be used.
    first_stiffness, most_stiffness : float
        log10 of the inverse variance of the map's curvature, at the start and at most.
    shape_error : float
        Relative standard error that an inexact model of the residuals leaves anywhere.
    disagreement : bool
        Whether the channels measure the value independently, so that their disagreement is the model's error.
    team : Team
        Threads that share the work.
    """

    residuals: Array
    axis: Axis
    noise: Noise
    limits: tuple[float, float]
    independent: float = 1.0
    support: Support | None = None
    support_finds: bool = True
    weight_at: Callable[[Array], Array] | None = None
    first_stiffness: float = 4.0
    most_stiffness: float = 6.5
    shape_error: float = 0.0
    disagreement: bool = False
    team: Team = field(default_factory=lambda: Team(1))

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


def best_fit(residuals: Array, gain: Doubles, team: Team) -> Array:
    """Return the least 5 x 5 mean of ``e_k^2 / gain_k`` over the levels.

    Without the division the larger blur would win only because it averages noise.
    """
    found: list[Array] = []

    def look(levels: range) -> None:
        best = np.full(residuals.shape[2:], np.inf, np.float32)
        for k in levels:
            power = box(np.square(residuals[:, k]).mean(axis=0), 5)
            power *= np.float32(1 / gain[k])
            np.minimum(best, power, out=best)
        found.append(best)

    team.each(look, [range(start, len(gain), team.workers) for start in range(team.workers)])
    return np.minimum.reduce(found)


class Tables:
    """What noise does to a residual ``e`` and its sensitivity ``D = -de/dz``, read linearly between finer levels.

    ``at(level)`` returns the variances ``own`` and ``passed`` of ``e``, the covariance of ``e`` and ``D``, and the
    variance of ``D``.  The last two are made with the weights by which residuals are read between levels.
    """

    def __init__(self, noise: Noise, axis: Axis) -> None:
        count = len(noise.own)
        level = np.arange((count - 1) * _FINER + 1) / _FINER
        factor = axis.by_value(np.full_like(level, -1), axis.value_of(level))
        base = np.clip(level.astype(np.intp), 1, count - 3)
        one = np.eye(count)
        value, slope = read_cubic(one[base - 1], one[base], one[base + 1], one[base + 2], (level - base)[:, None])
        covariance = factor * np.einsum("ij,jk,ik->i", value, noise.covariance, slope)
        variance = factor**2 * np.einsum("ij,jk,ik->i", slope, noise.covariance, slope)
        levels = np.arange(count)
        knots = (*(np.interp(level, levels, table) for table in (noise.own, noise.passed)), covariance, variance)
        self._knots = [table.astype(np.float32) for table in knots]

    def at(self, level: Array, *numbers: int) -> list[Array]:
        """Return the tables of some numbers (0: own, 1: passed, 2: covariance, 3: variance of D) at levels."""
        place = level * np.float32(_FINER)
        base = np.clip(place.astype(np.intp), 0, len(self._knots[0]) - 2)
        place -= base
        out = []
        for number in numbers:
            low = self._knots[number].take(base)
            out.append(low + place * (self._knots[number].take(base + 1) - low))
        return out
