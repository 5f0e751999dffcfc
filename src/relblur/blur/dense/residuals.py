"""The signed residuals of a pair at every candidate blur.

For a candidate variance difference ``s`` (px^2, positive where ``second`` is the blurrier) the residual is

    e(x; s) = second - G_s * first        s > 0
    e(x; s) = second - first              s = 0
    e(x; s) = G_|s| * second - first      s < 0

This is a continuous function of ``s``, and the sign of the best ``s`` shows which image is sharper.  It is tabulated at
levels uniform in ``asinh(s / C)`` (:mod:`relblur.filters.kernels`).

There are three kernel families.  The *sampled* Gaussian is the model of equation 9.  Below sigma 0.35 px it is a delta
and has no slope at ``s = 0``.  The *band-limited* Gaussian, the inverse transform of ``exp(-s w^2 / 2)`` over
``|w| < pi``, has a slope there, which a signed map needs.  Above about 0.8 px the two are equal.  The *discs* of a lens
(:mod:`relblur.filters.discs`) blur photographs; no Gaussian fits them.

Memory: ``4 * channels * levels`` bytes a pixel (27 levels one-sided, 53 signed, for ``max_sigma = 5``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ...field import Loops
from ...filters import discs
from ...filters.kernels import SOFTENING, STEP, Family, kernel

__all__ = ["NoiseGain", "Residuals", "blur", "blurred", "build_residuals", "noise_gain", "residuals_of"]

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Frequencies on which inner products of Gaussian kernels are summed.
_FREQUENCIES = 256


def blur(image: Array, variance: float, family: Family) -> Array:
    """Blur a plane with a separable Gaussian and a symmetric border (``d c b a | a b c d``)."""
    taps = kernel(variance, family)
    margin = len(taps) // 2
    if margin == 0:
        return image
    if margin <= min(image.shape):
        return np.asarray(cv2.sepFilter2D(image, cv2.CV_32F, taps, taps, borderType=cv2.BORDER_REFLECT))
    padded = np.pad(image, margin, mode="symmetric")
    return np.asarray(cv2.sepFilter2D(padded, cv2.CV_32F, taps, taps)[margin:-margin, margin:-margin])


def blurred(image: Array, sigma: float) -> Array:
    """Blur a (channels, H, W) image by a band-limited Gaussian."""
    return np.stack([blur(plane, sigma**2, "band_limited") for plane in image])


@dataclass(frozen=True)
class NoiseGain:
    """White noise of the images in the residuals, after the prefilter ``F``."""

    q0: float  #: variance due to the image that is not blurred at a level, for unit noise
    q: Doubles  #: (levels,) variance due to the blurred one
    of_first: Doubles  #: (levels, levels) covariance of the residuals at two levels for unit noise in that image
    of_second: Doubles
    independent: float  #: share of the pixels that are independent, ``(mean |F|^2)^2 / mean |F|^4``

    @property
    def relative(self) -> Doubles:
        """Variance of the residual at each level over that without the blurred image's part."""
        return np.asarray((self.q0 + self.q) / self.q0)


@dataclass(frozen=True)
class Residuals:
    """Residuals of a pair at every level."""

    planes: Array  #: (channels, levels, H, W) float32
    levels: Doubles  #: ``s`` in px^2, increasing
    gain: NoiseGain


def build_residuals(
    first: Array, second: Array, limits: tuple[float, float], family: Family, prefilter: float, loops: Loops
) -> Residuals:
    """Tabulate the signed residuals of a pair of (channels, H, W) images.

    ``limits`` is the range of ``s`` in px^2, from 0 if ``first`` is sharper everywhere.  ``prefilter`` is the variance
    in px^2 of the blur that both images already have; it changes the noise gains only.
    """
    low = int(np.floor(np.arcsinh(limits[0] / SOFTENING) / STEP + 1e-9))
    high = int(np.ceil(np.arcsinh(limits[1] / SOFTENING) / STEP - 1e-9))
    # The cubic needs at least four levels.
    low, high = (min(low, -2), max(high, 2)) if low < 0 else (low, max(high, low + 3))
    levels = SOFTENING * np.sinh(np.arange(low, high + 1) * STEP)
    planes = np.empty((len(first), len(levels), *first.shape[1:]), np.float32)
    residual = residuals_of(first, second, float(np.abs(levels).max()), family)

    def fill(index: tuple[int, int]) -> None:
        planes[index] = residual(index[0], float(levels[index[1]]))

    loops.team.each(fill, np.ndindex(planes.shape[:2]))
    return Residuals(planes, levels, noise_gain(levels, family, prefilter))


def residuals_of(first: Array, second: Array, largest: float, family: Family) -> Callable[[int, float], Array]:
    """Return a function of channel and ``s`` (``largest`` at most): the signed residual."""
    images, apart = (first, second), discs.apart_of(family)
    ready = [] if apart is None else [[discs.DiscBlur(plane, largest**0.5) for plane in image] for image in images]

    def blurred(image: int, channel: int, variance: float) -> Array:
        if apart is None:
            return blur(images[image][channel], variance, family)
        return ready[image][channel].by(variance, apart)

    def residual(channel: int, s: float) -> Array:
        if s >= 0:
            return second[channel] - blurred(0, channel, s)
        return blurred(1, channel, -s) - first[channel]

    return residual


def noise_gain(levels: Doubles, family: Family, prefilter: float) -> NoiseGain:
    """Tabulate the inner products of the kernels in the Fourier domain."""
    apart = discs.apart_of(family)
    if apart is None:
        of_levels, pre, gram = _gaussian_transfers(levels, family, prefilter)
    else:
        pre, gram = np.exp(-prefilter * discs.frequencies() ** 2 / 2), discs.gram_of_discs
        of_levels = np.stack([discs.transfer(abs(float(s)), apart) * pre for s in levels])
    positive = (levels >= 0)[:, None]
    first, second = gram(np.where(positive, of_levels, pre)), gram(np.where(positive, pre, of_levels))
    q0 = float(gram(pre[None])[0, 0])
    independent = q0**2 / float(gram(pre[None] ** 2)[0, 0])
    return NoiseGain(q0, np.diagonal(gram(of_levels)), first, second, independent)


def _gaussian_transfers(
    levels: Doubles, family: Family, prefilter: float
) -> tuple[Doubles, Doubles, Callable[[Doubles], Doubles]]:
    """Return the transfer functions of the levels and of the prefilter in 1-D, and the function for Gram matrices."""
    n = _FREQUENCIES
    frequency = np.arange(n // 2 + 1) * (2 * np.pi / n)
    pre = np.exp(-prefilter * frequency**2 / 2)
    mean = np.full(n // 2 + 1, 2.0)
    mean[0] = mean[-1] = 1.0

    def transfer(variance: float) -> Doubles:
        if family == "band_limited":
            return np.asarray(np.exp(-variance * frequency**2 / 2) * pre)
        return np.asarray(np.abs(np.fft.rfft(kernel(variance, family), n)) * pre)

    # The 2-D kernel is g(x) g(y): inner products are those of the 1-D kernels, squared.
    def gram(transfers: Doubles) -> Doubles:
        return np.asarray(((transfers * mean) @ transfers.T / n) ** 2)

    return np.array([transfer(abs(float(s))) for s in levels]), pre, gram
