"""Checks of users' images, and their conversion to plain arrays.

Integers are divided by their full scale, so intensities are on a 0..1 scale. Floats are never rescaled or clipped. Bad
pixels (:mod:`relblur.base.pixels`) and masked pixels are marked. They get the value of the nearest good pixel, so that
filters stay finite. Inputs are never modified.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from .arguments import MOST_COLOURS, is_whole, plain_array, times
from .errors import InputError
from .pixels import clipped_pixels, full_scale, hot_pixels, no_data, unit_float, usual_values, without_gaps

__all__ = [
    "Pair",
    "RawPair",
    "as_form",
    "as_image",
    "as_pair",
    "as_valid",
    "check_form",
    "check_image",
    "check_image_with_gaps",
    "check_pair",
    "fill_bad_pixels",
    "is_chunked",
    "looks_like_alpha",
    "refuse_mixed_scales",
]

MIN_SIDE = 2

#: Largest number of channels: that of multispectral cameras.
MOST_CHANNELS = 64

#: Smallest share of opaque or clear pixels in an alpha channel; the other pixels are soft outlines.
MOSTLY = 0.9


@dataclass(frozen=True)
class Pair:
    """Two checked images, channels last, with their usable pixels.

    ``first`` and ``second`` are (H, W, C) float64 without NaN. ``finite`` is False where either input was NaN, infinite
    or declared unusable. ``unclipped`` is False where either input is at the top of its integer range.
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
        """Pixels that are finite and not clipped in both images."""
        return self.finite & self.unclipped


@dataclass(frozen=True)
class RawPair:
    """Two checked images in their own type, channels last; :meth:`part` converts rectangles to a :class:`Pair`.

    Images of 8 bits take an eighth of the memory of float64.
    """

    first: AnyArray
    second: AnyArray
    finite: BoolArray | None  #: None if every pixel is finite and declared usable
    clipped: BoolArray | None = None  #: clipped pixels beside those at the top of the integer range

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.first.shape[0], self.first.shape[1])

    @property
    def usable(self) -> BoolArray:
        """Pixels that are finite and not clipped in both images."""
        unclipped = self._unclipped()
        return unclipped if self.finite is None else unclipped & self.finite

    def cut(self, rows: slice, columns: slice) -> RawPair:
        """Return a rectangle without converting it."""
        maps = (None if each is None else each[rows, columns] for each in (self.finite, self.clipped))
        return RawPair(self.first[rows, columns], self.second[rows, columns], *maps)

    def part(self, rows: slice = slice(None), columns: slice = slice(None)) -> Pair:
        """Convert a rectangle to floats; by default all pixels."""
        raw = self.cut(rows, columns)
        finite = np.ones(raw.shape, dtype=bool) if raw.finite is None else raw.finite
        return Pair(unit_float(raw.first), unit_float(raw.second), finite, raw._unclipped())

    def _unclipped(self) -> BoolArray:
        good = np.ones(self.shape, dtype=bool) if self.clipped is None else ~self.clipped
        for clipped in (clipped_pixels(self.first), clipped_pixels(self.second)):
            if clipped is not None:
                good &= ~clipped
        return good


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
    """Check two images against each other and return them unconverted."""
    one = _array(first, "first")
    two = _array(second, "second")
    if one.shape != two.shape:
        remedy = "crop or resize them to the same size (both must show the same view)"
        if {one.ndim, two.ndim} == {2, 3} and one.shape[:2] == two.shape[:2]:
            colour = "first" if one.ndim == 3 else "second"
            remedy = f"one is grey: pass {colour}.mean(axis=-1), or give both to relblur.prepare_pair"
        raise InputError(f"first and second differ in shape: {times(one.shape)} and {times(two.shape)}; {remedy}")
    stacked = [_channels_last(array, name, channel_axis) for array, name in ((one, "first"), (two, "second"))]
    refuse_mixed_scales(*stacked)
    images, finite = fill_bad_pixels(_without_alpha(stacked))
    if valid is not None:
        usable = as_valid(valid, images[0].shape[:2])
        finite = usable if finite is None else finite & usable
    if finite is not None and not finite.any():
        raise InputError("valid leaves no pixel to use; at least one must be True and finite in both images")
    at_top = None
    if clipped is not None:
        at_top = _bool_map(clipped, images[0].shape[:2], "clipped", "True = clipped in either image")
    return RawPair(images[0], images[1], finite, at_top)


