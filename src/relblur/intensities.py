"""What a tile must know of the image it was cut from: rounding, mean and range of the intensities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._typing import AnyArray, FloatArray
from .inputs import RawPair, grey, unit_float
from .noise import LIGHT_REACH, Rounding, smooth_light

__all__ = ["Intensities", "smoothed_light", "survey"]

#: Rows looked at together. Always the same, so that sums come out the same to the bit.
ROWS = 256


@dataclass(frozen=True)
class Intensities:
    """Figures of one whole image, on the 0..1 scale of its type."""

    rounding: float  #: standard deviation of the rounding error
    centre: FloatArray  #: mean of each channel
    grey_range: float  #: between the darkest and the lightest grey


def survey(image: AnyArray) -> Intensities:
    """Look through a checked (H, W, C) image of any type, some rows at a time."""
    rounding, greys = Rounding(), Rounding()
    total = np.zeros(image.shape[2])
    for top in range(0, image.shape[0], ROWS):
        part = unit_float(image[top : top + ROWS])
        rounding.look_at(part)
        greys.look_at(grey(part))
        total += part.sum(axis=(0, 1))
    return Intensities(rounding.noise(), total / (image.shape[0] * image.shape[1]), greys.high - greys.low)


def smoothed_light(raw: RawPair) -> FloatArray:
    """Return the light that noise depends on, some rows at a time with those around that smoothing needs."""
    light = np.empty(raw.shape)
    height = raw.shape[0]
    for top in range(0, height, ROWS):
        start, stop = max(top - LIGHT_REACH, 0), min(top + ROWS + LIGHT_REACH, height)
        part = raw.part(slice(start, stop))
        bottom = min(top + ROWS, height)
        light[top:bottom] = smooth_light(part.first, part.second)[top - start : bottom - start]
    return light
