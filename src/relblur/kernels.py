"""Gaussian kernels on the pixel grid.

Two families, equal to within 1e-3 above about 0.8 px:

* *sampled*: ``exp(-n^2 / 2 sigma^2)``, cut at 5 sigma and normalised, the paper's kernel
  (equation 9 on the grid). Below about 0.35 px it is the identity: its side tap is 4e-6 at
  0.2 px, so the smallest grid points of the paper carry no information.
* *band-limited*: the inverse transform of ``exp(-v w^2 / 2)`` over ``|w| < pi``, whose
  derivative with respect to the variance ``v`` does not vanish at ``v = 0``. An estimator
  that lets blur pass through zero needs it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ._typing import FloatArray
from .settings import TRUNCATE

__all__ = ["band_limited_kernel", "kernel_radius", "noise_gain", "sampled_kernel"]


def kernel_radius(sigma: float, truncate: float = TRUNCATE) -> int:
    """Taps on each side of the centre: all within ``truncate`` standard deviations.

    Examples
    --------
    >>> kernel_radius(5.0)  # the paper's 51 x 51 window
    25
    """
    # The small allowance keeps 5 * 1.1 = 5.500000000000001 from costing a tap.
    return math.ceil(truncate * sigma - 1e-9)


def sampled_kernel(sigma: float, truncate: float = TRUNCATE) -> FloatArray:
    """Return the sampled Gaussian with unit sum, of odd length; ``[1]`` for ``sigma == 0``."""
    radius = kernel_radius(sigma, truncate)
    if radius == 0:
        return np.ones(1)
    n = np.arange(-radius, radius + 1)
    kernel = np.exp(-0.5 * (n / sigma) ** 2)
    return kernel / kernel.sum()


@lru_cache(maxsize=512)
def _band_limited(variance: float, radius: int) -> FloatArray:
    # Midpoint rule over (0, pi); 2048 points integrate the smooth transform to rounding.
    points = 2048
    w = (np.arange(points) + 0.5) * (np.pi / points)
    n = np.arange(radius + 1)
    half = (np.exp(-0.5 * variance * w**2) * np.cos(np.outer(n, w))).mean(axis=1)
    kernel = np.concatenate([half[:0:-1], half])
    kernel /= kernel.sum()
    kernel.setflags(write=False)
    return kernel


def band_limited_kernel(variance: float, truncate: float = TRUNCATE) -> FloatArray:
    """Return the band-limited Gaussian of a variance in px^2 with unit sum (read-only).

    The radius is at least 6: near zero variance the kernel's own ringing, not the
    Gaussian, decides how far it reaches.
    """
    if variance == 0:
        return np.ones(1)
    return _band_limited(float(variance), max(6, kernel_radius(math.sqrt(variance), truncate)))


def noise_gain(kernel: FloatArray) -> float:
    """Variance of white noise after the separable two-dimensional filter, per unit input."""
    return float(np.sum(kernel**2) ** 2)
