"""Statistics of a whole image that its tiles share: rounding, mean and range of the intensities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, BoolArray, FloatArray
from ..base.inputs import Pair, RawPair
from ..base.pixels import Usual, grey, unit_float, usual_values
from .noise import LIGHT_REACH, Rounding, smooth_light

__all__ = ["CELL", "Intensities", "Lights", "Survey", "find_lights", "lights_of", "smoothed_light", "survey"]

#: Side of the squares that are summed separately, px.
CELL = 256

#: Number of rows that are smoothed together.
ROWS = 256

#: Largest distance from the median of values in the contrast, in ranges of the middle 80 % of the values: beyond it lie
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


class Survey:
    """Statistics of an image from its parts, in any order.

    Parts begin at multiples of ``CELL`` and end there or at the border. Each cell is summed separately in one order,
    and the sums are added without rounding. So the statistics do not depend on the parts, to the bit.
    """

    def __init__(self) -> None:
        self.rounding, self.greys = Rounding(), Rounding()
        self.sums: list[FloatArray] = []
        self.pixels = 0

    def look_at(self, part: AnyArray, good: BoolArray | None = None) -> None:
        """Add the good pixels of an (H, W, C) part."""
        for top in range(0, part.shape[0], CELL):
            for left in range(0, part.shape[1], CELL):
                cell = slice(top, top + CELL), slice(left, left + CELL)
                values = np.ascontiguousarray(unit_float(part[cell]))
                self._look_at_cell(values, None if good is None else good[cell], part.dtype.kind == "f")

    def _look_at_cell(self, cell: FloatArray, good: BoolArray | None, any_scale: bool) -> None:
        if good is not None and not good.all():
            if not good.any():
                return
            cell = cell[good][:, None]
        self.rounding.look_at(cell, any_scale)
        self.greys.look_at(grey(cell))
        self.sums.append(cell.reshape(-1, cell.shape[2]).sum(axis=0))
        self.pixels += cell.shape[0] * cell.shape[1]

    def add(self, other: Survey) -> None:
        """Add the survey of other parts."""
        self.rounding.add(other.rounding)
        self.greys.add(other.greys)
        self.sums += other.sums
        self.pixels += other.pixels

    def intensities(self, usual: Usual | None) -> Intensities:
        """Return the statistics; ``usual`` are the usual values of an image of floats, None for integers."""
        limits = (-math.inf, math.inf)
        if usual is not None and usual.core > 0:
            limits = (usual.middle - MOST_RANGES * usual.core, usual.middle + MOST_RANGES * usual.core)
        centre = np.array([math.fsum(channel) for channel in np.transpose(self.sums)]) / self.pixels
        grey_range = min(self.greys.high, limits[1]) - max(self.greys.low, limits[0])
        return Intensities(self.rounding.noise(limits), centre, grey_range)


def survey(image: AnyArray, good: BoolArray | None = None) -> Intensities:
    """Return the statistics of the good pixels of a checked (H, W, C) image; by default all are good."""
    seen = Survey()
    for top in range(0, image.shape[0], CELL):
        rows = slice(top, top + CELL)
        seen.look_at(image[rows], None if good is None else good[rows])
    return seen.intensities(usual_values(image, good=good) if np.issubdtype(image.dtype, np.floating) else None)


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
        lights_of(usual_values(image), float(image.min()), float(image.max()))
        if np.issubdtype(image.dtype, np.floating)
        else None
        for image in (raw.first, raw.second)
    )
    return Lights((one, two))


def lights_of(usual: Usual, least: float, largest: float) -> tuple[float, float] | None:
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
