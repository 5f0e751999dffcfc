"""What a tile must know of the image it was cut from: rounding, mean and range of the intensities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.bad_pixels import Usual, usual_values
from ..base.inputs import Pair, RawPair
from ..base.pixels import grey, unit_float
from .noise import LIGHT_REACH, Rounding, quantisation_step, smooth_light

__all__ = ["Intensities", "Lights", "find_lights", "smoothed_light", "survey"]

#: Rows looked at together. Always the same, so that sums come out the same to the bit.
ROWS = 256

#: Values this many times the range of 80 % of them away do not count in the contrast: what arithmetic and the tails
#: of kernels make of a few lights stays around them.
MOST_RANGES = 1000.0

#: Values this many times the range of 99 % of them away are left out where sums in single precision hold them
#: together with the rest.
LEFT_OUT_RANGES = 1e4


@dataclass(frozen=True)
class Intensities:
    """Figures of one whole image, on the 0..1 scale of its type."""

    rounding: float  #: standard deviation of the rounding error
    centre: FloatArray  #: mean of each channel
    grey_range: float  #: between the darkest and the lightest grey


def survey(image: AnyArray) -> Intensities:
    """Look through a checked (H, W, C) image of any type, some rows at a time."""
    own_step = quantisation_step(image) if np.issubdtype(image.dtype, np.floating) else 0.0
    rounding, greys = Rounding(own_step), Rounding()
    total = np.zeros(image.shape[2])
    for top in range(0, image.shape[0], ROWS):
        part = unit_float(image[top : top + ROWS])
        rounding.look_at(part)
        greys.look_at(grey(part))
        total += part.sum(axis=(0, 1))
    limits = _around_middle(image, lambda usual: MOST_RANGES * usual.core) or (-math.inf, math.inf)
    centre = total / (image.shape[0] * image.shape[1])
    grey_range = min(greys.high, limits[1]) - max(greys.low, limits[0])
    return Intensities(rounding.noise(limits), centre, grey_range)


@dataclass(frozen=True)
class Lights:
    """Values that all but a few lights of two images lie between; of those alone that have such lights."""

    ranges: tuple[tuple[float, float] | None, tuple[float, float] | None]

    def usable(self, pair: Pair) -> BoolArray:
        """Return the usable pixels of a part of the pair that are no such lights."""
        usable = pair.usable
        for image, limits in zip((pair.first, pair.second), self.ranges, strict=True):
            if limits is not None:
                usable = usable & ((image >= limits[0]) & (image <= limits[1])).all(axis=2)
        return usable


def find_lights(raw: RawPair) -> Lights:
    """Look for lights far beyond the rest of either image. Integers end before that."""

    def reach(usual: Usual) -> float:
        return LEFT_OUT_RANGES * usual.span

    one, two = (_around_middle(image, reach) for image in (raw.first, raw.second))
    return Lights((one, two))


def _around_middle(image: AnyArray, reach: Callable[[Usual], float]) -> tuple[float, float] | None:
    """Return the values that lie within a reach of the middle; None if all do, or the reach is nothing."""
    if not np.issubdtype(image.dtype, np.floating):
        return None
    usual = usual_values(image)
    low, high = usual.middle - reach(usual), usual.middle + reach(usual)
    return None if low == high or (low <= image.min() and image.max() <= high) else (low, high)


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
