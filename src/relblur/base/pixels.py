"""Values of pixels: full scale, clipping, and values that are not light.

Integers are fractions of the full scale of their type (255 for 8 bits); a value at full scale is clipped. Floats are
used unchanged. Three kinds of values are not light:

* *not finite*: NaN, infinity, and magnitudes from 1e36 on (netCDF's fill value is 9.97e36, the largest float32 3.4e38);
* *no data*: magnitudes above 1e6 that are also above 1e8 times the usual magnitude in the picture. The sun is a million
  times brighter than the surfaces that it lights. Sensor counts and radiances reach 1e6, and a picture may be nearly
  black;
* *hot*: a single pixel far beyond the range of its picture. A lens spreads several percent of a point of light to the
  neighbouring pixels, a fault of the sensor spreads nothing. The other picture must confirm the fault: at that pixel it
  shows nothing unusual, or the same fault.

For an ordinary picture the search needs only its minimum, its maximum and a sample of its values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import AnyArray, BoolArray, FloatArray
from .errors import InputError

__all__ = [
    "NOT_FINITE_FROM",
    "Usual",
    "as_integers",
    "clipped_pixels",
    "full_scale",
    "grey",
    "hot_pixels",
    "line_pixels",
    "no_data",
    "sample_step",
    "unit_float",
    "usual_values",
    "without_gaps",
]

#: Magnitude from which a value counts as not finite.
NOT_FINITE_FROM = 1e36
#: Least magnitude of no data: relative to the usual magnitude in the picture, and absolute.
BEYOND_LIGHT, LEAST_NO_DATA = 1e8, 1e6

#: Least distance of a hot pixel from the median, in ranges of its picture.
HOT = 20.0
#: Least ratio of this distance to that of its neighbours: a lens of 0.4 px spreads 4 % of a point to a neighbour.
LENS = 30.0
#: Largest distance of the other picture's pixel from its median, relative to that of the hot pixel: a point blurred by
#: 5 px keeps 1/157 of its height.
ABSENT = 1 / 250
#: Largest number of faults: as a share of the pixels, and as a number in small pictures.
FEW, HANDFUL = 1e-3, 4

#: Number of pixels in the sample of a picture.
_SAMPLE = 4096
#: Percentage of the values on each side of the range, and on each side of the core.
_TAIL, _OUTSIDE_CORE = 0.5, 10.0


def full_scale(dtype: np.dtype[Any]) -> int | None:
    """Return the largest number of an integer type; None for floats."""
    return int(np.iinfo(dtype).max) if np.issubdtype(dtype, np.integer) else None


def unit_float(array: AnyArray, dtype: type[np.floating[Any]] = np.float64) -> AnyArray:
    """Return floats, float64 by default; integers are divided by the full scale of their type."""
    result = array.astype(dtype)
    top = full_scale(array.dtype)
    if top is not None:
        result /= top
    return result


def as_integers(values: AnyArray, dtype: np.dtype[Any] | type[np.integer[Any]]) -> AnyArray:
    """Convert values on a 0..1 scale to integers of full scale, rounded and clipped."""
    return np.rint(values.clip(0, 1) * np.iinfo(dtype).max).astype(dtype)


def clipped_pixels(image: AnyArray) -> BoolArray | None:
    """Return the pixels of an (H, W) or (H, W, C) image with a channel at full scale; None for floats."""
    top = full_scale(image.dtype)
    if top is None:
        return None
    at_top = image == top
    return np.asarray(at_top.any(axis=2) if at_top.ndim == 3 else at_top)


def grey(image: FloatArray) -> FloatArray:
    """Return the mean over the channels of an (H, W, C) image."""
    return image[:, :, 0] if image.shape[2] == 1 else image.mean(axis=2)


def without_gaps(image: AnyArray, good: BoolArray) -> AnyArray:
    """Give unusable pixels the value of the nearest usable one, so that filters stay finite."""
    from scipy import ndimage

    nearest = ndimage.distance_transform_edt(~good, return_distances=False, return_indices=True)
    return np.asarray(np.ma.getdata(image)[tuple(nearest)])


@dataclass(frozen=True)
class Usual:
    """Median, ranges and size of the values of a picture."""

    middle: float  #: the median
    span: float  #: the range of the middle 99 % of the values
    core: float  #: the range of the middle 80 %
    size: float  #: the median magnitude of the values other than 0

    def deviation(self, values: AnyArray) -> FloatArray:
        """Return the distance of pixels from the median, the largest over their channels (last axis)."""
        return np.abs(np.asarray(values, np.float64) - self.middle).max(axis=-1)

    @property
    def no_data_from(self) -> float:
        """Magnitude from which values are no data."""
        return min(max(BEYOND_LIGHT * self.size, LEAST_NO_DATA), NOT_FINITE_FROM)

    def is_ordinary(self, low: float, high: float) -> bool:
        """Return whether finite values within these limits contain neither no data nor hot pixels."""
        return max(high - self.middle, self.middle - low) <= self.hot_from and max(high, -low) < self.no_data_from

    @property
    def hot_from(self) -> float:
        """Distance from the median beyond which a pixel may be hot; infinite for a picture without contrast."""
        return HOT * self.span if self.span > 0 else np.inf


def usual_values(image: AnyArray, sample: int = _SAMPLE, good: BoolArray | None = None) -> Usual:
    """Return the :class:`Usual` values of an (H, W, C) picture, from a sample of its good pixels."""
    step = sample_step(image.shape[:2], sample)
    values = _finite(image[::step, ::step] if good is None else image[::step, ::step][good[::step, ::step]])
    if not values.size:
        values = _finite(image if good is None else image[good])
    if not values.size:
        return Usual(0.0, 0.0, 0.0, 0.0)
    values.sort()
    cuts = [int(len(values) * percent / 100) for percent in (_TAIL, _OUTSIDE_CORE)]
    span, core = (float(values[-1 - cut] - values[cut]) for cut in cuts)
    sizes = np.sort(np.abs(values[values != 0]))
    size = float(sizes[sizes.size // 2]) if sizes.size else 0.0
    return Usual(float(values[len(values) // 2]), span, core, size)


def sample_step(shape: tuple[int, ...], sample: int = _SAMPLE) -> int:
    """Return the step, in rows and columns, between the pixels of a sample."""
    return max(1, int(np.sqrt(shape[0] * shape[1] / sample)))


def _finite(part: AnyArray) -> FloatArray:
    values = part.astype(np.float64).ravel()
    return values[np.abs(values) < NOT_FINITE_FROM]


def no_data(image: AnyArray, usual: Usual) -> BoolArray | None:
    """Return the pixels of an (H, W, C) picture with a channel that is no data or not finite; None without any."""
    if not np.issubdtype(image.dtype, np.floating):
        return None
    limit = np.float64(usual.no_data_from)
    if -limit < image.min() and image.max() < limit:  # False for NaN
        return None
    return np.asarray(~(np.abs(image) < limit).all(axis=2))


def hot_pixels(
    first: AnyArray, second: AnyArray, usual: tuple[Usual, Usual]
) -> tuple[BoolArray | None, BoolArray | None]:
    """Return masks of the hot pixels of two finite (H, W, C) pictures; None without any.

    The other picture has nothing unusual at a hot pixel, or the same fault.
    """
    images = (first, second)
    isolated = [_isolated_pixels(image, of) for image, of in zip(images, usual, strict=True)]
    hot: list[BoolArray | None] = []
    for i, mask in enumerate(isolated):
        if mask is not None:
            excess, other_excess = usual[i].deviation(images[i]), usual[1 - i].deviation(images[1 - i])
            absent = other_excess <= np.maximum(usual[1 - i].span, ABSENT * excess)
            other = isolated[1 - i]
            mask = mask & (absent if other is None else absent | other)
        hot.append(mask)
    return hot[0], hot[1]


def _isolated_pixels(image: AnyArray, usual: Usual) -> BoolArray | None:
    """Return a mask of single pixels far beyond the range of their picture, None without any."""
    if image.dtype.itemsize == 1:  # 8 bits cannot contain such contrast
        return None
    if max(float(image.max()) - usual.middle, usual.middle - float(image.min())) <= usual.hot_from:
        return None
    from scipy import ndimage

    here = usual.deviation(image)
    far = here > usual.hot_from
    if far.sum() > max(FEW * far.size, HANDFUL):
        return None
    neighbours = np.ones((3, 3), bool)
    neighbours[1, 1] = False
    return np.asarray(far & (here > LENS * ndimage.maximum_filter(here, footprint=neighbours, mode="constant")))


def line_pixels(
    start: Any, stop: Any, shape: tuple[int, int], factor: int = 1
) -> tuple[FloatArray, tuple[AnyArray, AnyArray]]:
    """Return the rows and columns of the pixels of a map along a line, and their distances from its start, px.

    ``start`` and ``stop`` are (row, column) in px of an image ``factor`` times as large as the map.
    """
    ends = np.array([start, stop], np.float64) / factor
    if ends.shape != (2, 2) or not ((ends >= 0) & (ends <= np.array(shape) - 1)).all():
        height, width = (factor * (side - 1) for side in shape)
        raise InputError(
            f"a line must be from (row, column) to (row, column), rows 0 to {height} and columns 0 to {width}, "
            f"got {start} to {stop}"
        )
    length = math.dist(*ends)
    along: FloatArray = np.linspace(0.0, length, max(2, round(length) + 1))
    rows, columns = (np.rint(np.linspace(a, b, len(along))).astype(int) for a, b in ends.T)
    return along, (rows, columns)