def as_form(shape: tuple[int, ...], dtype: np.dtype[Any], name: str, channel_axis: int | None) -> AnyArray:
    """Check the shape and the type of an image; return an (H, W, C) array of zeros that takes no memory."""
    return check_form(np.broadcast_to(np.zeros((), dtype), shape), name, channel_axis=channel_axis)


def is_chunked(*images: object) -> bool:
    """Return whether one of the images is a Dask array, or an xarray around one."""
    return any(hasattr(each, "__dask_graph__") and getattr(each, "chunks", None) is not None for each in images)


def as_image(image: ArrayLike, name: str = "image", *, channel_axis: int | None = None) -> FloatArray:
    """Check one image and return it as float64 (H, W), or (H, W, C) with ``channel_axis``."""
    result = unit_float(check_image(image, name, channel_axis=channel_axis))
    return result if channel_axis is not None else result[:, :, 0]


def check_image(image: ArrayLike, name: str = "image", *, channel_axis: int | None = None) -> AnyArray:
    """Check one image and return it as (H, W, C) of its own type; it must be finite."""
    stacked, good = check_image_with_gaps(image, name, channel_axis=channel_axis)
    if good is not None:
        count = int((~good).sum())
        raise InputError(f"{name} has {count} NaN or infinite values; replace them first (numpy.nan_to_num)")
    return stacked


def check_image_with_gaps(
    image: ArrayLike, name: str = "image", *, channel_axis: int | None = None
) -> tuple[AnyArray, BoolArray | None]:
    """Check one image; return it as (H, W, C) with its gaps filled, and a map of its good pixels (None: all)."""
    stacked = check_form(image, name, channel_axis=channel_axis)
    good = _good(stacked, name)
    return _filled(stacked, good), good


def check_form(image: ArrayLike, name: str = "image", *, channel_axis: int | None = None) -> AnyArray:
    """Return an image as (H, W, C) of its own type; its values are not checked."""
    return _channels_last(_array(image, name), name, channel_axis)


def _array(image: ArrayLike, name: str) -> AnyArray:
    """Return an array whose type and size suit an image; masked arrays stay masked."""
    array = plain_array(image, name)
    if array.dtype.kind != "f" and array.dtype.newbyteorder("=") not in (np.uint8, np.uint16):
        raise InputError(f"{name} has dtype {array.dtype}; pass uint8, uint16 or floats ({name} / 255.0)")
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}); check how it was read or sliced")
    return array


def _channels_last(array: AnyArray, name: str, channel_axis: int | None) -> AnyArray:
    if channel_axis is None:
        if array.ndim != 2:
            colour = "for a colour image pass the axis of its channels, usually channel_axis=-1"
            raise InputError(
                f"{name} has {array.ndim} dimension(s), shape {array.shape}, not rows and columns; {colour}"
            )
        array = array[:, :, np.newaxis]
    else:
        if array.ndim != 3:
            raise InputError(f"{name} has shape {array.shape}; channel_axis needs three dimensions, leave it out")
        if not is_whole(channel_axis) or not -3 <= channel_axis < 3:
            raise InputError(f"channel_axis must be a whole number, -3..2, usually -1, or None; got {channel_axis!r}")
        array = np.moveaxis(array, channel_axis, -1)
        height, width, channels = array.shape
        if channels > MOST_CHANNELS or (channels > MOST_COLOURS and min(height, width) <= MOST_COLOURS):
            raise InputError(
                f"{name} has {channels} channels along channel_axis={channel_axis} of {height}x{width} pixels; "
                f"pass the axis of its colours, up to {MOST_CHANNELS}"
            )
    if min(array.shape[:2]) < MIN_SIDE:
        raise InputError(
            f"{name} is {times(array.shape[:2])}; relative blur needs at least {MIN_SIDE}x{MIN_SIDE} pixels"
        )
    return array


