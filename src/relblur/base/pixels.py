"""Values of pixels: full scale, clipped, and values that are no light.

Integers are fractions of the full scale of their type (255 for 8 bits); one at the top of it is clipped. Floats are
taken as they are. No light are

* *not finite*: NaN, infinity, and anything from 1e36 on (the largest float32 is 3.4e38, netCDF's gap is 9.97e36);
* *no data*: more than 1e8 times the usual size of a value in the picture, and more than 1e6. The sun is a million
  times brighter than what it shines on. Numbers up to 1e6 stay: counts of a sensor and radiances are of that size, and
  a picture may be nearly black;
* *hot*: one pixel alone, far beyond the range of its picture. A lens puts several percent of a point of light into the
  neighbouring pixels, a faulty sensor puts nothing there. The other picture has to confirm it: it shows nothing unusual
  at that place, or the very same fault.

For an ordinary picture the search costs its least and largest value and a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import AnyArray, BoolArray, FloatArray

__all__ = [
    "NOT_FINITE_FROM",
    "Usual",
    "as_integers",
    "clipped_pixels",
    "far_pixels",
    "full_scale",
    "grey",
    "hot_pixels",
    "most_faults",
    "no_data",
    "sample_step",
    "unit_float",
    "usual_of",
    "usual_values",
    "without_gaps",
]

#: Least magnitude of a value that is not finite.
NOT_FINITE_FROM = 1e36
#: Least value of no data: in usual sizes, and in itself.
BEYOND_LIGHT, LEAST_NO_DATA = 1e8, 1e6

#: Least distance of a hot pixel from the median, in ranges of its picture,
HOT = 20.0
#: and in distances of its eight neighbours (a lens of 0.4 px puts 4 % of a point there).
LENS = 30.0
#: Largest value of the other picture there, in ranges of it or as a part of the hot pixel: blurred by 5 px a point
#: keeps 1/157.
ABSENT = 1 / 250
#: Most faults: a fraction of the pixels, or a number in a small picture.
FEW, HANDFUL = 1e-3, 4

#: Pixels of the grid on which values are sampled.
_SAMPLE = 4096
#: Percentages of the values below and above the range, and below and above the core.
_TAIL, _OUTSIDE_CORE = 0.5, 10.0


def full_scale(dtype: np.dtype[Any]) -> int | None:
    """Return the largest number of an integer type; None for floats, which have no top."""
    return int(np.iinfo(dtype).max) if np.issubdtype(dtype, np.integer) else None


def unit_float(array: AnyArray, dtype: type[np.floating[Any]] = np.float64) -> AnyArray:
    """Return floats, float64 by default; integers are divided by the full scale of their type."""
    result = array.astype(dtype)
    top = full_scale(array.dtype)
    if top is not None:
        result /= top
    return result


def as_integers(values: AnyArray, dtype: np.dtype[Any] | type[np.integer[Any]]) -> AnyArray:
    """Return values on a scale of 0..1 as integers of full scale, rounded and clipped."""
    return np.rint(values.clip(0, 1) * np.iinfo(dtype).max).astype(dtype)


def clipped_pixels(image: AnyArray) -> BoolArray | None:
    """Return where a channel of an (H, W) or (H, W, C) image is at the top of its integers; None for floats."""
    top = full_scale(image.dtype)
    if top is None:
        return None
    at_top = image == top
    return np.asarray(at_top.any(axis=2) if at_top.ndim == 3 else at_top)


def grey(image: FloatArray) -> FloatArray:
    """Return the mean over the channels of an (H, W, C) image: light adds."""
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
    span: float  #: the range of 99 % of the values
    core: float  #: ... and of 80 %
    size: float  #: the median magnitude of those that are not 0

    def deviation(self, values: AnyArray) -> FloatArray:
        """Return how far pixels (the last axis is that of the channels) are from the middle."""
        return np.abs(np.asarray(values, np.float64) - self.middle).max(axis=-1)

    @property
    def no_data_from(self) -> float:
        """Values that large, of either sign, are no light."""
        return min(max(BEYOND_LIGHT * self.size, LEAST_NO_DATA), NOT_FINITE_FROM)

    def is_ordinary(self, low: float, high: float) -> bool:
        """Tell whether finite values between these contain neither no data nor hot pixels."""
        return max(high - self.middle, self.middle - low) <= self.hot_from and max(high, -low) < self.no_data_from

    @property
    def hot_from(self) -> float:
        """A lone pixel that far from the middle may be hot; infinite for a picture that shows nothing."""
        return HOT * self.span if self.span > 0 else np.inf


def usual_values(image: AnyArray, sample: int = _SAMPLE, good: BoolArray | None = None) -> Usual:
    """Return the figures of an (H, W, C) picture, from a sample of its good pixels."""
    step = sample_step(image.shape[:2], sample)
    values = _finite(image[::step, ::step] if good is None else image[::step, ::step][good[::step, ::step]])
    if not values.size:
        values = _finite(image if good is None else image[good])
    return usual_of(values)


def sample_step(shape: tuple[int, ...], sample: int = _SAMPLE) -> int:
    """Return how many rows and columns apart the pixels lie that stand for a picture."""
    return max(1, int(np.sqrt(shape[0] * shape[1] / sample)))


def usual_of(sample: AnyArray) -> Usual:
    """Return the figures of a picture from a sample of its values."""
    values = _finite(sample)
    if not values.size:
        return Usual(0.0, 0.0, 0.0, 0.0)
    values.sort()
    cuts = [int(len(values) * percent / 100) for percent in (_TAIL, _OUTSIDE_CORE)]
    span, core = (float(values[-1 - cut] - values[cut]) for cut in cuts)
    sizes = np.abs(values[values != 0])
    size = float(np.median(sizes)) if sizes.size else 0.0
    return Usual(float(values[len(values) // 2]), span, core, size)


def _finite(part: AnyArray) -> FloatArray:
    values = part.astype(np.float64).ravel()
    return values[np.abs(values) < NOT_FINITE_FROM]


def no_data(image: AnyArray, usual: Usual) -> BoolArray | None:
    """Return which pixels of an (H, W, C) picture hold no finite light in some channel; None if all do."""
    if not np.issubdtype(image.dtype, np.floating):
        return None
    limit = np.float64(usual.no_data_from)
    if -limit < image.min() and image.max() < limit:  # False for NaN
        return None
    return np.asarray(~(np.abs(image) < limit).all(axis=2))


def hot_pixels(
    first: AnyArray, second: AnyArray, usual: tuple[Usual, Usual], most: tuple[float, float] | None = None
) -> tuple[tuple[AnyArray, AnyArray], tuple[AnyArray, AnyArray]]:
    """Return (rows, columns) of the hot pixels of either of two finite (H, W, C) pictures.

    Where more than ``most`` pixels of one are far beyond the rest they are no faults; by default as many as is few for
    a picture of this size.
    """
    most = (most_faults(first.shape[:2]),) * 2 if most is None else most
    lone = [_lone(image, of, limit) for image, of, limit in zip((first, second), usual, most, strict=True)]
    one = _borne_out(first, second, lone[0], lone[1], usual)
    two = _borne_out(second, first, lone[1], lone[0], usual[::-1])
    return one, two


def most_faults(shape: tuple[int, ...]) -> float:
    """Return how many faults a picture of so many rows and columns may have."""
    return max(FEW * shape[0] * shape[1], HANDFUL)


def far_pixels(image: AnyArray, usual: Usual) -> tuple[AnyArray, AnyArray]:
    """Return (rows, columns) of pixels far beyond the range of their picture."""
    none = np.zeros(0, np.intp), np.zeros(0, np.intp)
    from_ = usual.hot_from
    if image.dtype.itemsize == 1:  # 8 bits hold no such contrast
        return none
    if float(image.max()) - usual.middle <= from_ and usual.middle - float(image.min()) <= from_:
        return none
    rows, columns = np.nonzero(usual.deviation(image) > from_)
    return rows, columns


def _lone(image: AnyArray, usual: Usual, most: float) -> tuple[AnyArray, AnyArray]:
    """Return (rows, columns) of pixels that stand alone far beyond the range of their picture."""
    rows, columns = far_pixels(image, usual)
    height, width = image.shape[:2]
    if len(rows) > most:
        return rows[:0], columns[:0]
    here = usual.deviation(image[rows, columns])
    around = np.zeros_like(here)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            r, c = rows + down, columns + right
            inside = (r >= 0) & (r < height) & (c >= 0) & (c < width) & bool(down or right)
            r, c = r.clip(0, height - 1), c.clip(0, width - 1)
            np.maximum(around, np.where(inside, usual.deviation(image[r, c]), 0.0), out=around)
    alone = here > LENS * around
    return rows[alone], columns[alone]


def _borne_out(
    image: AnyArray,
    other: AnyArray,
    lone: tuple[AnyArray, AnyArray],
    lone_in_other: tuple[AnyArray, AnyArray],
    usual: tuple[Usual, Usual],
) -> tuple[AnyArray, AnyArray]:
    """Return those lone pixels of a picture that the other one does not have, or has too."""
    rows, columns = lone
    if not len(rows):
        return lone
    excess, there = usual[0].deviation(image[rows, columns]), usual[1].deviation(other[rows, columns])
    same = set(zip(*(place.tolist() for place in lone_in_other), strict=True))
    both = np.array([place in same for place in zip(rows.tolist(), columns.tolist(), strict=True)])
    hot = both | (there <= np.maximum(usual[1].span, ABSENT * excess))
    return rows[hot], columns[hot]
