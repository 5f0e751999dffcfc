"""Checks at the public boundary: what users pass becomes plain float arrays, once.

Integers are divided by the full scale of their type (255 for 8 bits), so that every
intensity is on a 0..1 scale; floats are taken as they are, never rescaled or clipped.
Inputs are never written to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from .errors import InputError

__all__ = [
    "Pair",
    "RawPair",
    "as_choice",
    "as_image",
    "as_noise",
    "as_odd_size",
    "as_pair",
    "as_positive",
    "as_sigmas",
    "check_image",
    "check_pair",
    "grey",
    "unit_float",
]

MIN_SIDE = 2


@dataclass(frozen=True)
class Pair:
    """Two checked images, channels last, with what may be used of them.

    ``first`` and ``second`` are (H, W, C) float64 without NaN; ``finite`` is False where
    either was NaN, infinite or declared unusable, ``unclipped`` where either sits at the
    top of its integer range.
    """

    first: FloatArray
    second: FloatArray
    finite: BoolArray
    unclipped: BoolArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.first.shape[0], self.first.shape[1])

    @property
    def usable(self) -> BoolArray:
        """Pixels whose values can be believed in both images."""
        return self.finite & self.unclipped


@dataclass(frozen=True)
class RawPair:
    """Two checked images as they came, channels last: parts of them become a :class:`Pair` when needed.

    A large pair as floats would fill the memory; as stored it takes an eighth.
    """

    first: AnyArray
    second: AnyArray
    finite: BoolArray | None  #: None if every pixel is finite and declared usable
    clipped: BoolArray | None = None  #: beside those that sit at the top of their integer range

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.first.shape[0], self.first.shape[1])

    @property
    def usable(self) -> BoolArray:
        """Pixels whose values can be believed in both images."""
        good = np.ones(self.shape, dtype=bool) if self.finite is None else self.finite.copy()
        if self.clipped is not None:
            good &= ~self.clipped
        for image in (self.first, self.second):
            if np.issubdtype(image.dtype, np.integer):
                good &= (image < np.iinfo(image.dtype).max).all(axis=2)
        return good

    def part(self, rows: slice = slice(None), columns: slice = slice(None)) -> Pair:
        """Convert a rectangle, the whole by default."""
        first, second = self.first[rows, columns], self.second[rows, columns]
        unclipped = np.ones(first.shape[:2], dtype=bool) if self.clipped is None else ~self.clipped[rows, columns]
        for image in (first, second):
            if np.issubdtype(image.dtype, np.integer):
                unclipped &= (image < np.iinfo(image.dtype).max).all(axis=2)
        finite = np.ones(first.shape[:2], dtype=bool) if self.finite is None else self.finite[rows, columns]
        return Pair(unit_float(first), unit_float(second), finite, unclipped)


def as_pair(
    first: ArrayLike,
    second: ArrayLike,
    *,
    valid: ArrayLike | None = None,
    clipped: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> Pair:
    """Check two images against each other and return them as a :class:`Pair`."""
    return check_pair(first, second, valid=valid, clipped=clipped, channel_axis=channel_axis).part()


def check_pair(
    first: ArrayLike,
    second: ArrayLike,
    *,
    valid: ArrayLike | None = None,
    clipped: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> RawPair:
    """Check two images against each other; convert nothing yet."""
    one = _array(first, "first")
    two = _array(second, "second")
    if one.shape != two.shape:
        raise InputError(
            f"first and second differ in shape: {_times(one.shape)} and {_times(two.shape)}; "
            "crop or resize them to the same size (both must show the same view)"
        )
    images: list[AnyArray] = []
    finite: BoolArray | None = None
    for array, name in ((one, "first"), (two, "second")):
        stacked = _channels_last(array, name, channel_axis)
        if np.issubdtype(stacked.dtype, np.floating) and not np.isfinite(stacked).all():
            good: BoolArray = np.asarray(np.isfinite(stacked).all(axis=2))
            if not good.any():
                raise InputError(f"{name} holds no finite pixel; check how the file was read")
            stacked = _without_gaps(stacked, good)
            finite = good if finite is None else finite & good
        images.append(stacked)
    if valid is not None:
        usable = _bool_map(valid, images[0].shape[:2], "valid", "True = use (for example valid > 0)")
        finite = usable if finite is None else finite & usable
    if finite is not None and not finite.any():
        raise InputError("valid leaves no pixel to use; at least one must be True and finite in both images")
    at_top = None
    if clipped is not None:
        at_top = _bool_map(clipped, images[0].shape[:2], "clipped", "True = clipped in either image")
    return RawPair(images[0], images[1], finite, at_top)


def as_image(image: ArrayLike, name: str = "image", *, channel_axis: int | None = None) -> FloatArray:
    """Check one image and return it as float64 (H, W), or (H, W, C) with ``channel_axis``."""
    result = unit_float(check_image(image, name, channel_axis=channel_axis))
    return result if channel_axis is not None else result[:, :, 0]


def check_image(image: ArrayLike, name: str = "image", *, channel_axis: int | None = None) -> AnyArray:
    """Check one image and return it as (H, W, C) of its own type."""
    stacked = _channels_last(_array(image, name), name, channel_axis)
    if np.issubdtype(stacked.dtype, np.floating) and not np.isfinite(stacked).all():
        count = int((~np.isfinite(stacked)).sum())
        raise InputError(f"{name} has {count} NaN or infinite values; replace them first (numpy.nan_to_num)")
    return stacked


def as_sigmas(sigmas: ArrayLike | Sequence[float], name: str = "sigmas") -> FloatArray:
    """Check a list of standard deviations: positive, finite, strictly increasing."""
    try:
        array = np.asarray(sigmas, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, got {sigmas!r}; for example numpy.arange(0.1, 5.05, 0.1)") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be a non-empty one-dimensional list, got shape {array.shape}")
    if not np.isfinite(array).all() or (array <= 0).any():
        worst = array[~(np.isfinite(array) & (array > 0))][0]
        raise InputError(f"{name} must be finite and > 0 px, got {worst:g}; leave such values out")
    if (np.diff(array) <= 0).any():
        raise InputError(f"{name} must increase strictly; pass numpy.unique({name})")
    return array


def as_odd_size(size: int, name: str, shape: tuple[int, int] | None = None) -> int:
    """Check the side of a window: an odd whole number, at most the image's shorter side."""
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1 or size % 2 == 0:
        raise InputError(f"{name} must be an odd whole number >= 1, got {size!r}")
    if shape is not None and size > min(shape):
        raise InputError(
            f"{name}={size} is larger than the image ({_times(shape)}); "
            f"use {name}={_largest_odd(min(shape))} or a larger image"
        )
    return int(size)