def _without_alpha(images: list[AnyArray]) -> list[AnyArray]:
    """Return two (H, W, C) images without their alpha channel.

    The last of two or four channels is alpha if it is equal in both images and another channel is not: noise alone
    makes colours differ. Two alpha channels that differ raise an error.
    """
    channels = images[0].shape[2]
    if channels not in (2, 4):
        return images
    one, two = (np.ma.getdata(image) for image in images)
    if np.array_equal(one[:, :, -1], two[:, :, -1]):
        if any(not np.array_equal(one[:, :, c], two[:, :, c]) for c in range(channels - 1)):
            warnings.warn(f"the last of {channels} channels is alpha and is left out", stacklevel=4)
            return [image[:, :, :-1] for image in images]
    elif looks_like_alpha(one[:, :, -1]) and looks_like_alpha(two[:, :, -1]):
        raise InputError(f"the last of {channels} channels is alpha and differs; pass images without it, and valid=")
    return images


def looks_like_alpha(channel: AnyArray) -> bool:
    """Return whether nearly all pixels of a channel are opaque or clear."""
    top = full_scale(channel.dtype) or 1
    return float(((channel == 0) | (channel == top)).mean()) > MOSTLY


def refuse_mixed_scales(one: AnyArray, two: AnyArray) -> None:
    """Refuse an integer image beside a float image on the scale of integers."""
    integers = [np.issubdtype(image.dtype, np.integer) for image in (one, two)]
    if integers[0] == integers[1]:
        return
    (whole, its_name), (real, name) = ((one, "first"), (two, "second"))[:: 1 if integers[0] else -1]
    top = float(np.iinfo(whole.dtype).max)
    sizes = [usual_values(np.ma.getdata(image)).size for image in (whole, real)]
    if sizes[1] > np.sqrt(top) * (sizes[0] / top) and sizes[1] > 1 and sizes[0] > 0:
        raise InputError(
            f"{its_name} is {whole.dtype}, taken over its full scale of {top:.0f}, and {name} is float with values "
            f"around {sizes[1]:.3g}: two scales; pass {name} / {top:g}, or both of one dtype"
        )


def fill_bad_pixels(images: list[AnyArray]) -> tuple[list[AnyArray], BoolArray | None]:
    """Fill the bad pixels of two (H, W, C) images; return the images, and the pixels good in both (None: all)."""
    goods = [_good(image, name) for image, name in zip(images, ("first", "second"), strict=True)]
    filled = [_filled(image, good) for image, good in zip(images, goods, strict=True)]
    usual = (usual_values(filled[0], good=goods[0]), usual_values(filled[1], good=goods[1]))
    for index, hot in enumerate(hot_pixels(filled[0], filled[1], usual)):
        if hot is not None and hot.any():
            good = goods[index]
            good = ~hot if good is None else good & ~hot
            goods[index], filled[index] = good, without_gaps(images[index], good)
    masks = [good for good in goods if good is not None]
    return filled, np.logical_and.reduce(masks) if masks else None


def _filled(image: AnyArray, good: BoolArray | None) -> AnyArray:
    return np.ma.getdata(image) if good is None else without_gaps(image, good)


def _good(image: AnyArray, name: str) -> BoolArray | None:
    """Return a mask of the pixels of an (H, W, C) image that contain light and are not masked; None if all do."""
    bad = no_data(np.ma.getdata(image), usual_values(np.ma.getdata(image)))
    if np.ma.is_masked(image):
        masked: BoolArray = np.asarray(np.ma.getmaskarray(image).any(axis=2))
        bad = masked if bad is None else np.asarray(bad | masked)
    if bad is None or not bad.any():
        return None
    if bad.all():
        raise InputError(f"{name} holds no finite pixel; check how the file was read")
    return np.asarray(~bad)


def as_valid(valid: ArrayLike, shape: tuple[int, ...], name: str = "valid") -> BoolArray:
    """Check a map of usable pixels."""
    return _bool_map(valid, shape, name, f"True = use (for example {name} > 0)")


def _bool_map(values: ArrayLike, shape: tuple[int, ...], name: str, meaning: str) -> BoolArray:
    array = np.ma.filled(values, False) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; it must be that of the images, {shape}")
    if array.dtype != bool:
        raise InputError(f"{name} has dtype {array.dtype}; pass booleans, {meaning}")
    return array
