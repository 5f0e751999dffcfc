"""Noise of a photograph: rounding, and the read and shot noise of a sensor."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from ..base.arguments import colour_axis
from ..base.inputs import as_pair

__all__ = [
    "GRIDS",
    "NoiseModel",
    "estimate_noise",
    "fine_power",
    "noise_at_light",
    "quantisation_step",
    "rounding_noise",
    "smooth_light",
]

#: Least noise of floats, as a share of the intensity range: kernels cut at 5 sigma lose 4e-6 of it.
FLOAT_NOISE = 2e-6

#: Least noise of floats relative to the largest value: above the rounding of float64 filters, below any texture.
ARITHMETIC_NOISE = 1e-9

#: Grids of rounded values: step, and least contrast in steps. Whole numbers need 16 steps, because drawings with the
#: values 0 and 1 are not rounded.
LEAST_STEPS = 16.0
GRIDS: tuple[tuple[float, float], ...] = ((1.0, LEAST_STEPS), (1 / 255, 0.5), (1 / 65535, 0.5))

#: Number of intensity bins, and least number of pixels of each.
_BINS = 16
_LEAST_IN_BIN = 200

#: Ratio of the mean to the 20th percentile of local noise power, by channels: measured for the smaller of two images.
_QUANTILE_CORRECTION = {1: 1.51, 3: 1.26}

#: Smoothing of the light that determines the noise, px: without it the noise would bias its own variance.
_LIGHT_SMOOTHING = 2.0
#: Reach of this smoothing, rows on either side.
LIGHT_REACH = math.ceil(5 * _LIGHT_SMOOTHING) + 1


@dataclass(frozen=True)
class NoiseModel:
    """Noise whose variance grows with the light: ``read^2 + shot * light``.

    Attributes
    ----------
    read : float
        Standard deviation in the dark, on the images' scale.
    shot : float
        Variance per unit of light (photons arrive at random; 1 / full-well electrons).
    compressed : bool
        Whether it includes JPEG errors, which are correlated between pixels and do not average out.
    """

    read: float
    shot: float = 0.0
    compressed: bool = False

    def variance(self, light: FloatArray) -> FloatArray:
        """Return the variance at each pixel of an image, or of light values."""
        return self.read**2 + self.shot * np.maximum(light, 0)

    def __add__(self, other: NoiseModel) -> NoiseModel:
        """Return the noise of two independent sources together."""
        compressed = self.compressed or other.compressed
        return NoiseModel(math.hypot(self.read, other.read), self.shot + other.shot, compressed)


def rounding_noise(
    image: AnyArray, limits: tuple[float, float] = (-math.inf, math.inf), own_step: bool = True
) -> float:
    """Return the standard deviation of the rounding error of values within the limits.

    It is ``step / sqrt(12)`` if all values lie on a grid, of 8 or 16 bits or (with ``own_step``) of any other step.
    Otherwise it is a small share of the intensity range. It is the lower bound of the noise in every estimate.
    """
    low, high = max(float(image.min()), limits[0]), min(float(image.max()), limits[1])
    contrast, largest = high - low, max(abs(low), abs(high))
    own = quantisation_step(image) if own_step else 0.0
    if contrast > LEAST_STEPS * own > 0:
        return own / math.sqrt(12)
    for step, least_steps in GRIDS:
        if contrast > least_steps * step and _on_grid(image.ravel()[:4096], step) and _on_grid(image, step):
            return step / math.sqrt(12)
    return max(FLOAT_NOISE * contrast, ARITHMETIC_NOISE * largest, np.finfo(np.float64).tiny)


def quantisation_step(image: AnyArray) -> float:
    """Return the spacing of an image's values if they lie on a grid of at most 65536 values, else 0."""
    for sample in (image.ravel()[:4096], image):  # a sample can exclude a grid; sorting all values is slow
        values = np.unique(sample).astype(np.float64)
        span = values[-1] - values[0]
        gap = float(np.diff(values).min()) if len(values) > 1 else span
        if len(values) > 1 and not gap > span * 1e-5:
            return 0.0
    count = round(span / gap) if len(values) > 2 else 0
    if not 0 < count <= 65535:
        return 0.0
    # float32 values of a 16-bit grid are off by up to 0.01 of a step.
    step = float(span / count)
    return step if _on_grid(values - values[0], step, 0.02) else 0.0


def _on_grid(values: AnyArray, step: float, within: float = 1e-4) -> bool:
    scaled = values / step
    return float(np.abs(scaled - np.rint(scaled)).max()) < within


