"""Gaussian kernels on the pixel grid.

There are two families, which agree to 1e-3 above 1 px:

* *sampled*: ``exp(-n^2 / 2 sigma^2)``, cut at 5 sigma and normalised, the paper's kernel
  (equation 9 on the grid). Below about 0.35 px it is the identity: its side tap is 4e-6 at
  0.2 px, so the smallest grid points of the paper carry no information.
* *band-limited*: the inverse transform of ``exp(-v w^2 / 2)`` over ``|w| < pi``. Its
  derivative with respect to the variance ``v`` does not vanish at ``v = 0``, as estimators
  of blur that passes through zero require.

Levels of relative blur ``s`` (px^2) are uniform in ``t = asinh(s / C)``. They are evenly spaced around zero, where blur
is hardly measurable, and geometric at large ``s``, with steps of about 10 % of sigma.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..base._typing import FloatArray
from ..base.settings import TRUNCATE

__all__ = [
    "BAND_LIMITED_RADIUS",
    "SOFTENING",
    "STEP",
    "Family",
    "band_limited_kernel",
    "band_limited_weights",
    "kernel",
    "kernel_radius",
    "noise_gain",
    "relative_scale",
    "sampled_kernel",
    "sampled_weights",
]

#: Name of a family of kernels: "sampled" or "band_limited" Gaussians, or discs (:func:`.discs.discs_family`).
Family = str

#: Least radius of a band-limited kernel, px.
BAND_LIMITED_RADIUS = 6

#: Constant ``C`` of the levels, px^2: below it blur is hardly measurable, above it relative precision matters.
SOFTENING = 0.3
#: Step of ``t`` between levels: interpolation between them is exact to 0.01 % of sigma.
STEP = 0.2

#: Variance from which the two families are interchangeable, px^2: exp(-TABLE_TOP pi^2 / 2) = 3e-9.
TABLE_TOP = 4.0
TABLE_SIZE = 801


def kernel_radius(sigma: float, truncate: float = TRUNCATE) -> int:
    """Return the number of taps on each side of the centre, within ``truncate`` standard deviations.

    Examples
    --------
    >>> kernel_radius(5.0)  # the paper's 51 x 51 window
    25
    """
    # The margin keeps rounding, as in 5 * 1.1 = 5.500000000000001, from adding a tap.
    return math.ceil(truncate * sigma - 1e-9)


def sampled_kernel(sigma: float, truncate: float = TRUNCATE) -> FloatArray:
    """Return the sampled Gaussian with unit sum, of odd length; ``[1]`` for ``sigma == 0``."""
    radius = kernel_radius(sigma, truncate)
    if radius == 0:
        return np.ones(1)
    n = np.arange(-radius, radius + 1)
    kernel = np.exp(-0.5 * (n / sigma) ** 2)
    return kernel / kernel.sum()


def sampled_weights(sigma: FloatArray, radius: int, truncate: float = TRUNCATE) -> FloatArray:
    """Return taps 0 ... ``radius`` of the sampled kernel of every pixel, not normalised: (radius + 1, H, W).

    The kernel of a pixel ends at ``truncate`` times its own sigma; further taps are 0.
    """
    d = np.arange(radius + 1.0)[:, None, None]
    taps = np.ceil(truncate * sigma - 1e-9)
    # Below 1e-9 px the square would overflow; the kernel is a delta there.
    weight = np.exp(-0.5 * (d / np.where(sigma > 0, np.maximum(sigma, 1e-9), 1.0)) ** 2)
    weight[d[:, 0, 0] > 0] *= taps >= d[1:]
    return weight


def band_limited_weights(sigma: FloatArray, radius: int, truncate: float = TRUNCATE) -> FloatArray:
    """Return taps 0 ... ``radius`` of the band-limited kernel of every pixel: (radius + 1, H, W)."""
    variance = sigma**2
    weight = _read_table(_band_limited_table(radius), np.minimum(variance, TABLE_TOP))
    # At larger variances both families agree to 1e-8.
    sampled = sampled_weights(sigma, radius, truncate) / np.sqrt(2 * np.pi * np.maximum(variance, TABLE_TOP))
    taps = np.maximum(np.ceil(truncate * sigma - 1e-9), BAND_LIMITED_RADIUS)
    inside = np.arange(radius + 1.0)[:, None, None] <= np.where(sigma > 0, taps, 0)
    return np.where(variance < TABLE_TOP, weight, sampled) * inside


def _band_limited_table(radius: int) -> FloatArray:
    """Return the taps at evenly spaced variances from 0 to TABLE_TOP, (radius + 1, TABLE_SIZE)."""
    return _longest_table(max(16, 1 << (radius - 1).bit_length()))[: radius + 1]


@lru_cache(maxsize=8)
def _longest_table(radius: int) -> FloatArray:
    return np.ascontiguousarray(_taps(np.linspace(0, TABLE_TOP, TABLE_SIZE), radius).T)


def _read_table(table: FloatArray, variance: FloatArray) -> FloatArray:
    """Interpolate a table by the cubic through four entries, with an error of 1e-9: (radius + 1, H, W)."""
    place = variance * ((TABLE_SIZE - 1) / TABLE_TOP)
    first = np.clip(place.astype(np.intp) - 1, 0, TABLE_SIZE - 4)
    u = place - first
    a, b, c = u - 1, u - 2, u - 3
    weights = (a * b * c / -6, u * b * c / 2, u * a * c / -2, u * a * b / 6)
    read = weights[0] * table[:, first]
    for j in (1, 2, 3):
        read += weights[j] * table[:, first + j]
    return read


def _taps(variance: FloatArray, radius: int) -> FloatArray:
    """Return the inverse transform of exp(-v w^2 / 2) over (0, pi) at 0 ... radius: (len(variance), radius + 1)."""
    # Midpoint rule; 2048 points integrate the smooth transform to rounding.
    points = 2048
    w = (np.arange(points) + 0.5) * (np.pi / points)
    return np.exp(-0.5 * variance[:, None] * w**2) @ np.cos(np.outer(w, np.arange(radius + 1))) / points


@lru_cache(maxsize=512)
def _band_limited(variance: float, radius: int) -> FloatArray:
    half = _taps(np.array([variance]), radius)[0]
    kernel = np.concatenate([half[:0:-1], half])
    kernel /= kernel.sum()
    kernel.setflags(write=False)
    return kernel


def band_limited_kernel(variance: float, truncate: float = TRUNCATE) -> FloatArray:
    """Return the band-limited Gaussian of a variance in px^2 with unit sum (read-only).

    The radius is at least 6, because at small variances the kernel rings beyond the Gaussian.
    """
    if variance == 0:
        return np.ones(1)
    return _band_limited(float(variance), max(BAND_LIMITED_RADIUS, kernel_radius(math.sqrt(variance), truncate)))


def noise_gain(kernel: FloatArray) -> float:
    """Return the variance of unit white noise after the separable two-dimensional filter."""
    return float(np.sum(kernel**2) ** 2)


def kernel(variance: float, family: Family) -> FloatArray:
    """Return the normalised 1-D Gaussian of a variance in px^2, of either family of Gaussians."""
    return sampled_kernel(math.sqrt(variance)) if family == "sampled" else band_limited_kernel(variance)


def relative_scale(s: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``sqrt(s^2 + C^2) = ds/dt``, the change of ``s`` for a unit change of ``t``."""
    return np.asarray(np.sqrt(s * s + np.float32(SOFTENING**2)))