def as_choice(value: str, name: str, allowed: Sequence[str]) -> str:
    """Check that a word is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
    return value


def as_positive(value: float, name: str, unit: str = "") -> float:
    """Check a finite number > 0."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number{_in(unit)}, got {value!r}") from None
    if not np.isfinite(number) or number <= 0:
        raise InputError(f"{name} must be finite and > 0{_in(unit)}, got {number:g}")
    return number


def as_noise(noise: float | Sequence[float] | None) -> tuple[float, float] | None:
    """Check the noise of both images: one number, or one for each."""
    if noise is None:
        return None
    both = noise if isinstance(noise, (tuple, list)) else (noise, noise)
    if len(both) != 2:
        raise InputError(f"noise must be one number or two (first, second), got {noise!r}")
    return (
        as_positive(both[0], "noise", "(on the images' scale)"),
        as_positive(both[1], "noise", "(on the images' scale)"),
    )


def grey(image: FloatArray) -> FloatArray:
    """Return the mean over the channels of an (H, W, C) image: light adds."""
    return image[:, :, 0] if image.shape[2] == 1 else image.mean(axis=2)


def _array(image: ArrayLike, name: str) -> AnyArray:
    try:
        array = np.asarray(image)
    except ValueError:
        raise InputError(f"{name} is ragged; all its rows must have one length") from None
    if np.iscomplexobj(array):
        raise InputError(f"{name} is complex; pass its magnitude, numpy.abs({name})")
    if array.dtype == bool or not np.issubdtype(array.dtype, np.number):
        raise InputError(f"{name} has dtype {array.dtype}; pass integers or floats ({name}.astype(float))")
    if np.issubdtype(array.dtype, np.integer) and array.dtype.newbyteorder("=") not in (np.uint8, np.uint16):
        raise InputError(
            f"{name} has dtype {array.dtype}, whose full scale says nothing about the image; "
            f"pass uint8, uint16 or floats ({name} / 255.0)"
        )
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}); check how it was read or sliced")
    return array


def _channels_last(array: AnyArray, name: str, channel_axis: int | None) -> AnyArray:
    if channel_axis is None:
        if array.ndim == 3:
            raise InputError(f"{name} has three dimensions {array.shape}; for a colour image pass channel_axis=-1")
        if array.ndim != 2:
            raise InputError(
                f"{name} must be two-dimensional (rows, columns), got {array.ndim} dimension(s) "
                f"with shape {array.shape}"
            )
        array = array[:, :, np.newaxis]
    else:
        if array.ndim != 3:
            raise InputError(f"{name} has shape {array.shape}; channel_axis needs three dimensions, leave it out")
        if not -3 <= channel_axis < 3:
            raise InputError(f"channel_axis must be -3..2 for an image of three dimensions, got {channel_axis}")
        array = np.moveaxis(array, channel_axis, -1)
    if min(array.shape[:2]) < MIN_SIDE:
        raise InputError(
            f"{name} is {_times(array.shape[:2])}; relative blur needs at least {MIN_SIDE}x{MIN_SIDE} pixels"
        )
    return array


def unit_float(array: AnyArray) -> FloatArray:
    """Return float64, integers divided by the full scale of their type."""
    result = array.astype(np.float64)
    if np.issubdtype(array.dtype, np.integer):
        result /= np.iinfo(array.dtype).max
    return result


def _without_gaps(image: AnyArray, good: BoolArray) -> AnyArray:
    """Give unusable pixels the value of the nearest usable one, so that filters stay finite."""
    if good.all():
        return image
    from scipy import ndimage

    nearest = ndimage.distance_transform_edt(~good, return_distances=False, return_indices=True)
    return np.asarray(image[tuple(nearest)])


def _bool_map(values: ArrayLike, shape: tuple[int, ...], name: str, meaning: str) -> BoolArray:
    array = np.asarray(values)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; it must be that of the images, {shape}")
    if array.dtype != bool:
        raise InputError(f"{name} has dtype {array.dtype}; pass booleans, {meaning}")
    return array


def _times(shape: Sequence[int]) -> str:
    return "x".join(str(n) for n in shape)


def _largest_odd(n: int) -> int:
    return n if n % 2 else n - 1


def _in(unit: str) -> str:
    return f" {unit}" if unit else ""