def estimate_noise(
    first: ArrayLike,
    second: ArrayLike,
    *,
    valid: ArrayLike | None = None,
    channel_axis: int | None = None,
    floor: NoiseModel | None = None,
) -> NoiseModel:
    """Estimate read and shot noise from a pair of photographs taken with one camera.

    At each intensity the noise is the variance of second differences, which are zero on slopes. It is measured in the
    flattest fifth of the picture, in the flatter (blurrier) image. The model is a straight line fitted to these
    variances over the intensities. Remaining texture can only make it too large.

    Parameters
    ----------
    first, second : arrays
        An aligned pair of equal exposure in linear light.
    floor : NoiseModel, optional
        Lower bound of the noise: the rounding of the file (``Photograph.rounding``).
    """
    channel_axis = colour_axis(first, channel_axis)
    pair = as_pair(first, second, valid=valid, channel_axis=channel_axis)
    light = (pair.first.mean(axis=2) + pair.second.mean(axis=2)) / 2
    power = np.minimum(*(fine_power(np.moveaxis(image, -1, 0)) for image in (pair.first, pair.second)))
    use = pair.usable if pair.usable.any() else np.ones_like(pair.usable)
    light, power = light[use], power[use]
    edges = np.unique(np.quantile(light, np.linspace(0, 1, _BINS + 1)))
    which = np.clip(np.searchsorted(edges, light, side="right") - 1, 0, max(len(edges) - 2, 0))
    # The factor converts the 20th percentile of means of 81 squares to their mean.
    correction = _QUANTILE_CORRECTION[1 if pair.first.shape[2] == 1 else 3]
    levels, variances = [], []
    for index in range(max(len(edges) - 1, 1)):
        here = which == index
        if here.sum() >= _LEAST_IN_BIN:
            levels.append(float(light[here].mean()))
            variances.append(correction * float(np.percentile(power[here], 20)))
    read2, shot = _line(np.array(levels), np.array(variances)) if levels else (0.0, 0.0)
    if floor is not None:
        read2, shot = max(read2, floor.read**2), max(shot, floor.shot)
    compressed = floor is not None and floor.compressed
    return NoiseModel(math.sqrt(max(read2, np.finfo(np.float64).tiny)), shot, compressed)


def smooth_light(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return the light that determines the noise of two (H, W, C) images: their mean, smoothed."""
    import cv2

    light = np.maximum((one.mean(axis=2) + two.mean(axis=2)) / 2, 0)
    return np.asarray(cv2.GaussianBlur(light, (0, 0), _LIGHT_SMOOTHING))


def noise_at_light(
    first: NoiseModel, second: NoiseModel, light: FloatArray, usable: BoolArray
) -> tuple[tuple[float, float], FloatArray]:
    """Return the mean noise of two images, and the noise variance of each pixel over its mean, from smoothed light."""
    maps = [model.variance(light) for model in (first, second)]
    means = [float(variance[usable].mean()) if usable.any() else float(variance.mean()) for variance in maps]
    relative = (maps[0] + maps[1]) / (means[0] + means[1])
    return (math.sqrt(means[0]), math.sqrt(means[1])), relative


def fine_power(planes: AnyArray) -> AnyArray:
    """Return the mean square over 9 x 9 pixels of second differences in both directions, with unit noise gain.

    It is the mean over (C, H, W) planes, in their own precision. It equals the variance of white noise plus the power
    of texture.
    """
    import cv2

    k = np.array([1.0, -2.0, 1.0]) / math.sqrt(6.0)
    squares = [
        np.square(cv2.sepFilter2D(np.ascontiguousarray(plane), -1, k, k, borderType=cv2.BORDER_REFLECT))
        for plane in planes
    ]
    return np.asarray(cv2.blur(np.mean(squares, axis=0), (9, 9), borderType=cv2.BORDER_REFLECT))


def _line(levels: FloatArray, variances: FloatArray) -> tuple[float, float]:
    """Fit ``a + b * level`` with (a, b) >= 0 by relative errors, robust to bins of texture alone."""
    if not float(variances.max()) > 1e-30:
        return 0.0, 0.0
    light = np.maximum(levels, 0)
    weight = 1 / np.maximum(variances, 1e-3 * float(variances.max())) ** 2
    a = b = 0.0
    for _ in range(10):
        mass, middle, mean = weight.sum(), np.average(light, weights=weight), np.average(variances, weights=weight)
        spread = float((weight * (light - middle) ** 2).sum())
        b = float((weight * (light - middle) * (variances - mean)).sum()) / spread if spread > 1e-12 * mass else 0.0
        b = max(b, 0.0)
        a = float(mean - b * middle)
        if a < 0:
            a, b = 0.0, float((weight * light * variances).sum() / (weight * light**2).sum())
        fitted = np.maximum(a + b * light, 1e-3 * float(variances.max()))
        excess = np.maximum(variances / fitted - 1, 0)
        weight = 1 / (fitted * (1 + (excess / 0.3) ** 2)) ** 2
    return float(a), float(b)
