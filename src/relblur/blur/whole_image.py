"""Statistics of a whole image, shared by its tiles: rounding, mean and range of the intensities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.inputs import Pair, RawPair
from ..base.pixels import Usual, sample_step, unit_float, usual_values
from .noise import LIGHT_REACH, rounding_noise, smooth_light

__all__ = ["Intensities", "Lights", "find_lights", "lights_of", "smoothed_light", "survey"]

#: Number of pixels in the sample for the statistics.
_SAMPLE = 1 << 20

#: Number of rows that are smoothed together.
ROWS = 256

#: Largest distance from the median of values in the contrast, in ranges of the middle 80 % of the values. It excludes
#: bright lights and the tails of kernels around them.
MOST_RANGES = 1000.0

#: Largest distance from the median of values in sums of single precision, in ranges of the middle 99 % of the values.
LEFT_OUT_RANGES = 1e4


@dataclass(frozen=True)
class Intensities:
    """Statistics of one whole image, on the 0..1 scale of its type."""

    rounding: float  #: standard deviation of the rounding error
    centre: FloatArray  #: mean of each channel
    grey_range: float  #: between the darkest and the lightest grey


def survey(image: AnyArray, good: BoolArray | None = None) -> Intensities:
    """Return the statistics of the good pixels of a checked (H, W, C) image, from a sample; by default all are good."""
    step = sample_step(image.shape[:2], _SAMPLE)
    sample, mask = image[::step, ::step], None if good is None else good[::step, ::step]
    if mask is not None and not mask.any():
        sample, mask = image, good
    pixels = sample.reshape(-1, image.shape[2]) if mask is None else sample[mask]
    limits, real = (-math.inf, math.inf), pixels.dtype.kind == "f"
    if real and (usual := usual_values(pixels[None])).core > 0:
        limits = (usual.middle - MOST_RANGES * usual.core, usual.middle + MOST_RANGES * usual.core)
    values = unit_float(pixels)
    grey = values.mean(axis=1)
    grey_range = min(grey.max(), limits[1]) - max(grey.min(), limits[0])
    return Intensities(rounding_noise(values, limits, real), values.mean(axis=0), float(grey_range))


@dataclass(frozen=True)
class Lights:
    """Ranges of the values of two images without a few bright lights; None for an image without such lights."""

    ranges: tuple[tuple[float, float] | None, tuple[float, float] | None]

    def usable(self, pair: Pair) -> BoolArray:
        """Return the usable pixels of a part of the pair that are within the ranges."""
        usable = pair.usable
        for image, limits in zip((pair.first, pair.second), self.ranges, strict=True):
            if limits is not None:
                usable = usable & ((image >= limits[0]) & (image <= limits[1])).all(axis=2)
        return usable


def find_lights(raw: RawPair) -> Lights:
    """Return the ranges of the values of both images without bright lights; None for integers."""
    one, two = (
        lights_of(usual_values(image), float(image.min()), float(image.max())) if image.dtype.kind == "f" else None
        for image in (raw.first, raw.second)
    )
    return Lights((one, two))


def lights_of(usual: Usual, least: float = -math.inf, largest: float = math.inf) -> tuple[float, float] | None:
    """Return the range of the values without bright lights; None if there are none, or if the range is empty."""
    reach = LEFT_OUT_RANGES * usual.span
    low, high = usual.middle - reach, usual.middle + reach
    return None if low == high or (low <= least and largest <= high) else (low, high)


def smoothed_light(raw: RawPair) -> FloatArray:
    """Return the smoothed light that determines the noise, computed in bands of rows with a halo."""
    light = np.empty(raw.shape)
    height = raw.shape[0]
    for top in range(0, height, ROWS):
        start, stop = max(top - LIGHT_REACH, 0), min(top + ROWS + LIGHT_REACH, height)
        part = raw.part(slice(start, stop))
        bottom = min(top + ROWS, height)
        light[top:bottom] = smooth_light(part.first, part.second)[top - start : bottom - start]
    return light
