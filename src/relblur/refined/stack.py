"""The signed residual stack: what is left of the pair at every candidate blur.

For a candidate variance difference ``s`` (px^2, positive where ``second`` is the blurrier) the residual is

    e(x; s) = second - G_s * first        s > 0
    e(x; s) = second - first              s = 0
    e(x; s) = G_|s| * second - first      s < 0

one function of ``s``, continuous through zero: which image is sharper is not a separate decision but the sign of the
best ``s``.  It is tabulated at levels uniform in ``t = asinh(s / C)``: evenly spaced in ``s`` around zero and
geometric (about 10 % of sigma a step) far out, and read between levels by the cubic through the four nearest.

Two kernel families.  The *sampled* Gaussian is the model of equation 9, but it is a delta below sigma 0.35 px and so
has no slope at ``s = 0``.  The *band-limited* Gaussian (the inverse transform of ``exp(-s w^2 / 2)`` over
``|w| < pi``) has one, and equals the sampled one above about 0.8 px: a signed map needs it.

Cost: ``4 * channels * levels`` bytes per pixel (27 levels one-sided, 53 signed, for ``max_sigma = 5``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from ..kernels import band_limited_kernel, sampled_kernel
from . import engine

Array = NDArray[np.float32]
Family = Literal["sampled", "band_limited"]

#: Softening of the level axis, px^2: below it blur is hardly measurable, above it relative precision counts.
SOFTENING = 0.3
#: Step of the level axis.  The cubic through four such levels is exact to 0.003 % of sigma.
STEP = 0.2


def relative_scale(s: Array) -> Array:
    """Return ``sqrt(s^2 + C^2)``, the size of a unit step of the level axis in px^2."""
    return np.asarray(np.sqrt(s * s + np.float32(SOFTENING**2)))


def kernel(variance: float, family: Family) -> NDArray[np.float64]:
    """Return the normalised 1-D Gaussian of a variance in px^2."""
    return sampled_kernel(math.sqrt(variance)) if family == "sampled" else band_limited_kernel(variance)


def blur(image: Array, variance: float, family: Family) -> Array:
    """Blur a plane with a separable Gaussian and a symmetric border (``d c b a | a b c d``)."""
    k = kernel(variance, family)
    radius = len(k) // 2
    if radius == 0:
        return image
    if radius <= min(image.shape):
        return np.asarray(cv2.sepFilter2D(image, cv2.CV_32F, k, k, borderType=cv2.BORDER_REFLECT))
    padded = np.pad(image, radius, mode="symmetric")
    return np.asarray(cv2.sepFilter2D(padded, cv2.CV_32F, k, k)[radius:-radius, radius:-radius])


def blurred(images: tuple[Array, Array], sigma: float) -> tuple[Array, Array]:
    """Blur both (channels, H, W) images of a pair by a band-limited Gaussian."""
    first, second = (np.stack([blur(plane, sigma**2, "band_limited") for plane in image]) for image in images)
    return first, second


@dataclass(frozen=True)
class NoiseGain:
    """How the residuals carry white noise of the images.

    ``first`` and ``second`` are (levels, levels): the covariance of the residuals at two levels when that image is unit
    white noise.  ``q`` is the variance that the blurred one of the two contributes at each level, ``q0`` that of the
    other; all after the prefilter ``F``.  ``independent`` is ``(mean |F|^2)^2 / mean |F|^4``: prefiltered pixels repeat
    each other, and only this share of them counts.
    """

    q0: float
    q: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    independent: float


@dataclass(frozen=True)
class ResidualStack:
    """Residuals of a pair at every level.

    Attributes
    ----------
    residuals : (channels, levels, H, W) float32
    s_levels : (levels,) float64
        The levels in px^2, increasing.
    gain : NoiseGain
    """

    residuals: Array
    s_levels: NDArray[np.float64]
    gain: NoiseGain
    crew: engine.Crew
    step: float = STEP
    softening: float = SOFTENING

    @property
    def lowest(self) -> float:
        """The smallest ``s`` that can be read."""
        return float(self.s_levels[0])

    @property
    def highest(self) -> float:
        """The largest ``s`` that can be read."""
        return float(self.s_levels[-1])

    def level_of(self, s: Array) -> Array:
        """Return the fractional level index of ``s``."""
        t0 = np.float32(np.arcsinh(self.s_levels[0] / SOFTENING))
        return np.asarray((np.arcsinh(s * np.float32(1 / SOFTENING)) - t0) * np.float32(1 / STEP))

    def s_of(self, level: Array) -> Array:
        """Return ``s`` of a fractional level index."""
        t0 = np.float32(np.arcsinh(self.s_levels[0] / SOFTENING))
        return np.asarray(np.float32(SOFTENING) * np.sinh(level * np.float32(STEP) + t0))

    def evaluate(self, s: Array, level: Array, top: int = 0) -> tuple[Array, Array]:
        """Return ``e`` and ``D = -de/ds``, each (channels, rows, W), at the rows from ``top`` on of a map ``s``."""
        e, de = engine.interpolate(self.residuals, level, top)
        return e, np.asarray(de / (np.float32(-STEP) * relative_scale(s)))

    def residual(self, s: Array, top: int = 0) -> Array:
        """Return ``e`` alone."""
        return engine.interpolate_value(self.residuals, self.level_of(s), top)


class Tables:
    """Several tables over the levels (or finer, evenly from the first to the last), read at the same places.

    Reading is linear between their entries.
    """

    def __init__(self, *tables: NDArray[np.float64]) -> None:
        most = max(len(table) for table in tables)
        place = np.linspace(0, 1, most)
        self._knots = [np.interp(place, np.linspace(0, 1, len(table)), table).astype(np.float32) for table in tables]
        self._rises = [np.diff(knots) for knots in self._knots]
        self._last = most - 1
        self._coarsest = min(len(table) for table in tables) - 1

    def at(self, level: Array) -> Callable[[int], Array]:
        """Return a function that gives the values of a table, by its number, at fractional levels."""
        place = level * np.float32(self._last / self._coarsest)
        base = np.clip(place.astype(np.intp), 0, self._last - 1)
        place -= base

        def read(number: int) -> Array:
            values = self._rises[number].take(base)
            values *= place
            values += self._knots[number].take(base)
            return values

        return read


def build_stack(
    first: Array,
    second: Array,
    *,
    lowest: float,
    highest: float,
    family: Family,
    prefilter: float,
    crew: engine.Crew = engine.ALONE,
) -> ResidualStack:
    """Tabulate the signed residual of a pair of (channels, H, W) images.

    Parameters
    ----------
    lowest, highest : float
        Range of ``s`` in px^2; ``lowest`` is 0 when ``first`` is stated to be the sharper.
    prefilter : float
        Variance in px^2 already applied to both images; enters the noise gains only.
    crew : Crew
        Who does the work, here and whenever the stack is read.
    """
    low = int(np.floor(np.arcsinh(lowest / SOFTENING) / STEP + 1e-9))
    high = int(np.ceil(np.arcsinh(highest / SOFTENING) / STEP - 1e-9))
    s_levels = SOFTENING * np.sinh(np.arange(low, high + 1) * STEP)
    channels, height, width = first.shape
    residuals = np.empty((channels, len(s_levels), height, width), np.float32)

    def fill(place: tuple[int, int]) -> None:
        c, k = place
        s = float(s_levels[k])
        if s >= 0:
            np.subtract(second[c], blur(first[c], s, family), out=residuals[c, k])
        else:
            np.subtract(blur(second[c], -s, family), first[c], out=residuals[c, k])

    crew.each(fill, np.ndindex(channels, len(s_levels)))
    return ResidualStack(residuals, s_levels, _noise_gain(s_levels, family, prefilter), crew)


def _noise_gain(s_levels: NDArray[np.float64], family: Family, prefilter: float) -> NoiseGain:
    """Tabulate the inner products of the kernels in the Fourier domain of the 1-D ones."""
    n = 256
    frequency = np.arange(n // 2 + 1) * (2 * np.pi / n)
    pre = np.exp(-prefilter * frequency**2 / 2)
    mean = np.full(n // 2 + 1, 2.0)
    mean[0] = mean[-1] = 1.0

    def power(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        return float((a * b * mean).sum() / n)

    def transfer(variance: float) -> NDArray[np.float64]:
        if family == "band_limited":
            return np.asarray(np.exp(-variance * frequency**2 / 2) * pre)
        return np.asarray(np.abs(np.fft.rfft(kernel(variance, family), n)) * pre)

    # The 2-D kernel is g(x) g(y): inner products are those of the 1-D kernels, squared.
    def gram(transfers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(((transfers * mean) @ transfers.T / n) ** 2)

    blurred = np.array([transfer(abs(s)) for s in s_levels])
    positive = (s_levels >= 0)[:, None]
    first, second = gram(np.where(positive, blurred, pre)), gram(np.where(positive, pre, blurred))
    q0 = power(pre, pre) ** 2
    independent = q0**2 / power(pre**2, pre**2) ** 2
    return NoiseGain(q0, np.diagonal(gram(blurred)), first, second, independent)
